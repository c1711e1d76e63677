"""Pages of a list: an opaque, signed cursor, and a `Link` header."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from django.core import signing
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from pydantic import BaseModel, Field

from api.protocol.answers import answer, to_json
from api.protocol.problems import FieldError, invalid
from common.database.damaged import readable
from common.web import paging as windows

T = TypeVar("T")
Row = TypeVar("Row", bound=Model)

SIZE = 50
LARGEST = 200
_LONG_PAGE = 1024 * 1024
_SALT = "api.cursor"


class PageParameters(BaseModel):
    """The parameters of a list: which page of it, and how long."""

    cursor: str | None = None
    limit: int = Field(default=SIZE, ge=1, le=LARGEST)


class Page(BaseModel, Generic[T]):
    """`next` is the cursor of the following page, null on the last one. A page of long items is short."""

    items: list[T]
    next: str | None = None


def answer_page(
    rows: QuerySet[Row],
    request: HttpRequest,
    page: PageParameters,
    show: Callable[[Row], Any],
    key: str = "pk",
    beside: Callable[[Sequence[Row]], object] | None = None,
) -> HttpResponse:
    """The readable rows after its cursor, the greatest `key` first, which is unique among them; with the `Link` header.

    They are read in chunks; `beside` reads what `show` needs beside the rows of one. No further one is read once the
    page has `_LONG_PAGE` characters: an item can have 128 KiB.
    """
    last = read(page.cursor, request) if page.cursor else None
    items: list[str] = []
    more = True
    while more and len(items) < page.limit and sum(map(len, items)) < _LONG_PAGE:
        behind = rows if last is None else rows.filter(**{f"{key}__lt": last})
        chunk = min(SIZE, page.limit - len(items))
        found, damaged = readable(behind.order_by(f"-{key}")[: chunk + 1])
        more = bool(found) and len(found) + len(damaged) > chunk
        if beside is not None:
            beside(found[:chunk])
        items += [to_json(show(row)) for row in found[:chunk]]
        last = getattr(found[:chunk][-1], key) if found else None
    following = None
    if more:
        following = make(request, last.isoformat() if isinstance(last, datetime) else str(last))
    return _page(items, request, following)


def _page(items: Sequence[str], request: HttpRequest, following: str | None) -> HttpResponse:
    document = f'{{"items": [{", ".join(items)}], "next": {to_json(following)}}}'
    return link(HttpResponse(document, content_type="application/json"), request, following)


def answer_search(
    rows: QuerySet[Row],
    request: HttpRequest,
    page: PageParameters,
    show: Callable[[Row], Any],
    *,
    by: str = "",
    among: QuerySet[Row] | None = None,
) -> HttpResponse:
    """As `answer_page`, in the order of `by`; for `among` see `common.web.paging`: a page may be short, with a next."""
    items: list[str] = []
    key = read(page.cursor, request) if page.cursor else ""
    while True:
        chunk = min(SIZE, page.limit - len(items))
        found = windows.page(rows, QueryDict(f"before={quote(key)}"), chunk, by, among)
        items += [to_json(show(row)) for row in found.rows]
        key = QueryDict(found.older.removeprefix("?")).get("before", "")
        if not key or found.is_cut or len(items) >= page.limit or sum(map(len, items)) >= _LONG_PAGE:
            return _page(items, request, make(request, key) if key else None)


def answer_all(items: Iterable[Any]) -> HttpResponse:
    """The only page of a short list."""
    return answer({"items": list(items), "next": None})


def make(request: HttpRequest, key: str) -> str:
    """The cursor of the page after `key`, for the path of this request only."""
    return signing.dumps([request.path, key], salt=_SALT, compress=True)


def read(cursor: str, request: HttpRequest) -> str:
    """The key in a cursor. Raises a 422 problem for one that is not ours, or another path's."""
    try:
        path, key = signing.loads(cursor, salt=_SALT)
    except (signing.BadSignature, ValueError, TypeError):
        path, key = "", ""
    if path != request.path:
        raise invalid(FieldError("query.cursor", "This cursor is not valid here. Start again without one."))
    return str(key)


def link(response: HttpResponse, request: HttpRequest, following: str | None) -> HttpResponse:
    """Add the `Link` header to the following page, if there is one."""
    if following is not None:
        query = request.GET.copy()
        query["cursor"] = following
        response["Link"] = f'<{request.build_absolute_uri(request.path)}?{query.urlencode()}>; rel="next"'
    return response
