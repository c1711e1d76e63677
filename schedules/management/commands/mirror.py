"""`manage.py mirror --check | --repair`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from schedules import drift, following


class Command(BaseCommand):
    help = "Compare celery-beat's rows with the schedules that they mirror. Schedules are the truth."

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--check", action="store_true", help="list what differs; exit 1 if anything does")
        what.add_argument("--repair", action="store_true", help="make the rows what the schedules say")

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        while following.follow():
            pass
        found = list(drift.find())
        for one in found:
            subject = f"periodic task {one.task_id}" if one.schedule_id is None else f"schedule {one.schedule_id}"
            self.stdout.write(f"{subject}: {one.wrong}")
            if not check:
                drift.mend(one)
        if check and found:
            raise CommandError(f"{len(found)} mirror rows differ; --repair mends them")
        self.stdout.write(f"{len(found)} mended" if found else "All mirror rows are right")
