"""Columns of admin lists: links by name (no app imports one above it), instants, badges; and sections of pages."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from common.texts.state_words import labelled
from common.texts.types import StrOrPromise
from common.times import dates

NONE = "–"


def to_row(model: str, pk: Any, text: object) -> SafeString:
    """A link to the row `pk` of `model` ("notifications.channel"); a dash if `pk` is None."""
    if pk is None:
        return SafeString(NONE)
    return _link(reverse(f"admin:{model.replace('.', '_')}_change", args=[quote(pk)]), text)


def to_list(model: str, text: object, **lookups: Any) -> SafeString:
    """A link to the list of `model`, filtered by lookups that its admin allows (see `BaseAdmin.link_lookups`)."""
    page = reverse(f"admin:{model.replace('.', '_')}_changelist")
    return _link(f"{page}?{urlencode(lookups)}", text)


def to_page(name: str, text: object, **named: Any) -> SafeString:
    return _link(reverse(name, kwargs=named), text)


def _link(url: str, text: object) -> SafeString:
    return format_html('<a class="text-link" href="{}">{}</a>', url, text)


def instant(value: datetime | None) -> SafeString:
    """An instant in the reader's zone, to the second; each page names the zone once."""
    if value is None:
        return SafeString(NONE)
    shown = timezone.localtime(value)
    return format_html(
        '<time datetime="{}" title="{}" class="whitespace-nowrap">{}</time>',
        value.isoformat(),
        f"{shown:%Z}",
        dates.exact(shown),
    )


def short(text: str) -> SafeString:
    """A shortened text, with the full text as a tooltip; a dash if it is empty."""
    if not text:
        return SafeString(NONE)
    return format_html('<span title="{}">{}</span>', text, Truncator(text).chars(70))


def key(value: UUID) -> SafeString:
    return format_html('<span class="whitespace-nowrap font-mono text-xs">{}</span>', value)


def many(*parts: SafeString) -> SafeString:
    """Several links on one line."""
    return format_html("<span>{}</span>", format_html_join(" · ", "{}", ((part,) for part in parts)))


def column(description: StrOrPromise, path: str, show: Callable[[Any], Any] = str) -> Callable[[Any, Any], Any]:
    """A column that shows the attribute `path` ("notification.user") of its row; with "", the row itself."""
    read: Callable[[Any], Any] = attrgetter(path) if path else lambda row: row

    @admin.display(description=description)
    def value(self: Any, row: Any) -> Any:
        return show(read(row))

    return value


def instant_column(description: StrOrPromise, path: str) -> Callable[[Any, Any], Any]:
    return column(description, path, instant)


def badge(
    description: StrOrPromise, path: str, colours: Mapping[str, str], show: Callable[[Any], tuple[str, str]] = labelled
) -> Callable[[Any, Any], Any]:
    """A coloured `column`: `show` makes a code and a text of its value.

    `colours` maps codes to info, success, warning or danger.
    """

    def drawn(value: Any) -> SafeString:
        code, text = show(value)
        return _badge(text, colours.get(code, ""))

    return column(description, path, drawn)


@lru_cache(1_000)
def _badge(text: str, colour: str) -> SafeString:
    """As django-unfold draws a label: by a template."""
    return render_to_string("unfold/helpers/display_label.html", {"label": text, "label_type": colour})


def section(title: StrOrPromise | None, *lines: str | tuple[str, ...]) -> Any:
    """A part of a row's page for `fieldsets`: each line is a field, or several side by side."""
    return title, {"fields": lines}
