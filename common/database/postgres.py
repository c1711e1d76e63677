"""Statements in SQL: arrays of values as arguments, rows by name, prepared plans, and a database that goes away."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeVar, overload
from uuid import UUID

import psycopg
from celery.exceptions import SoftTimeLimitExceeded
from django.db import (
    DEFAULT_DB_ALIAS,
    Error,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    connection,
    connections,
    transaction,
)
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import JSONField, Model, QuerySet
from psycopg.rows import class_row, namedtuple_row
from psycopg.types.datetime import TimestamptzLoader

from common.database import replica


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


_WRITERS: dict[type, Callable[[Any], str]] = {
    UUID: lambda value: value.hex,
    datetime: datetime.isoformat,
    int: str,
    float: repr,
    bool: str,
    str: _quoted,
    Mapping: lambda value: _quoted(json.dumps(value, default=str)),
}


def column(values: Iterable[Any], kind: type | None = None) -> str:
    """The literal of an array of `values`, for `unnest(%s::uuid[], …)`; datetimes are aware.

    All are None, or of the type `kind`: without it, that of the first.

    psycopg writes a list item by item, with a dumper and a search for what to quote. For the thousands of values of a
    batch, that takes as long as the insert.
    """
    listed = list(values)
    write = _WRITERS[kind or next((type(value) for value in listed if value is not None), int)]
    return "{" + ",".join(["NULL" if value is None else write(value) for value in listed]) + "}"


T = TypeVar("T")
M = TypeVar("M", bound=Model)


@overload
def query(statement: str, values: Any) -> list[Any]: ...
@overload
def query(statement: str, values: Any, kind: type[T]) -> list[T]: ...
def query(statement: str, values: Any, kind: type[Any] | None = None) -> list[Any]:
    """The rows that a statement returns, by the names of its columns: as `kind`, or as named tuples."""
    with connections[replica.alias()].cursor() as cursor:
        cursor.cursor.row_factory = namedtuple_row if kind is None else class_row(kind)
        # psycopg's own reader of instants, in C; Django's is in Python.
        cursor.adapters.register_loader("timestamptz", TimestamptzLoader)
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def change(statement: str, values: Any) -> int:
    """Run a statement; return the number of changed rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


def delete_in_chunks(rows: QuerySet[Any]) -> int:
    """Delete rows that nothing refers to, 5,000 a statement. Returns how many."""
    total = 0
    while deleted := rows.model._default_manager.filter(pk__in=rows.values("pk")[:5_000]).delete()[0]:
        total += deleted
    return total


@transaction.atomic
def delete(row: Model) -> None:
    """Delete it with all that refers to it. What others are adding to it comes before, or is an orphan."""
    list(type(row)._default_manager.select_for_update().filter(pk=row.pk))
    row.delete()


# Statements that PostgreSQL plans once a connection, for those that every delivery pays for.
#
# Django writes the values into the text of a statement, so each one is a new one to PostgreSQL; planning a claim, which
# touches five tables, takes longer than carrying it out. Here the values travel beside the text (psycopg's server-side
# binding), and psycopg has the server keep the plan.
# psycopg also counts the statements that it does not prepare, by their whole text; those of a clock's tick are long.
_REMEMBERED = 32


def execute(statement: str, values: Mapping[str, Any], on: BaseDatabaseWrapper | None = None) -> Any:
    """The cursor, as Django's would be after `execute`, with its errors; rows are named tuples.

    For few statements, whose text never changes. `on` is another connection than this thread's. Where Django logs
    statements, they go through its own cursor, which knows what was sent.
    """
    database: Any = on or connections[DEFAULT_DB_ALIAS]
    database.close_if_health_check_failed()
    database.ensure_connection()
    if database.queries_logged:
        logged = database.cursor()
        logged.cursor.row_factory = namedtuple_row
        logged.execute(statement, values)
        return logged
    own = database.connection
    own.prepare_threshold, own.prepared_max = 0, _REMEMBERED
    with database.wrap_database_errors:
        cursor = psycopg.Cursor(own, row_factory=namedtuple_row)
        cursor.adapters.register_loader("timestamptz", TimestamptzLoader)  # as in `query`
        return cursor.execute(statement, values)


def own_connection(database: str = DEFAULT_DB_ALIAS) -> BaseDatabaseWrapper:
    """A further connection, of no pool."""
    own = connections[database].copy()
    own.settings_dict["OPTIONS"].pop("pool", None)
    return own


def columns(model: type[Model], alias: str) -> str:
    """The columns of `model` for a SELECT, as `instance` takes them."""
    return ", ".join(f"{alias}.{field.column} AS {alias}_{field.column}" for field in model._meta.concrete_fields)


def instance(model: type[M], values: Sequence[Any]) -> M:
    """The instance of a row that begins with `columns`."""
    fields = model._meta.concrete_fields
    read = [
        json.loads(value) if isinstance(value, str) and type(field) is JSONField else value
        for field, value in zip(fields, values, strict=False)
    ]
    return model.from_db(DEFAULT_DB_ALIAS, [field.attname for field in fields], read)


