"""Pages of a list: an opaque, signed cursor, and a `Link` header."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.core import signing
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from pydantic import BaseModel

from api.answers import answer
from api.problems import FieldError, invalid

T = TypeVar("T")
Row = TypeVar("Row", bound=Model)

SIZE = 50
LARGEST = 200
_SALT = "api.cursor"


class Page(BaseModel, Generic[T]):
    """`next` is the cursor of the following page, null on the last one."""

    items: list[T]
    next: str | None = None


def answer_page(
    rows: QuerySet[Row],
    request: HttpRequest,
    cursor: str | None,
    limit: int,
    show: Callable[[Row], Any],
    key: str = "pk",
) -> HttpResponse:
    """The rows after `cursor`, the greatest `key` first, which is unique among them; with the `Link` header."""
    if cursor is not None:
        rows = rows.filter(**{f"{key}__lt": read(cursor, request)})
    found = list(rows.order_by(f"-{key}")[: limit + 1])
    following = None
    if len(found) > limit:
        last = getattr(found[limit - 1], key)
        following = make(request, last.isoformat() if isinstance(last, datetime) else str(last))
    return link(answer({"items": [show(row) for row in found[:limit]], "next": following}), request, following)


def make(request: HttpRequest, key: str) -> str:
    """The cursor of the page after `key`, for the path of this request only."""
    return signing.dumps([request.path, key], salt=_SALT, compress=True)


def read(cursor: str, request: HttpRequest, parameter: str = "cursor") -> str:
    """The key in a cursor. Raises a 422 problem for one that is not ours, or another path's."""
    try:
        path, key = signing.loads(cursor, salt=_SALT)
    except (signing.BadSignature, ValueError, TypeError):
        path, key = "", ""
    if path != request.path:
        raise invalid(FieldError(f"query.{parameter}", "This cursor is not valid here. Start again without one."))
    return str(key)


def link(response: HttpResponse, request: HttpRequest, following: str | None) -> HttpResponse:
    """Add the `Link` header to the following page, if there is one."""
    if following is not None:
        query = request.GET.copy()
        query["cursor"] = following
        response["Link"] = f'<{request.build_absolute_uri(request.path)}?{query.urlencode()}>; rel="next"'
    return response
