"""A lock for each person, held while code counts their rows: otherwise two tabs could both use the last free slot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Concatenate, ParamSpec

from django.db import transaction
from django.http import HttpResponse

from people.models import User
from people.requests import PersonRequest

P = ParamSpec("P")


@contextmanager
def lock_user(user: User) -> Iterator[None]:
    """Open a transaction that locks the person's row; inserts that refer to the person are not blocked."""
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
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