def impatient(statement: str) -> str:
    """`statement`, which returns at most one row, waiting at most a second for a lock; the transaction's limit stays.

    One row with NULL where it returned none. Raises an error for which `is_locked` is true.
    """
    return f"""
WITH patience AS MATERIALIZED (
    SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', '1s', true)
), taken AS ({statement})
SELECT taken.*, set_config('lock_timeout', before, true) FROM patience LEFT JOIN taken ON true
"""  # noqa: S608 - constants only


# Survives a restart or failover. Shorter than the rest of a lease (90 s) after the longest send (60 s).
PATIENCE = 25.0  # seconds
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0


def persist(statement: Callable[[], T], again: Callable[[], T] | None = None) -> T:
    """Run `statement`, which commits, and retry it on a new connection if the connection breaks.

    A row that another transaction locks for too long is for the caller, who may come back later.
    Also retries if a migration has changed a table under a prepared statement (NotSupportedError). A connection that
    breaks during a commit leaves the result unknown: retries run `again` if it is given. Raises the database's error
    after `PATIENCE` seconds, and at once within a transaction, which is lost.
    """
    pause, give_up_at = _FIRST_PAUSE, 0.0
    while True:
        try:
            return statement()
        except (OperationalError, InterfaceError, NotSupportedError) as error:
            if connection.in_atomic_block or _state(error) == _TIMED_OUT:
                raise
            now = time.monotonic()
            give_up_at = give_up_at or now + PATIENCE
            connection.close()
            if now >= give_up_at:
                raise
        statement = again or statement
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


# Classes of SQLSTATE (PostgreSQL, appendix A): no connection, a session that stood still in its transaction or a
# read-only standby, no resources left, shutting down or starting up, or a statement that took too long. A connection
# that breaks has none.
_OUTAGES = ("08", "25", "53", "57")
# A lock that is not available in time; and a deadlock.
_TIMED_OUT, _DEADLOCK = "55P03", "40P01"
_ORPHAN = "23503"
# A pooler that changes the session between two statements: a prepared statement that is gone, or is another one.
_LOST_STATEMENT = ("26", "42P05", "08P01")
# A session in a state that no row explains (cursors, transactions, roles, databases), a disk that fails, a schema that
# is not migrated, a statement that cannot be prepared.
_SESSIONS = ("03", "0B", "24", "26", "28", "2D", "34", "3B", "3D", "3F", "F0")
_NOBODYS = (*_OUTAGES, *_SESSIONS, "40", "55", "58", "0A", "42")


def is_outage(error: BaseException | None) -> bool:
    """Whether the database cannot be reached or used now."""
    return _has_state(error, _OUTAGES)


def is_locked(error: BaseException | None) -> bool:
    """Whether another transaction holds a lock for too long, or both wait for each other. It may be tried again."""
    return _state(error) in (_TIMED_OUT, _DEADLOCK)


def is_orphan(error: BaseException | None) -> bool:
    """Whether a row was deleted meanwhile to which those that are written refer."""
    return _state(error) == _ORPHAN


def blames_no_row(error: Exception) -> bool:
    """Whether another row would fail too: an outage, a schema that is not migrated, a process that must stop."""
    return isinstance(error, SoftTimeLimitExceeded) or _has_state(error, _NOBODYS)


def is_lost_statement(error: BaseException | None) -> bool:
    """Whether the session has no such prepared statement, or another one of its name."""
    return (_state(error) or "").startswith(_LOST_STATEMENT)


def _state(error: BaseException | None) -> str | None:
    return getattr(error.__cause__, "sqlstate", None) if isinstance(error, Error) else None


def _has_state(error: BaseException | None, classes: tuple[str, ...]) -> bool:
    state = _state(error)
    return isinstance(error, OperationalError | InterfaceError) if state is None else state.startswith(classes)


def lend_connection() -> None:
    """Return the connection to the pool, if there is one, while this thread waits for a receiver.

    A worker has more threads than PostgreSQL has connections.
    """
    if connection.settings_dict["OPTIONS"].get("pool") and not connection.in_atomic_block:
        connection.close()


def replace_broken_together(connection: Any, **_: Any) -> None:
    """After an outage, a pool replaces all its idle connections as soon as one of them is found broken.

    Called for each connection that Django has made. psycopg's pool tries one after the other, with pauses of 1, 2, 4 …
    seconds between them: the database would be back, and requests would still wait, or get no connection in time.
    """
    pool = getattr(connection, "pool", None)
    if pool is not None and pool._check is type(pool).check_connection:
        pool._check = partial(_check_idle, pool)


def _check_idle(pool: Any, idle: Any) -> None:
    try:
        pool.check_connection(idle)
    except Exception:
        pool.drain()
        raise
