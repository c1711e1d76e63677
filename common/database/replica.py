"""Lists of the past are read from a replica, if DATABASE_REPLICA_URL names one that is close behind the primary.

Nothing that decides is: no sign-in, no right, no limit, no action.
"""

import logging
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connection, connections
from django.db.models import Model

log = logging.getLogger(__name__)
T = TypeVar("T")

ALIAS = "replica"
MOST_BEHIND = 2.0  # seconds
_CHECKED_FOR = 1.0  # seconds that an answer holds
_RESTS = 10.0  # seconds after an error
_APPS = {"notifications", "schedules", "jobs", "events", "work"}

# One that has replayed all is not behind, however old that is. A server that is not a standby has replayed nothing.
_BEHIND = """
SELECT CASE WHEN NOT pg_is_in_recovery() THEN NULL
            WHEN pg_last_wal_replay_lsn() >= %s::pg_lsn THEN 0
            ELSE extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) END::float
"""

_database: ContextVar[str] = ContextVar("database", default=DEFAULT_DB_ALIAS)


class _Usable:
    """Whether this process may read from the replica, until when that holds."""

    now, until = True, 0.0


class Router:
    """Of Django. Within `read`, models of the past are read from the replica."""

    def db_for_read(self, model: type[Model], **_: Any) -> str:
        return _database.get() if model._meta.app_label in _APPS else DEFAULT_DB_ALIAS

    def db_for_write(self, model: type[Model], **_: Any) -> str:
        return DEFAULT_DB_ALIAS

    def allow_relation(self, *_: Any, **__: Any) -> bool:
        return True

    def allow_migrate(self, database: str, *_: Any, **__: Any) -> bool:
        return database == DEFAULT_DB_ALIAS


def alias() -> str:
    """The database for SQL that only reads."""
    return _database.get()


def read(of: Callable[[], T]) -> T:
    """The result of `of`, which only reads: from the replica; if that is away or behind, from the primary."""
    if ALIAS not in settings.DATABASES or not _is_usable():
        return of()
    chosen = _database.set(ALIAS)
    try:
        return of()
    except (DatabaseError, InterfaceError) as error:
        _rest(error)
    finally:
        _database.reset(chosen)
    return of()


def _is_usable() -> bool:
    if time.monotonic() >= _Usable.until:
        try:
            behind = _behind()
        except (DatabaseError, InterfaceError) as error:
            _rest(error)
        else:
            is_close = behind is not None and behind <= MOST_BEHIND
            _remember(is_close, "no standby" if behind is None else f"{behind:.1f} s behind", _CHECKED_FOR)
    return _Usable.now


def _behind() -> float | None:
    """Seconds; None for a server that is not a standby."""
    with connection.cursor() as primary, connections[ALIAS].cursor() as standby:
        primary.execute("SELECT pg_current_wal_lsn()::text")
        standby.execute(_BEHIND, primary.fetchone())
        [behind] = standby.fetchone()
        return None if behind is None else float(behind)


def _rest(error: Exception) -> None:
    connections[ALIAS].close()
    _remember(False, str(error), _RESTS)


def _remember(usable: bool, why: str, seconds: float) -> None:
    if usable != _Usable.now:
        words = "the replica again" if usable else "the primary, for the replica cannot be used"
        log.warning("Lists of the past are read from %s: %s", words, why.strip().partition("\n")[0])
    _Usable.now, _Usable.until = usable, time.monotonic() + seconds
