"""`manage.py prune [--dry-run]`: delete now what is older than its days, as the periodic tasks do in the background."""

from typing import Any

from celery import current_app
from django.core.management.base import BaseCommand, CommandParser

from work.retention import Ended


class Command(BaseCommand):
    help = (
        "Deletes what is older than EVENTS_KEPT_DAYS, JOBS_KEPT_DAYS and HISTORY_KEPT_DAYS; open and dead work stays."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only count what would be deleted")

    def handle(self, *, dry_run: bool, **_: Any) -> None:
        current_app.loader.import_default_modules()  # they say what there is
        for ended in Ended.all.values():
            self.stdout.write(f"{ended.name}: {self._does(ended, dry_run)} ({self._kept(ended)})")

    def _does(self, ended: Ended, dry_run: bool) -> str:
        if dry_run:
            return f"{ended.count():,} would be deleted"
        total = 0
        while deleted := ended.prune():
            total += deleted
        return f"{total:,} deleted"

    def _kept(self, ended: Ended) -> str:
        return f"{ended.setting}={ended.days}" + ("" if ended.days else ", kept for ever")
