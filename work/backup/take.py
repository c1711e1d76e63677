"""Take a backup: all of it from one snapshot, and at most one at a time."""

import logging
from subprocess import PIPE
from typing import BinaryIO, cast

from django.conf import settings
from django.db import transaction

from common.database.postgres import query
from work.backup import BackupError, archive, newest, place, postgres
from work.models import Backup

log = logging.getLogger(__name__)

_LOCK = 0x63_61_72_69  # of PostgreSQL's advisory locks: held by the one who takes a backup
KEYS = ("SECRET_KEY", "SECRET_KEY_FALLBACKS", "ENCRYPTION_KEYS", "VAPID_PRIVATE_KEY")


class Busy(BackupError):
    """Another process takes one now."""


class _Counted:
    """Counts the bytes that are written to `to`."""

    def __init__(self, to: archive.Writer) -> None:
        self._to, self.size = to, 0

    def write(self, data: bytes) -> int:
        self._to.write(data)
        self.size += len(data)
        return len(data)

    def flush(self) -> None: ...


def back_up(target: str = "", only_if_due: bool = False) -> Backup | None:
    """Write a backup to `target`, or to BACKUP_TO, where all but the newest BACKUP_KEEP are deleted.

    None if it was not due. Raises BackupError.
    """
    to = place.place(target or settings.BACKUP_TO)
    # This transaction holds the lock. If this process or its connection ends, so does the lock.
    with transaction.atomic():
        [row] = query(
            "SELECT pg_try_advisory_xact_lock(%s) AS ours,"
            " set_config('idle_in_transaction_session_timeout', '0', true)",
            [_LOCK],
        )
        if not row.ours:
            raise Busy("another process takes a backup now")
        if only_if_due and not newest.is_due():
            return None
        backup = _write(to)
        backup.save()
    if not target and settings.BACKUP_KEEP:
        for name in to.names()[: -settings.BACKUP_KEEP]:
            to.delete(name)
    log.info("Backup %s taken: %d bytes", backup.name, backup.size)
    return backup


def _write(to: place.Place) -> Backup:
    programs = postgres.version("pg_dump")
    with postgres.connect() as reader, reader.transaction():
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        reader.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        [(snapshot,)] = reader.execute("SELECT pg_export_snapshot()").fetchall()
        [(taken_at, server)] = reader.execute(
            "SELECT now(), current_setting('server_version_num')::int / 10000"
        ).fetchall()
        if programs < server:
            raise BackupError(
                f"pg_dump is of PostgreSQL {programs}, the server of {server}: install the client programs of {server}"
            )
        applied = reader.execute("SELECT app || '.' || name FROM django_migrations ORDER BY 1").fetchall()
        manifest = {
            "carillon": settings.VERSION,
            "taken_at": taken_at.isoformat(),
            "postgres": programs,
            "migrations": [name for (name,) in applied],
            "rows": postgres.rows(reader),
            "keys": {name: getattr(settings, name) for name in KEYS},
        }
        name = taken_at.strftime(place.NAME)
        with to.writer(name) as file:
            counted = _Counted(file)
            options = ("--format=custom", f"--exclude-table-data={postgres.LEFT_OUT}", f"--snapshot={snapshot}")
            with postgres.program("pg_dump", *options, stdout=PIPE) as process:
                archive.write(manifest, cast(BinaryIO, process.stdout), counted)
    return Backup(taken_at=taken_at, name=name, size=counted.size)
