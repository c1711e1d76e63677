"""Pages of a list: an opaque, signed cursor, and a `Link` header."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from django.core import signing
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Schema

from api.problems import FieldError, invalid

T = TypeVar("T")
Row = TypeVar("Row", bound=Model)

SIZE = 50
LARGEST = 200
_SALT = "api.cursor"


class Page(Schema, Generic[T]):
    """`next` is the cursor of the following page, null on the last one."""

    items: list[T]
    next: str | None = None


def page(
    rows: QuerySet[Row],
    request: HttpRequest,
    response: HttpResponse,
    cursor: str | None,
    limit: int,
    show: Callable[[Sequence[Row]], list[Any]],
) -> dict[str, Any]:
    """The rows after `cursor`, newest first by their time-ordered ids; sets the `Link` header."""
    if cursor is not None:
        rows = rows.filter(Q(pk__lt=_read(cursor, request)))
    found = list(rows.order_by("-pk")[: limit + 1])
    shown = found[:limit]
    following = None
    if len(found) > limit:
        following = signing.dumps([request.path, str(shown[-1].pk)], salt=_SALT, compress=True)
        query = request.GET.copy()
        query["cursor"] = following
        response["Link"] = f'<{request.build_absolute_uri(request.path)}?{query.urlencode()}>; rel="next"'
    return {"items": show(shown), "next": following}


def _read(cursor: str, request: HttpRequest) -> str:
    try:
        path, key = signing.loads(cursor, salt=_SALT)
    except (signing.BadSignature, ValueError, TypeError):
        path, key = "", ""
    if path != request.path:
        raise invalid(FieldError("query.cursor", "This cursor is not valid here. Start again without one."))
    return str(key)
