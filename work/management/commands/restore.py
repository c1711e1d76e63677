"""`manage.py restore FILE`, `restore FILE --keys`."""

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from common.texts.numbers import grouped
from work.backup import BackupError, restore


class Command(BaseCommand):
    help = "Restores a backup into the database, which must be empty. Carillon is on hold then."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="its path, or s3://bucket/prefix/name")
        parser.add_argument("--keys", action="store_true", help="only print its keys, as lines of an environment file")

    def handle(self, *, file: str, keys: bool, **_: Any) -> None:
        try:
            if keys:
                for name, value in restore.variables(restore.manifest_of(file)["keys"]).items():
                    self.stdout.write(f"{name}={value}")
                return
            manifest = restore.restore(file)
        except (BackupError, OSError) as error:
            raise CommandError(f"Not restored: {error}") from None
        taken = datetime.fromisoformat(manifest["taken_at"]).astimezone(UTC)
        total, tables = grouped(sum(manifest["rows"].values())), len(manifest["rows"])
        self.stdout.write(
            f"Restored and counted: {total} rows in {tables} tables.\n"
            f"Lost: what people and programs asked for from {taken:%Y-%m-%d %H:%M:%S} until"
            f" {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC.\n"
            "Due again: what was sent in that time. Carillon is on hold, so nothing is sent yet.\n"
            "Next: `manage.py migrate`, start every process anew, and decide on the page Outages of the admin, or with"
            " `manage.py release`."
        )
        for name in ("SECRET_KEY_FALLBACKS", "VAPID_PRIVATE_KEY"):
            if getattr(settings, name) != manifest["keys"][name]:
                self.stdout.write(f"Another {name} than in the backup: `restore FILE --keys` shows it.")
