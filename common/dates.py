"""Dates and times as people write them, in the active language."""

from __future__ import annotations

from datetime import date, datetime
from functools import lru_cache

from django.utils import formats
from django.utils.translation import get_language, pgettext

# The patterns are Django's: https://docs.djangoproject.com/en/stable/ref/templates/builtins/#date


def day(when: date) -> str:
    """ "20 November"."""
    return formats.date_format(when, pgettext("date pattern", "j F"))


def full_day(when: date) -> str:
    """ "20 November 2026"."""
    return formats.date_format(when, pgettext("date pattern", "j F Y"))


def weekday(when: date) -> str:
    """ "Friday 20 November 2026"."""
    return _weekday(date(when.year, when.month, when.day), get_language())


@lru_cache(maxsize=1_000)
def _weekday(when: date, language: str | None) -> str:
    # Every message has it, most of them the same few days; Django takes 0.03 ms for it.
    return formats.date_format(when, pgettext("date pattern", "l j F Y"))


def named_day(when: date) -> str:
    """ "Friday 20 November"."""
    return formats.date_format(when, pgettext("date pattern", "l j F"))


def month(when: date) -> str:
    """ "November 2026"."""
    return formats.date_format(when, "YEAR_MONTH_FORMAT")


def short_day(when: date, year: bool = False) -> str:
    """ "Fri 20 Nov"; with the year, "Fri 20 Nov 2026"."""
    pattern = pgettext("date pattern", "D j M Y") if year else pgettext("date pattern", "D j M")
    return formats.date_format(when, pattern)


def short(when: datetime, year: bool = False) -> str:
    """ "Fri 20 Nov, 09:00"."""
    return f"{short_day(when, year)}, {when:%H:%M}"


def hour_of_week(when: datetime) -> str:
    """ "Fri 09:00"."""
    return formats.date_format(when, "D H:i")


def exact(when: datetime) -> str:
    """ "20 Nov 2026, 09:00:00"."""
    return formats.date_format(when, pgettext("date pattern", "j M Y")) + f", {when:%H:%M:%S}"


def in_full(when: datetime) -> str:
    """ "Friday 20 November 2026, 09:00:00 CET"."""
    return f"{weekday(when)}, {when:%H:%M:%S %Z}"
