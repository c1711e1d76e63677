"""Links from one row of the admin to another, by name, so that no app has to import one that stands above it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

NONE = "–"


def to_row(model: str, pk: Any, text: object) -> SafeString:
    """A link to the page of the row `pk` of `model` ("notifications.channel"); a dash where there is none."""
    if pk is None:
        return SafeString(NONE)
    return _link(reverse(f"admin:{model.replace('.', '_')}_change", args=[pk]), text)


def to_list(model: str, text: object, **narrowed: Any) -> SafeString:
    """A link to the list of `model`, narrowed by lookups that its admin takes (see `BaseAdmin.arrivals`)."""
    page = reverse(f"admin:{model.replace('.', '_')}_changelist")
    return _link(f"{page}?{urlencode(narrowed)}", text)


def to_page(name: str, text: object, **named: Any) -> SafeString:
    """A link to the page of the admin that is called `name`."""
    return _link(reverse(name, kwargs=named), text)


def _link(url: str, text: object) -> SafeString:
    return format_html('<a class="text-link" href="{}">{}</a>', url, text)


def instant(value: datetime | None) -> SafeString:
    """An instant in the reader's zone, to the second, with its zone."""
    if value is None:
        return SafeString(NONE)
    return format_html(
        '<time datetime="{}" class="whitespace-nowrap">{}</time>',
        value.isoformat(),
        f"{timezone.localtime(value):%-d %b %Y, %H:%M:%S %Z}",
    )


def many(*parts: SafeString) -> SafeString:
    """Several links in one line."""
    return format_html("<span>{}</span>", format_html_join(" · ", "{}", ((part,) for part in parts)))


# A column whose values stand on a coloured ground.
Column = TypeVar("Column", bound=Callable[..., Any])


def badge(description: str, colours: Mapping[str, str]) -> Callable[[Column], Column]:
    """`colours`: from a value to one of info, success, warning, danger; django-unfold draws it (and ships no types)."""

    def mark(column: Column) -> Column:
        column.short_description = description  # type: ignore[attr-defined]
        column.label = dict(colours)  # type: ignore[attr-defined]
        return column

    return mark
