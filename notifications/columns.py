"""Columns of values as PostgreSQL array literals, for `unnest(%s::uuid[], …)`.

psycopg writes a list item by item, through a dumper and a search for what must be quoted; for the thousands of values
of a batch that takes as long as the insert.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any
from uuid import UUID


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


_WRITERS: dict[type, Callable[[Any], str]] = {
    UUID: lambda value: value.hex,
    datetime: datetime.isoformat,
    int: str,
    bool: str,
    str: _quoted,
}


def column(values: Iterable[UUID | datetime | int | bool | str | None]) -> str:
    """The literal of an array of `values`, all of one type or None; datetimes are aware."""
    listed = list(values)
    write = next((_WRITERS[type(value)] for value in listed if value is not None), str)
    return "{" + ",".join(["NULL" if value is None else write(value) for value in listed]) + "}"
