"""After an outage, a pool replaces all its idle connections as soon as one of them is found broken.

psycopg's pool tries one after the other, with pauses of 1, 2, 4 … seconds between them: the database would be back, and
requests would still wait, or get no connection in time.
"""

from functools import partial
from typing import Any


def replace_broken_together(connection: Any, **_: Any) -> None:
    """Called for each connection that Django has made."""
    pool = getattr(connection, "pool", None)
    if pool is not None and pool._check is type(pool).check_connection:
        pool._check = partial(_check, pool)


def _check(pool: Any, idle: Any) -> None:
    try:
        pool.check_connection(idle)
    except Exception:
        pool.drain()
        raise
