"""Pages of a list: an opaque, signed cursor, and a `Link` header."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from django.core import signing
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from pydantic import BaseModel, Field

from api.protocol.answers import Show, answer, shown, to_json
from api.protocol.problems import FieldError, Problem, invalid
from common.database import paging as windows

T = TypeVar("T")
Row = TypeVar("Row", bound=Model)
Rows = TypeVar("Rows", bound=QuerySet[Any])

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
    show: Show,
    *,
    by: str = "",
    among: QuerySet[Row] | None = None,
    beside: Callable[[Sequence[Row]], object] = lambda rows: None,
) -> HttpResponse:
    """The readable rows after its cursor, newest first, with the `Link` header. For `by` and `among`: `windows.page`.

    With `among`, a page may be short and have a next. `beside` reads what `show` needs beside the rows of a chunk. No
    further chunk is read once the page has `_LONG_PAGE` characters: an item can have 128 KiB.
    """
    items: list[str] = []
    last = _start(page, request, by)
    while True:
        chunk = windows.page(rows, QueryDict(f"before={quote(last)}"), min(SIZE, page.limit - len(items)), by, among)
        beside(chunk.rows)
        items += [to_json(shown(show, row)) for row in chunk.rows]
        last = QueryDict(chunk.older.removeprefix("?")).get("before", "")
        if not last or chunk.is_cut or len(items) >= page.limit or sum(map(len, items)) >= _LONG_PAGE:
            break
    following = make(request, last) if last else None
    document = f'{{"items": [{", ".join(items)}], "next": {to_json(following)}}}'
    return link(HttpResponse(document, content_type="application/json"), request, following)


def narrowed(rows: Rows, **wanted: Any) -> Rows:
    """The rows with these values, as a filter has them; null asks for nothing."""
    return rows.filter(**{lookup: value for lookup, value in wanted.items() if value is not None})


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
        raise _not_valid()
    return str(key)


def _start(page: PageParameters, request: HttpRequest, by: str) -> str:
    key = read(page.cursor, request) if page.cursor else ""
    if key and by and "," not in key:  # as the release before wrote it
        raise _not_valid()
    return key


def _not_valid() -> Problem:
    return invalid(FieldError("query.cursor", "This cursor is not valid here. Start again without one."))


def link(response: HttpResponse, request: HttpRequest, following: str | None) -> HttpResponse:
    """Add the `Link` header to the following page, if there is one."""
    if following is not None:
        query = request.GET.copy()
        query["cursor"] = following
        response["Link"] = f'<{request.build_absolute_uri(request.path)}?{query.urlencode()}>; rel="next"'
    return response
