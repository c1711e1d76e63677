"""Live through a database that is away for seconds: restarted, failed over, or ending our connection."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, NotSupportedError, OperationalError, connection

# Shorter than what is left of a lease (90 s) after the longest send (60 s).
PATIENCE = 25.0  # seconds
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0

T = TypeVar("T")


def persist(statement: Callable[[], T], again: Callable[[], T] | None = None) -> T:
    """Run `statement`, which commits by itself, on a new connection whenever the one it has breaks.

    So it does where a migration has changed a table under a prepared statement (NotSupportedError).

    A connection that breaks during a commit does not say whether it was one: `again` runs instead from the second time
    on, where the statement must not simply run twice. Raises the database's error after `PATIENCE` seconds, and at once
    within a transaction, for what came before it in there is lost.
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


def lend_connection() -> None:
    """Give the connection back to the pool, where there is one, while this thread waits for something else.

    With a thousand threads in one worker, PostgreSQL has far fewer connections than there are sends under way.
    """
    if connection.settings_dict["OPTIONS"].get("pool") and not connection.in_atomic_block:
        connection.close()
