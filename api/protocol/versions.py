"""`ETag` and `If-Match`: nobody overwrites a change that they have not seen."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from api.protocol.answers import Show, answer, shown
from api.protocol.problems import Problem

Row = TypeVar("Row", bound=Model)

# A weak tag is valid and never the same (RFC 9110, 13.1.1).
_SHAPE = re.compile(r'\*|(W/)?"[0-9a-f]+"( *, *(W/)?"[0-9a-f]+")*', re.ASCII)


def etag(version: int | str) -> str:
    return f'"{version}"'


def show(document: Show, row: Any, status: int = 200, **headers: str) -> HttpResponse:
    """The document of a row that has a `version`, which is its `ETag`."""
    return answer(shown(document, row), status, ETag=etag(row.version), **headers)


def own(request: HttpRequest, rows: QuerySet[Row], show: Show, **which: Any) -> Row:
    """The row, for a change at the version of `If-Match`. Raises Http404 and a 412 problem."""
    result: Any = get_object_or_404(rows, **which)
    if request.method != "GET":
        require(request, result.version, lambda: shown(show, result))
    return result


@contextmanager
def locked(request: HttpRequest, rows: QuerySet[Row], show: Show, **which: Any) -> Iterator[Row]:
    """As `own`, locked in a transaction."""
    with transaction.atomic():
        yield own(request, rows.select_for_update(no_key=True), show, **which)


def require(request: HttpRequest, version: int | str, current: Callable[[], dict[str, Any]]) -> None:
    """Raise a 412 problem, with the current document, if `If-Match` is there and names another version.

    And a 400 problem if it names none: a change that was meant to be guarded is not made unguarded.
    """
    given = request.headers.get("If-Match", "*").strip()
    if not _SHAPE.fullmatch(given):
        raise Problem(
            400, "bad-match", "This If-Match is not valid.", 'Send an ETag as you have read it: "3", with its quotes.'
        )
    if given == "*" or etag(version) in (part.strip() for part in given.split(",")):
        return
    raise Problem(
        412,
        "changed",
        "This has changed since you read it.",
        "See current, then repeat your change with its ETag.",
        headers={"ETag": etag(version)},
        current=current(),
    )
