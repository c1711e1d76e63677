"""Read a backup: restore it, or compare it with its manifest in a scratch database."""

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from datetime import datetime
from subprocess import PIPE
from typing import Any, cast

from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from psycopg.errors import InsufficientPrivilege
from psycopg.sql import SQL, Identifier

from work.backup import BackupError, archive, place, postgres
from work.engine import hold

# Where the embedded engine keeps generated keys, in var/.
_FILES = {"SECRET_KEY": "secret-key", "ENCRYPTION_KEYS": "encryption-key"}


def manifest_of(file: str) -> archive.Manifest:
    """Read to the end, so that a damaged file is found."""
    result: archive.Manifest = {}

    def begin(manifest: archive.Manifest) -> archive.Writer:
        result.update(manifest)
        return nowhere

    with open(os.devnull, "wb") as nowhere, closing(place.open_file(file)) as backup:
        archive.read(backup, begin)
    return result


def check(file: str) -> archive.Manifest:
    """Restore `file` into a database beside Carillon's, count the rows, and drop it. Raises BackupError."""
    scratch = f"{connection.settings_dict['NAME']}_check"
    drop = SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(scratch))
    with postgres.connect(as_superuser=True) as server:
        try:
            server.execute(drop)  # of a check that was killed
            server.execute(SQL("CREATE DATABASE {}").format(Identifier(scratch)))
        except InsufficientPrivilege:
            raise BackupError("this role may not make a database to check in: ALTER ROLE … CREATEDB") from None
        try:
            return _load(file, scratch, as_superuser=True)
        finally:
            server.execute(drop)


def restore(file: str) -> archive.Manifest:
    """Restore `file` into Carillon's database, which must be empty. It is on hold then. Raises BackupError."""
    with postgres.connect() as database:
        [(tables,)] = database.execute(
            "SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace"
        ).fetchall()
    if tables:
        raise BackupError(f"the database is not empty, but has {tables} tables: set DATABASE_URL to a new one")
    manifest = _load(file, accept=_accept)
    hold.begin(restored_to=datetime.fromisoformat(manifest["taken_at"]))
    return manifest


def _accept(manifest: archive.Manifest) -> None:
    """Raise BackupError if this version cannot read the data, or has other keys and cannot change them."""
    migrations: Any = MigrationLoader(None).disk_migrations
    existing = {f"{app}.{name}" for app, name in migrations}
    if newer := [name for name in manifest["migrations"] if name not in existing]:
        raise BackupError(
            f"Carillon {manifest['carillon']} made this backup, with {newer[-1]}; {settings.VERSION} does not have it. "
            f"Use {manifest['carillon']}"
        )
    for name, file_name in _FILES.items():
        if getattr(settings, name) == manifest["keys"][name]:
            continue
        if not settings.POSTGRES_PROGRAMS or os.environ.get(name) or os.environ.get(f"{name}_FILE"):
            raise BackupError(f"{name} is another one than in the backup: `restore FILE --keys` writes what to set")
        with place.Folder(settings.VAR_DIR).writer(file_name) as file:
            file.write(variables(manifest["keys"])[name].encode())


def variables(keys: Mapping[str, str | list[str]]) -> dict[str, str]:
    """The values of the variables, without empty ones."""
    return {name: value if isinstance(value, str) else ",".join(value) for name, value in keys.items() if value}


def _load(
    file: str,
    database: str = "",
    as_superuser: bool = False,
    accept: Callable[[archive.Manifest], None] = lambda manifest: None,
) -> archive.Manifest:
    """Restore the dump in one transaction, once the manifest is accepted, and count. Returns the manifest."""
    manifest: archive.Manifest = {}
    with ExitStack() as running:

        def begin(read: archive.Manifest) -> archive.Writer:
            if (ours := postgres.version("pg_restore")) < read["postgres"]:
                raise BackupError(f"pg_restore is of PostgreSQL {ours}, the backup of {read['postgres']}")
            accept(read)
            manifest.update(read)
            options = ("--single-transaction", "--exit-on-error")
            program = postgres.program("pg_restore", *options, database=database, as_superuser=as_superuser, stdin=PIPE)
            return cast(archive.Writer, running.enter_context(program).stdin)

        archive.read(running.enter_context(closing(place.open_file(file))), begin)
    if not manifest:
        raise BackupError("the file is not a backup of Carillon")
    with postgres.connect(database, as_superuser=as_superuser) as restored:
        result = postgres.rows(restored)
    expected = manifest["rows"]
    if different := [table for table in sorted(expected.keys() | result) if expected.get(table) != result.get(table)]:
        counts = [f"{table}: {expected.get(table, 0)} in the manifest, {result.get(table, 0)}" for table in different]
        raise BackupError(f"restored rows differ from the manifest: {'; '.join(counts)}")
    return manifest
