"""A lock for each person, held while code counts their rows: otherwise two tabs could both use the last free slot.

Nobody waits for it longer than a second, since who waits holds a connection to the database. It is taken before all
other locks of a transaction; see "The order of locks" in docs/architecture.md.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import wraps
from typing import Concatenate, ParamSpec

from django.db import OperationalError, transaction
from django.http import HttpResponseBase

from common.context import holding
from common.database import postgres
from people.access.requests import PersonRequest
from people.models import User

P = ParamSpec("P")


_LOCK = "SELECT clock_timestamp() AS now FROM people_user WHERE id = %(user)s FOR NO KEY UPDATE"
_WAIT_FOR_IT = postgres.impatient(_LOCK)
_LOCK_NOW = f"{_LOCK} NOWAIT"
_READ = _LOCK.removesuffix("FOR NO KEY UPDATE")
_is_dry_run = ContextVar("is_dry_run", default=False)


class Busy(OperationalError):
    """Another transaction holds this person's lock. `postgres.is_locked` is true for it."""


def lock_in_transaction(user: User) -> datetime:
    """Lock the person's row until the transaction ends; returns the database's clock.

    Inserts that refer to the person are not blocked. Raises User.DoesNotExist, and Busy after a second.
    """
    return _lock(_READ if is_dry_run() else _WAIT_FOR_IT, user.pk)


def lock_at_once(user_id: int) -> datetime:
    """Like `lock_in_transaction`, for workers: without any wait. They come back later, and hold nothing meanwhile."""
    return _lock(_LOCK_NOW, user_id)


def _lock(statement: str, user_id: int) -> datetime:
    try:
        row = postgres.execute(statement, {"user": user_id}).fetchone()
    except OperationalError as error:
        if postgres.is_locked(error):
            raise Busy("Another transaction holds the lock of this person.") from error.__cause__
        raise
    if row is None or row.now is None:
        raise User.DoesNotExist
    return row.now


def dry_run() -> AbstractContextManager[object]:
    """Lock nobody: the transaction is rolled back, however long it takes."""
    return holding(_is_dry_run, True)


def is_dry_run() -> bool:
    return _is_dry_run.get()


@contextmanager
def lock_user(user: User) -> Iterator[None]:
    with transaction.atomic():
        lock_in_transaction(user)
        yield


def with_user_lock(
    view: Callable[Concatenate[PersonRequest, P], HttpResponseBase],
) -> Callable[Concatenate[PersonRequest, P], HttpResponseBase]:
    """Hold the signed-in person's lock during a POST to the view."""

    @wraps(view)
    def locked(request: PersonRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.method != "POST":
            return view(request, *args, **kwargs)
        with lock_user(request.user):
            return view(request, *args, **kwargs)

    return locked
