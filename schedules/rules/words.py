"""Times, dates and zones in the active language, and the phrases that rules share."""

from collections.abc import Sequence
from datetime import date, datetime

from django.utils import dates, formats
from django.utils.text import get_text_list
from django.utils.translation import gettext as _, ngettext, ngettext_lazy, pgettext, pgettext_lazy

# As people type them, in every language.
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
# By unit; each takes a `count`.
EVERY = {
    "minute": ngettext_lazy("Every minute", "Every %(count)s minutes", "count"),
    "hour": ngettext_lazy("Every hour", "Every %(count)s hours", "count"),
    "day": ngettext_lazy("Every day", "Every %(count)s days", "count"),
    "week": ngettext_lazy("Every week", "Every %(count)s weeks", "count"),
    "month": ngettext_lazy("Every month", "Every %(count)s months", "count"),
    "year": ngettext_lazy("Every year", "Every %(count)s years", "count"),
}
# Of a day or weekday; they stand after "On".
NTH = {
    1: pgettext_lazy("on", "the first %(day)s"),
    2: pgettext_lazy("on", "the second %(day)s"),
    3: pgettext_lazy("on", "the third %(day)s"),
    4: pgettext_lazy("on", "the fourth %(day)s"),
    -1: pgettext_lazy("on", "the last %(day)s"),
}
# By the last digit; 0 for all others.
_ORDINALS = (
    pgettext_lazy("ordinal", "%(number)sth"),
    pgettext_lazy("ordinal", "%(number)sst"),
    pgettext_lazy("ordinal", "%(number)snd"),
    pgettext_lazy("ordinal", "%(number)srd"),
)


def every(count: int, unit: str) -> str:
    """ "Every minute", "Every 2 weeks"."""
    return str(EVERY[unit] % {"count": count})


def each(days: Sequence[int]) -> str:
    """ "Every Monday and Thursday" of (0, 3), "Every weekday", "Every day"."""
    if len(days) == 7:
        return every(1, "day")
    if tuple(days) == (0, 1, 2, 3, 4):
        return _("Every weekday")
    return _("Every %(days)s") % {"days": listed([weekday(day) for day in days])}


def at(rule: str, *times: str) -> str:
    """ "Every day at 09:00", "Every day at 09:00 and 18:00"."""
    return _("%(rule)s at %(time)s") % {"rule": rule, "time": listed(times)}


def day_of_month(number: int) -> str:
    """ "the 31st"; "the last day" of -1. It stands after "On"."""
    if number == -1:
        return pgettext("on", "the last day")
    return pgettext("on", "the %(day)s") % {"day": ordinal(number)}


def monthly(count: int, which: str) -> str:
    """ "On the 31st of every month", "On the last Friday of every 2 months"."""
    text = ngettext("On %(which)s of every month", "On %(which)s of every %(count)s months", count)
    return text % {"which": which, "count": count}


def last_if_shorter(rule: str) -> str:
    return _("%(rule)s (the last day in shorter months)") % {"rule": rule}


def in_zone(rule: str, timezone: str, readers: bool) -> str:
    """ "Every day at 09:00, Berlin time"; with `readers`, "Every day at 09:00 on each reader’s clock"."""
    if readers:
        return _("%(rule)s on each reader’s clock") % {"rule": rule}
    return _("%(rule)s, %(zone)s") % {"rule": rule, "zone": zone_time(timezone)}


def city(timezone: str) -> str:
    """ "Berlin" of "Europe/Berlin", "New York" of "America/New_York", "UTC" of "Etc/UTC", "UTC+8" of "Etc/GMT-8"."""
    name = timezone.rpartition("/")[2].replace("_", " ")
    if name.startswith(("GMT+", "GMT-")):  # POSIX counts to the west
        return f"UTC{'+' if name[3] == '-' else '-'}{name[4:]}"
    return name


def zone_time(timezone: str) -> str:
    """ "Berlin time", "UTC"."""
    name = city(timezone)
    return name if name.startswith(("UTC", "GMT", "UCT")) else _("%(city)s time") % {"city": name}


def clock(moment: datetime) -> str:
    """ "09:00", with seconds and microseconds only where there are some."""
    if moment.microsecond:
        return moment.strftime("%H:%M:%S.%f")
    return moment.strftime("%H:%M:%S" if moment.second else "%H:%M")


def day(when: date) -> str:
    """ "29 March 2026"."""
    return formats.date_format(when, pgettext("date pattern", "j F Y"))


def weekday(number: int) -> str:
    """ "Monday" of 0."""
    return str(dates.WEEKDAYS[number])


def month(number: int) -> str:
    """ "January" of 1."""
    return str(dates.MONTHS[number])


def ordinal(number: int) -> str:
    """ "1st", "22nd", "13th"."""
    last = 0 if 10 <= number % 100 <= 20 else number % 10
    return str(_ORDINALS[last if last < 4 else 0] % {"number": number})


def listed(items: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return get_text_list(list(items), _("and"))
