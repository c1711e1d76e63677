"""`manage.py backup [TARGET]`, `--check FILE`, `--new-key`."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from common.texts.numbers import grouped
from work.backup import BackupError, archive, restore, take


class Command(BaseCommand):
    help = "Writes the database and the keys, encrypted with BACKUP_KEY, into one file in a folder or in S3."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group()
        what.add_argument("target", nargs="?", default="", help="a folder or s3://bucket/prefix; else BACKUP_TO")
        what.add_argument("--check", metavar="FILE", help="restore FILE into a scratch database, count, and drop it")
        what.add_argument("--new-key", action="store_true", help="print a new value of BACKUP_KEY")
        what.add_argument("--if-due", action="store_true", help="only if BACKUP_EVERY_HOURS have passed")

    def handle(self, *, target: str, check: str | None, new_key: bool, if_due: bool, **_: Any) -> None:
        if new_key:
            self.stdout.write(archive.new_key())
            return
        try:
            if check:
                manifest = restore.check(check)
                total, tables = grouped(sum(manifest["rows"].values())), len(manifest["rows"])
                self.stdout.write(
                    f"{check} is of {manifest['taken_at']}, by Carillon {manifest['carillon']}.\n"
                    f"Restored and counted: {total} rows in {tables} tables, as its manifest says."
                )
            elif not (target or settings.BACKUP_TO):
                raise CommandError("Name a folder or s3://bucket/prefix, or set BACKUP_TO.")
            elif backup := take.back_up(target, only_if_due=if_due):
                self.stdout.write(
                    f"{backup.name}: {grouped(backup.size)} bytes, of {backup.taken_at:%Y-%m-%d %H:%M:%S} UTC"
                )
        except take.Busy as error:
            if not if_due:
                raise CommandError(f"No backup: {error}") from None
        except (BackupError, OSError) as error:
            raise CommandError(f"Failed: {error}") from None
