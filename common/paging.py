"""Pages of rows, newest first, found by where the last page ended: no row is counted and none is skipped over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet
from django.http import QueryDict

SIZE = 25

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True)
class Page(Generic[Row]):
    """`newer` and `older` are the query strings of the neighbours, "" where there is none."""

    rows: Sequence[Row]
    newer: str
    older: str


class _Place(NamedTuple):
    """Where a row stands: `instant` is aware, None where ids alone give the order."""

    instant: datetime | None
    id: UUID


def page(rows: QuerySet[Row], query: QueryDict, size: int = SIZE, by: str = "") -> Page[Row]:
    """The rows that `?before=` or `?after=` ask for; the newest where they ask for neither or for nonsense.

    Rows are ordered by their ids, which are time-ordered; where that is not the time to go by, `by` names the field of
    the instant that is.
    """
    before, after = _read(query.get("before"), by), _read(query.get("after"), by)
    order = [by, "pk"] if by else ["pk"]
    if after is not None:
        found = list(_beyond(rows, by, after, "gt").order_by(*order)[: size + 1])
        shown = found[:size][::-1]
        more_newer, more_older = len(found) > size, True
    else:
        older = rows if before is None else _beyond(rows, by, before, "lt")
        found = list(older.order_by(*(f"-{field}" for field in order))[: size + 1])
        shown = found[:size]
        more_newer, more_older = before is not None, len(found) > size
    if not shown:
        return Page(shown, "", "")
    return Page(
        shown,
        _link(query, "after", shown[0], by) if more_newer else "",
        _link(query, "before", shown[-1], by) if more_older else "",
    )


def _beyond(rows: QuerySet[Row], by: str, place: _Place, side: str) -> QuerySet[Row]:
    further = Q(**{f"pk__{side}": place.id})
    if not by:
        return rows.filter(further)
    # The first condition says nothing more; it is the one that an index can be searched by.
    return rows.filter(Q(**{f"{by}__{side}e": place.instant}), Q(**{f"{by}__{side}": place.instant}) | further)


def _read(text: str | None, by: str) -> _Place | None:
    instant, _, key = (text or "").rpartition(",")
    try:
        place = _Place(datetime.fromisoformat(instant) if by else None, UUID(key))
    except ValueError:
        return None
    return None if place.instant is not None and place.instant.tzinfo is None else place


def _link(query: QueryDict, name: str, row: Model, by: str) -> str:
    link = query.copy()
    for other in ("before", "after"):
        link.pop(other, None)
    link[name] = f"{getattr(row, by).isoformat()},{row.pk}" if by else str(row.pk)
    return f"?{link.urlencode()}"
