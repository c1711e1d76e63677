"""`manage.py prune [--dry-run]`: delete now what is older than its days, as the periodic tasks do in the background."""

from typing import Any

from celery import current_app
from django.core.management.base import BaseCommand, CommandParser

from work.retention import Retention


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Deletes what is older than EVENTS_KEPT_DAYS and the other _KEPT_DAYS. Open and dead work stays."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only count what would be deleted")

    def handle(self, *, dry_run: bool, **_: Any) -> None:
        current_app.loader.import_default_modules()  # each defines its retention
        for retention in Retention.all.values():
            result = (
                f"{retention.count():,} would be deleted" if dry_run else f"{sum(iter(retention.prune, 0)):,} deleted"
            )
            self.stdout.write(f"{retention.name}: {result} ({retention.setting}={retention.days})")
