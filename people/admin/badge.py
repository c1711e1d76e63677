"""A column whose values stand on a coloured ground."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Column = TypeVar("Column", bound=Callable[..., Any])


def badge(description: str, colours: Mapping[str, str]) -> Callable[[Column], Column]:
    """`colours`: from a value to one of info, success, warning, danger; django-unfold draws it (and ships no types)."""

    def mark(column: Column) -> Column:
        column.short_description = description  # type: ignore[attr-defined]
        column.label = dict(colours)  # type: ignore[attr-defined]
        return column

    return mark
