"""PostgreSQL's own programs: pg_dump and pg_restore, of the embedded engine or of the PATH."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from work.backup import BackupError

_DJANGOS = ("context", "cursor_factory", "prepare_threshold", "pool")  # parameters of Django, not of PostgreSQL
# A restored database is on hold, because its row is missing.
LEFT_OUT = "work_hold"
_PLAIN = ("--no-owner", "--no-privileges")  # another role may own what is restored


def connect(database: str = "", as_superuser: bool = False) -> psycopg.Connection[Any]:
    return psycopg.connect(**_parameters(database, as_superuser), autocommit=True)


def _parameters(database: str, as_superuser: bool) -> dict[str, Any]:
    """Of `database`, or Carillon's own. The superuser is that of the embedded engine; elsewhere it is our role."""
    given = {name: value for name, value in connection.get_connection_params().items() if name not in _DJANGOS}
    if database:
        given["dbname"] = database
    if as_superuser and settings.POSTGRES_PROGRAMS:
        given["user"] = "postgres"
    return given


def _refuse_pooler() -> None:
    """Raise BackupError behind a pooler by transaction, which would hand the session of pg_dump to other processes.

    The program changes settings of its session, such as `search_path`, outside of a transaction.
    """
    with connect() as other, connect() as ours:
        before = _session(ours)
        other.execute("BEGIN; SELECT 1")
        if any(_session(ours) != before for _ in range(20)):
            raise BackupError("DATABASE_URL leads to a pooler by transaction: run this with that of PostgreSQL itself")


def _session(of: psycopg.Connection[Any]) -> Any:
    return of.execute("SELECT pg_backend_pid()", prepare=False).fetchone()


def rows(of: psycopg.Connection[Any]) -> dict[str, int]:
    """The number of rows of each table that backups hold."""
    tables = of.execute(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        "   AND relname <> %s ORDER BY relname",
        [LEFT_OUT],
    ).fetchall()
    counts = {}
    for (table,) in tables:
        [(counts[table],)] = of.execute(SQL("SELECT count(*) FROM {}").format(Identifier(table))).fetchall()
    return counts


def version(program: str) -> int:
    """The major version of a program. Raises BackupError if there is none."""
    text = subprocess.run([_path(program), "--version"], capture_output=True, text=True, check=False).stdout
    if (match := re.search(r"\) (\d+)", text)) is None:
        raise BackupError(f"{program} does not say its version")
    return int(match[1])


@contextmanager
def program(
    name: str, *options: str, database: str = "", as_superuser: bool = False, **streams: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """A running program. Raises BackupError if it fails; it is ended if the body raises."""
    _refuse_pooler()
    parameters = _parameters(database, as_superuser)
    environment = os.environ | {"PGPASSWORD": str(parameters.pop("password", None) or "")}
    command = [_path(name), *_PLAIN, *options, f"--dbname={make_conninfo(**parameters)}"]
    process = subprocess.Popen(command, env=environment, **streams)
    ended_early = False
    try:
        yield process
    except BrokenPipeError:
        ended_early = True
    except BaseException:
        process.kill()
        raise
    finally:
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()
        status = process.wait()
    if status or ended_early:
        raise BackupError(f"{name} failed (status {status}); it has written why")


def _path(program: str) -> str:
    if settings.POSTGRES_PROGRAMS:
        return str(Path(settings.POSTGRES_PROGRAMS) / program)
    if (path := shutil.which(program)) is None:
        raise BackupError(f"{program} is not installed: install PostgreSQL's client programs")
    return path
