"""Dates and times as people write them, in the active language."""

from datetime import UTC, date, datetime
from functools import lru_cache, partial

from django.utils import formats, timezone
from django.utils.translation import get_language, gettext as _, pgettext, pgettext_lazy


def _written(when: date, pattern: object) -> str:
    return _formatted(date(when.year, when.month, when.day), str(pattern), get_language())


@lru_cache(maxsize=5_000)
def _formatted(when: date, pattern: str, language: str | None) -> str:
    # Pages and messages name the same few days again and again.
    return formats.date_format(when, pattern)


# The patterns are Django's: https://docs.djangoproject.com/en/stable/ref/templates/builtins/#date
day = partial(_written, pattern=pgettext_lazy("date pattern", "j F"))  # "20 November"
full_day = partial(_written, pattern=pgettext_lazy("date pattern", "j F Y"))  # "20 November 2026"
weekday = partial(_written, pattern=pgettext_lazy("date pattern", "l j F Y"))  # "Friday 20 November 2026"
named_day = partial(_written, pattern=pgettext_lazy("date pattern", "l j F"))  # "Friday 20 November"
month = partial(_written, pattern="YEAR_MONTH_FORMAT")  # "November 2026"


def near_day(when: date, today: date) -> str:
    """ "today", "tomorrow", or empty."""
    return {0: _("today"), 1: _("tomorrow")}.get((when - today).days, "")


def short_day(when: date, year: bool = False) -> str:
    """ "Fri 20 Nov"; with the year, "Fri 20 Nov 2026"."""
    return _written(when, pgettext("date pattern", "D j M Y") if year else pgettext("date pattern", "D j M"))


def short(when: datetime, year: bool = False) -> str:
    """ "Fri 20 Nov, 09:00"."""
    return f"{short_day(when, year)}, {when:%H:%M}"


def hour_of_week(when: datetime) -> str:
    """ "Fri 09:00"."""
    return f"{_written(when, 'D')} {when:%H:%M}"


def exact(when: datetime) -> str:
    """ "20 Nov 2026, 09:00:00"."""
    day = _written(when, pgettext("date pattern", "j M Y"))
    return f"{day}, {when:%H:%M:%S}"


def civil(stored: str) -> str:
    """A civil time as reasons hold it: "07:00" stays, "2026-12-07 08:00" becomes "Mon 7 Dec, 08:00"."""
    try:
        when = datetime.fromisoformat(stored)
    except (TypeError, ValueError):  # a time alone, or what is damaged
        return str(stored)
    return short(when, when.year != timezone.localdate().year)


def in_full(when: datetime) -> str:
    """ "Friday 20 November 2026, 09:00:00 CET"."""
    return f"{weekday(when)}, {when:%H:%M:%S %Z}"


def rfc3339(when: datetime) -> str:
    """An aware instant in UTC, with `Z`, for programs."""
    return when.astimezone(UTC).isoformat().replace("+00:00", "Z")
