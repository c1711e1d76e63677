"""What one person does in several tabs at once happens one after the other, where what they have is counted.

Without it, two tabs count the same, and both find room for one more.
"""

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
def turn(user: User) -> Iterator[None]:
    """A transaction that waits for this person's other ones; rows that only refer to the person go on being written."""
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        yield


def in_turn(
    view: Callable[Concatenate[PersonRequest, P], HttpResponse],
) -> Callable[Concatenate[PersonRequest, P], HttpResponse]:
    """A view of somebody who is signed in, whose POST is a `turn`."""

    @wraps(view)
    def taken(request: PersonRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if request.method != "POST":
            return view(request, *args, **kwargs)
        with turn(request.user):
            return view(request, *args, **kwargs)

    return taken
