"""What tests of races wait for, and locks that somebody else holds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection
from psycopg.sql import SQL, Identifier


def wait_for_a_lock(within: float = 60.0) -> None:
    """Until a connection waits for another one's lock. Also inside a transaction, which sees no new row of
    `pg_stat_activity`."""
    deadline = time.monotonic() + within
    with connection.cursor() as cursor:
        while time.monotonic() < deadline:
            cursor.execute("SELECT FROM pg_locks WHERE NOT granted")
            if cursor.rowcount:
                return
            time.sleep(0.01)
    raise TimeoutError("Nobody waits for a lock.")


@contextmanager
def impatient() -> Iterator[None]:
    """Waits for no lock longer than a second: a statement that ought to skip locked rows fails if it waits."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '1s'")
        try:
            yield
        finally:
            cursor.execute("RESET lock_timeout")


@contextmanager
def locked(table: str, key: Any, lock: str = "NO KEY UPDATE") -> Iterator[psycopg.Connection[Any]]:
    """Another connection, which holds the lock of a row that is committed."""
    parameters = connection.get_connection_params() | {"cursor_factory": psycopg.Cursor}
    parameters.pop("context", None)
    with psycopg.connect(**parameters) as other:
        other.execute(SQL("SELECT FROM {} WHERE id = %s FOR {}").format(Identifier(table), SQL(lock)), [key])
        yield other
        other.rollback()
