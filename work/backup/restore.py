"""Read a backup: compare it with its manifest in a scratch database."""

from contextlib import ExitStack, closing
from dataclasses import dataclass
from subprocess import PIPE
from typing import cast

from django.db import connection
from psycopg.errors import InsufficientPrivilege
from psycopg.sql import SQL, Identifier

from work.backup import BackupError, archive, place, postgres


@dataclass(frozen=True, slots=True)
class Check:
    """What a backup holds: rows by table as its manifest says, and as they were restored."""

    manifest: archive.Manifest
    restored: dict[str, int]

    @property
    def differences(self) -> list[str]:
        expected = self.manifest["rows"]
        return [
            f"{table}: {expected.get(table, 0)} rows expected, {self.restored.get(table, 0)} restored"
            for table in sorted(expected.keys() | self.restored.keys())
            if expected.get(table) != self.restored.get(table)
        ]


def check(file: str) -> Check:
    """Restore `file` into a database beside Carillon's, count, and drop it. Raises BackupError."""
    scratch = f"{connection.settings_dict['NAME']}_check"
    drop = SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(scratch))
    with postgres.connect(as_superuser=True) as server:
        try:
            server.execute(drop)  # of a check that was killed
            server.execute(SQL("CREATE DATABASE {}").format(Identifier(scratch)))
        except InsufficientPrivilege:
            raise BackupError("this role may not make a database to check in: ALTER ROLE … CREATEDB") from None
        try:
            manifest = load(file, scratch, as_superuser=True)
            with postgres.connect(scratch, as_superuser=True) as restored:
                return Check(manifest, postgres.rows(restored))
        finally:
            server.execute(drop)


def load(file: str, database: str = "", as_superuser: bool = False) -> archive.Manifest:
    """Restore the dump in `file` in one transaction. Returns the manifest."""
    manifest: archive.Manifest = {}
    with ExitStack() as running:

        def begin(read: archive.Manifest) -> archive.Writer:
            if (ours := postgres.version("pg_restore")) < read["postgres"]:
                raise BackupError(f"pg_restore is of PostgreSQL {ours}, the backup of {read['postgres']}")
            manifest.update(read)
            options = ("--single-transaction", "--exit-on-error")
            program = postgres.program("pg_restore", *options, database=database, as_superuser=as_superuser, stdin=PIPE)
            return cast(archive.Writer, running.enter_context(program).stdin)

        archive.read(running.enter_context(closing(place.open_file(file))), begin)
    if not manifest:
        raise BackupError("the file is no backup of Carillon")
    return manifest
