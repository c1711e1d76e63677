"""Pages of rows with time-ordered ids, newest first, found by id: no row is counted and none is skipped over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet
from django.http import QueryDict

SIZE = 25

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True)
class Page(Generic[Row]):
    """`newer` and `older` are the query strings of the neighbours, "" where there is none."""

    rows: Sequence[Row]
    newer: str
    older: str


def page(rows: QuerySet[Row], query: QueryDict, size: int = SIZE) -> Page[Row]:
    """The rows that `?before=<id>` or `?after=<id>` ask for; the newest where they ask for neither or for nonsense."""
    before, after = _id(query.get("before")), _id(query.get("after"))
    if after is not None:
        found = list(rows.filter(pk__gt=after).order_by("pk")[: size + 1])
        shown = found[:size][::-1]
        more_newer, more_older = len(found) > size, True
    else:
        older = rows if before is None else rows.filter(pk__lt=before)
        found = list(older.order_by("-pk")[: size + 1])
        shown = found[:size]
        more_newer, more_older = before is not None, len(found) > size
    if not shown:
        return Page(shown, "", "")
    return Page(
        shown,
        _link(query, "after", shown[0]) if more_newer else "",
        _link(query, "before", shown[-1]) if more_older else "",
    )


def _id(text: str | None) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError:
        return None


def _link(query: QueryDict, name: str, row: Model) -> str:
    link = query.copy()
    for other in ("before", "after"):
        link.pop(other, None)
    link[name] = str(row.pk)
    return f"?{link.urlencode()}"
