"""Times, dates and zones in English, whatever the locale of the process."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def city(timezone: str) -> str:
    """ "Berlin" of "Europe/Berlin", "New York" of "America/New_York", "UTC" of "Etc/UTC"."""
    return timezone.rpartition("/")[2].replace("_", " ")


def zone_time(timezone: str) -> str:
    """ "Berlin time", "UTC"."""
    name = city(timezone)
    return name if name.startswith(("UTC", "GMT", "UCT")) else f"{name} time"


def clock(moment: datetime) -> str:
    """ "09:00", with seconds and microseconds only where there are some."""
    if moment.microsecond:
        return moment.strftime("%H:%M:%S.%f")
    return moment.strftime("%H:%M:%S" if moment.second else "%H:%M")


def day(when: date) -> str:
    """ "29 March 2026"."""
    return f"{when.day} {MONTHS[when.month - 1]} {when.year}"


def ordinal(number: int) -> str:
    """ "1st", "22nd", "13th"."""
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def listed(items: Sequence[str], conjunction: str = "and") -> str:
    """ "a", "a and b", "a, b and c"."""
    *most, last = items
    return f"{', '.join(most)} {conjunction} {last}" if most else last
