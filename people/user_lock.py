"""A lock for each person, held while code counts their rows: otherwise two tabs could both use the last free slot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import wraps
from typing import Concatenate, ParamSpec

from django.db import transaction
from django.http import HttpResponse

from common import postgres
from people.models import User
from people.requests import PersonRequest

P = ParamSpec("P")


_LOCK = "SELECT clock_timestamp() AS now FROM people_user WHERE id = %(user)s FOR NO KEY UPDATE"


def lock_in_transaction(user: User) -> datetime:
    """Lock the person's row until the transaction ends; returns the database's clock.

    Inserts that refer to the person are not blocked. Raises User.DoesNotExist.
    """
    row = postgres.execute(_LOCK, {"user": user.pk}).fetchone()
    if row is None:
        raise User.DoesNotExist
    now: datetime = row.now
    return now


@contextmanager
def lock_user(user: User) -> Iterator[None]:
    """Open a transaction that locks the person's row."""
    with transaction.atomic():
        lock_in_transaction(user)
        yield


def with_user_lock(
    view: Callable[Concatenate[PersonRequest, P], HttpResponse],
) -> Callable[Concatenate[PersonRequest, P], HttpResponse]:
    """Hold the signed-in person's lock during a POST to the view."""

    @wraps(view)
    def locked(request: PersonRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if request.method != "POST":
            return view(request, *args, **kwargs)
        with lock_user(request.user):
            return view(request, *args, **kwargs)

    return locked
