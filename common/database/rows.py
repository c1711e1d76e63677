"""Rows as arguments of a statement: their columns are named once, and so are those of the INSERT that takes them."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from operator import attrgetter, itemgetter
from typing import Annotated, Any, get_args, get_origin, get_type_hints
from uuid import UUID

from common.database.postgres import column

Json = Annotated[str, "jsonb"]
"""JSON as text."""

_Get = Callable[[Any], Any]
_TYPES = {UUID: "uuid", datetime: "timestamptz", bool: "bool", int: "bigint", float: "float", str: "text"}


class Rows:
    """Rows that a statement gets as an array for each column.

    The columns are the fields of the dataclass `kind` but for those in `without`, and `more`: for each further or
    replaced one its type in Python, and how to compute its value from a row; the type alone where rows are tuples of
    `more`. A mapping is a column of JSON. `name` is that of the rows in SQL, and begins the names of the arguments.
    `of`: the path from a row to its `kind`, with a dot.
    """

    def __init__(
        self, name: str, kind: Any = None, /, of: str = "", without: Iterable[str] = (), **more: tuple[Any, _Get] | type
    ) -> None:
        read = {
            field: one if isinstance(one, tuple) else (one, itemgetter(at))
            for at, (field, one) in enumerate(more.items())
        }
        hints = get_type_hints(kind, include_extras=True) if kind else {}
        given = {field: (hint, attrgetter(of + field)) for field, hint in hints.items() if field not in {*without}}
        self._columns = {field: (*_types(hint), value) for field, (hint, value) in (given | read).items()}
        arrays = ", ".join(f"%({name}_{field})s::{sql}[]" for field, (sql, _, _) in self._columns.items())
        self._name, self.sql = name, f"unnest({arrays}) AS {name}({', '.join(self._columns)})"

    def values(self, rows: Iterable[Any]) -> dict[str, str]:
        """The arguments for `sql`, which stands behind FROM."""
        listed = list(rows)
        return {
            f"{self._name}_{key}": column(map(get, listed), type_) for key, (_, type_, get) in self._columns.items()
        }

    def insert(self, table: str, **columns: str | None) -> str:
        """The INSERT; `columns`: the SQL of those that are not inserted as they are given, None for not at all."""
        return insert(table, self.sql, {name: name for name in self._columns} | columns)


def insert(table: str, source: str, columns: Mapping[str, str | None]) -> str:
    """The INSERT of the rows of `source` (what stands behind FROM); `columns` are the SQL of each value, None: none."""
    values = {name: sql for name, sql in columns.items() if sql is not None}
    return f"INSERT INTO {table} ({', '.join(values)}) SELECT {', '.join(values.values())} FROM {source}"  # noqa: S608


def _types(hint: Any) -> tuple[str, type]:
    if type(None) in get_args(hint):
        hint = get_args(hint)[0]
    if get_origin(hint) is Annotated:
        return hint.__metadata__[0], hint.__origin__
    if get_origin(hint) is Mapping:
        return "jsonb", Mapping
    return next((sql, type_) for type_, sql in _TYPES.items() if issubclass(hint, type_))
