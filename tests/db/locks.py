"""What tests of races wait for."""

from __future__ import annotations

import time

from django.db import connection


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
