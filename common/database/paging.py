"""Keyset pagination, newest first: no counts and no offsets."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from django.http import QueryDict

from common.database.damaged import readable

SIZE = 25
WINDOW = 10_000
"""A page looks at so many rows for a condition that no index has."""
# It looks at so many first, among which a frequent word is found: all of a window are joined and sorted at once.
_FIRST = 500

FIRST_ID, LAST_ID = UUID(int=0), UUID(int=2**128 - 1)

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True)
class Page(Generic[Row]):
    """`newer` and `older` are the query strings of the neighbouring pages, or "". `is_cut`: there may be further rows,
    behind those that were looked at."""

    rows: Sequence[Row]
    newer: str
    older: str
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """Ids that a page may show: at most `most` between `above` and `below`, the newest or, `ascending`, the oldest."""

    most: int
    above: UUID = FIRST_ID
    below: UUID = LAST_ID
    ascending: bool = False


class _Key(NamedTuple):
    """The position of a row; `value` is that of the field which gives the order, None if ids alone do."""

    value: Any
    id: Any


def page(
    rows: QuerySet[Row], query: QueryDict, size: int = SIZE, by: str = "", among: QuerySet[Row] | None = None
) -> Page[Row]:
    """The readable rows that `?before=` or `?after=` ask for; the newest ones if both are missing or invalid.

    Rows are ordered by their time-ordered ids, or by the field `by`, an instant or a number. With `among`, `rows` are
    those of it that meet a condition without an index: the next `WINDOW` of `among` are looked at, and links lead on
    from there. So they do where no row of a page can be read.
    """
    before, after = (_read(query.get(name), by, rows.model) for name in ("before", "after"))
    newer, start = after is not None, before if after is None else after
    further = _ahead(rows, by, start, newer)
    for most in (0,) if among is None else (min(_FIRST, WINDOW), WINDOW):
        edge = None if among is None else _first(_ahead(among, by, start, newer)[most - 1 : most], by)
        matches, damaged = readable(_beyond(further, by, edge, not newer, inclusive=True)[: size + 1])
        is_full = len(matches) + len(damaged) > size
        if edge is None or is_full:
            break
    if is_full and not matches:  # go on behind the damaged ones
        edge, is_full = _first(rows.filter(pk=damaged[-1]), by), False
    return _page(query, by, start, newer, matches[:size], edge, is_full)


def _page(
    query: QueryDict, by: str, start: _Key | None, newer: bool, shown: list[Row], edge: _Key | None, is_full: bool
) -> Page[Row]:
    """The rows in the order of the page, with its links: back to where it began, on from its last row or the edge."""
    is_cut = edge is not None and not is_full
    last = edge if is_cut else _key(shown[-1], by) if is_full and shown else None
    back = _key(shown[0], by) if shown and start is not None else None
    if newer:
        return Page(shown[::-1], _link(query, "after", last), _link(query, "before", back), is_cut)
    return Page(shown, _link(query, "after", back), _link(query, "before", last), is_cut)


def span(query: QueryDict, rows: type[Model], size: int = SIZE) -> Span:
    """The ids that a page of rows in the order of their ids may show, and one more."""
    before, after = (_read(query.get(name), "", rows) for name in ("before", "after"))
    if after is not None:
        return Span(size + 1, above=after.id, ascending=True)
    return Span(size + 1) if before is None else Span(size + 1, below=before.id)


def _first(rows: QuerySet[Row], by: str) -> _Key | None:
    return next((_Key(key[0] if by else None, key[-1]) for key in rows.values_list(*([by] if by else []), "pk")), None)


def _ahead(rows: QuerySet[Row], by: str, start: _Key | None, newer: bool) -> QuerySet[Row]:
    """The rows beyond `start`, the nearest first."""
    order = [by, "pk"] if by else ["pk"]
    return _beyond(rows, by, start, newer).order_by(*(order if newer else [f"-{field}" for field in order]))


def _beyond(rows: QuerySet[Row], by: str, key: _Key | None, newer: bool, *, inclusive: bool = False) -> QuerySet[Row]:
    if key is None:
        return rows
    side = "gt" if newer else "lt"
    further = Q(**{f"pk__{side}{'e' * inclusive}": key.id})
    if not by:
        return rows.filter(further)
    # The first condition is redundant, but an index serves it.
    return rows.filter(Q(**{f"{by}__{side}e": key.value}), Q(**{f"{by}__{side}": key.value}) | further)


def _read(text: str | None, by: str, rows: type[Model]) -> _Key | None:
    value, _, row_id = (text or "").rpartition(",")
    fields: Any = rows._meta
    try:
        key = _Key(fields.get_field(by).to_python(value) if by else None, fields.pk.to_python(row_id))
    except ValidationError:
        return None
    return None if isinstance(key.value, datetime) and key.value.tzinfo is None else key


def _key(row: Model, by: str) -> _Key:
    return _Key(getattr(row, by) if by else None, row.pk)


def _link(query: QueryDict, name: str, key: _Key | None) -> str:
    if key is None:
        return ""
    link = query.copy()
    for other in ("before", "after"):
        link.pop(other, None)
    value = key.value.isoformat() if isinstance(key.value, datetime) else key.value
    link[name] = str(key.id) if value is None else f"{value},{key.id}"
    return f"?{link.urlencode()}"
