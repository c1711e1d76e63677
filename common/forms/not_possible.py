"""Refuse what a limit or another row does not allow now."""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, JsonResponse


class NotPossible(Exception):
    """A limit, or something of the same name, is in the way. The message is for the person; the API answers 409."""


class LimitReached(NotPossible):
    """The person has as many of something as they may; the API answers 422."""


@contextmanager
def shown_in(place: Any, field: str | None = None) -> Iterator[None]:
    """Show what is not possible as an error of a form, or as a message to who made a request."""
    try:
        yield
    except NotPossible as refusal:
        if isinstance(place, HttpRequest):
            messages.error(place, str(refusal))
        else:
            place.add_error(field, str(refusal))


def problem(status: int, detail: str, code: str, **headers: str) -> JsonResponse:
    """An error for a program: a problem document (RFC 9457)."""
    document = {"title": HTTPStatus(status).phrase, "status": status, "code": code, "detail": detail}
    return JsonResponse(document, status=status, content_type="application/problem+json", headers=headers)
