"""Keyset pagination, newest first: no counts and no offsets."""

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
    """`newer` and `older` are the query strings of the neighbouring pages, or """ ""

    rows: Sequence[Row]
    newer: str
    older: str


class _Key(NamedTuple):
    """The position of a row; `instant` is None if ids alone give the order."""

    instant: datetime | None
    id: UUID


def page(rows: QuerySet[Row], query: QueryDict, size: int = SIZE, by: str = "") -> Page[Row]:
    """The rows that `?before=` or `?after=` ask for; the newest rows if both are missing or invalid.

    Rows are ordered by their time-ordered ids, or by the instant in the field `by`.
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


def _beyond(rows: QuerySet[Row], by: str, key: _Key, side: str) -> QuerySet[Row]:
    further = Q(**{f"pk__{side}": key.id})
    if not by:
        return rows.filter(further)
    # The first condition is redundant, but an index serves it.
    return rows.filter(Q(**{f"{by}__{side}e": key.instant}), Q(**{f"{by}__{side}": key.instant}) | further)


def _read(text: str | None, by: str) -> _Key | None:
    instant, _, row_id = (text or "").rpartition(",")
    try:
        key = _Key(datetime.fromisoformat(instant) if by else None, UUID(row_id))
    except ValueError:
        return None
    return None if key.instant is not None and key.instant.tzinfo is None else key


def _link(query: QueryDict, name: str, row: Model, by: str) -> str:
    link = query.copy()
    for other in ("before", "after"):
        link.pop(other, None)
    link[name] = f"{getattr(row, by).isoformat()},{row.pk}" if by else str(row.pk)
    return f"?{link.urlencode()}"
