"""Columns of values as PostgreSQL array literals, for `unnest(%s::uuid[], …)`.

psycopg writes a list item by item, through a dumper and a search for what must be quoted; for the thousands of values
of a batch that takes as long as the insert.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from celery.exceptions import SoftTimeLimitExceeded
from django.db import (
    DEFAULT_DB_ALIAS,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    connection,
    connections,
)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


_WRITERS: dict[type, Callable[[Any], str]] = {
    UUID: lambda value: value.hex,
    datetime: datetime.isoformat,
    int: str,
    bool: str,
    str: _quoted,
}


def column(values: Iterable[UUID | datetime | int | bool | str | None]) -> str:
    """The literal of an array of `values`, all of one type or None; datetimes are aware."""
    listed = list(values)
    write = next((_WRITERS[type(value)] for value in listed if value is not None), str)
    return "{" + ",".join(["NULL" if value is None else write(value) for value in listed]) + "}"


# Statements that PostgreSQL plans once a connection, for those that every delivery pays for.
#
# Django writes the values into the text of a statement, so each one is a new one to PostgreSQL; planning a claim, which
# touches five tables, takes longer than carrying it out. Here the values travel beside the text (psycopg's server-side
# binding), and psycopg has the server keep the plan.
# psycopg also counts the statements that it does not prepare, by their whole text; those of a clock's tick are long.
_REMEMBERED = 16


def execute(statement: str, values: Mapping[str, Any]) -> Any:
    """The cursor, as Django's would be after `execute`, with its errors. For few statements, whose text never changes.

    Where Django keeps a log of statements, they go through its own cursor, which can say what was sent.
    """
    database = connections[DEFAULT_DB_ALIAS]
    database.close_if_health_check_failed()
    database.ensure_connection()
    if database.queries_logged:
        logged = database.cursor()
        logged.execute(statement, values)
        return logged
    own = database.connection
    own.prepare_threshold, own.prepared_max = 0, _REMEMBERED
    with database.wrap_database_errors:
        return psycopg.Cursor(own).execute(statement, values)


# Survives a restart or failover. Shorter than the rest of a lease (90 s) after the longest send (60 s).
PATIENCE = 25.0  # seconds
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0

T = TypeVar("T")


def persist(statement: Callable[[], T], again: Callable[[], T] | None = None) -> T:
    """Run `statement`, which commits, and retry it on a new connection if the connection breaks.

    Also retries if a migration has changed a table under a prepared statement (NotSupportedError). A connection that
    breaks during a commit leaves the result unknown: retries run `again` if it is given. Raises the database's error
    after `PATIENCE` seconds, and at once within a transaction, which is lost.
    """
    pause, give_up_at = _FIRST_PAUSE, 0.0
    while True:
        try:
            return statement()
        except (OperationalError, InterfaceError, NotSupportedError):
            if connection.in_atomic_block:
                raise
            now = time.monotonic()
            give_up_at = give_up_at or now + PATIENCE
            connection.close()
            if now >= give_up_at:
                raise
        statement = again or statement
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def is_outage(error: Exception) -> bool:
    """Whether the error is not caused by a row: the database is down or not migrated, or this process must stop."""
    return isinstance(
        error, OperationalError | InterfaceError | NotSupportedError | ProgrammingError | SoftTimeLimitExceeded
    )


def lend_connection() -> None:
    """Return the connection to the pool, if there is one, while this thread waits for a receiver.

    A worker has more threads than PostgreSQL has connections.
    """
    if connection.settings_dict["OPTIONS"].get("pool") and not connection.in_atomic_block:
        connection.close()
