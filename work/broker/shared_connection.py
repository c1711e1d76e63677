"""A connection to PostgreSQL beside the threads' own, on which one thread at a time executes for several."""

import os
from collections.abc import Mapping
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from common.database import postgres


class SharedConnection:
    """Opened when it is first used. It is kept, and with it the plans of its statements."""

    _database: BaseDatabaseWrapper | None

    def __init__(self) -> None:
        self._forget()
        os.register_at_fork(after_in_child=self._forget)

    def execute(self, statement: str, values: Mapping[str, Any]) -> Any:
        """The cursor, once the statement is committed. After an error, the next one gets a new connection."""
        database = self._database or self._open()
        try:
            return postgres.execute(statement, values, database)
        except Exception:
            self._database = None
            database.close()
            raise

    def _open(self) -> BaseDatabaseWrapper:
        self._database = database = postgres.own_connection()
        database.inc_thread_sharing()
        return database

    def _forget(self) -> None:
        self._database = None


def has_threads() -> bool:
    """Whether threads share this process's connections, and this one is not in a transaction of its own."""
    database = connections[DEFAULT_DB_ALIAS]
    return "pool" in database.settings_dict["OPTIONS"] and not database.in_atomic_block
