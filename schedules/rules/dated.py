"""Rules of dates, with one time on each: every day, some days of the week, or one of the month.

Their slots in a span are found without a search for each.
"""

from abc import abstractmethod
from bisect import bisect_left
from calendar import monthrange
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any, ClassVar, Self
from zoneinfo import ZoneInfo

from common.times.civil_time import begin_of
from schedules.rules import civil, fields
from schedules.rules.invalid import InvalidRule, Work, all_of
from schedules.rules.repetition import Repetition
from schedules.rules.rule import CivilRule

_DAY = timedelta(days=1)
_SHORTEST = 28


def read_days(days: object) -> tuple[int, ...]:
    """Days of the week, 0 for Monday, sorted, without repeats. Raises InvalidRule."""
    if not isinstance(days, list | tuple) or not days:
        raise InvalidRule("days", "days")
    return tuple(sorted({fields.whole_number(day, "days", 0, 6, "days") for day in days}))


def read_day(day: object) -> int:
    """The day of a month, -1 for "last". Raises InvalidRule."""
    return -1 if day == "last" else fields.whole_number(day, "day", 1, 31, "day")


def read_short(short: object) -> str:
    """Read the choice for a month without the day. Raises InvalidRule."""
    if short not in ("last", "skip"):
        raise InvalidRule("short", "short")
    return str(short)


@dataclass(frozen=True)
class DatedRule(CivilRule):
    """At the time of `repetition`, whose interval is 1, on each date that it `is_on`."""

    repetition: Repetition

    @abstractmethod
    def is_on(self, day: date) -> bool: ...

    def data(self) -> dict[str, Any]:
        return {"time": f"{self.repetition.time:%H:%M}"}

    def next_civil(self, after: datetime, work: Work) -> datetime:
        due = datetime.combine(after, self.repetition.time)
        while due <= after or not self.is_on(due.date()):
            due += _DAY
        return due

    def brief(self) -> str:
        return self.repetition.describe()

    def between(self, begin: datetime, end: datetime) -> list[datetime]:
        """Those that `next_after` finds, at a fraction of the cost."""
        slots = _slots(self, civil.local(self.zone, begin).date(), civil.local(self.zone, end).date())
        return slots[bisect_left(slots, begin) : bisect_left(slots, end)]


class Daily(DatedRule):
    kind: ClassVar[str] = "daily"
    parameters: ClassVar[tuple[str, ...]] = ("time",)

    @classmethod
    def read(cls, data: Mapping[str, Any], timezone: str) -> Self:
        return cls(timezone, Repetition("DAILY", 1, fields.time_of_day(data)))

    def is_on(self, day: date) -> bool:
        return True


class Weekly(DatedRule):
    kind: ClassVar[str] = "weekly"
    parameters: ClassVar[tuple[str, ...]] = ("time", "days")

    @classmethod
    def read(cls, data: Mapping[str, Any], timezone: str) -> Self:
        values = all_of(time=lambda: fields.time_of_day(data), days=lambda: read_days(data.get("days")))
        return cls(timezone, Repetition("WEEKLY", 1, **values))

    def data(self) -> dict[str, Any]:
        return super().data() | {"days": list(self.repetition.days)}

    def is_on(self, day: date) -> bool:
        return day.weekday() in self.repetition.days


class Monthly(DatedRule):
    kind: ClassVar[str] = "monthly"
    parameters: ClassVar[tuple[str, ...]] = ("time", "day", "short")

    @classmethod
    def read(cls, data: Mapping[str, Any], timezone: str) -> Self:
        values = all_of(
            time=lambda: fields.time_of_day(data),
            day=lambda: read_day(data.get("day")),
            short=lambda: read_short(data.get("short", "last")),
        )
        return cls(timezone, Repetition("MONTHLY", 1, **values))

    def data(self) -> dict[str, Any]:
        day = self.repetition.day
        return super().data() | {"day": "last" if day == -1 else day, "short": self.repetition.short}

    def is_on(self, day: date) -> bool:
        named = self.repetition.day
        if day.day < _SHORTEST or day.day == named:
            return day.day == named
        is_last = day.day == monthrange(day.year, day.month)[1]
        return is_last and (named == -1 or (named > day.day and self.repetition.short == "last"))


@lru_cache(maxsize=1_000)
def _slots(rule: DatedRule, first: date, last: date) -> list[datetime]:
    """Those of the dates from the day before `first` to `last`."""
    at = rule.repetition.time
    since_midnight = timedelta(hours=at.hour, minutes=at.minute)
    slots: list[datetime] = []
    before = None
    for day, midnight, is_plain in _dates(rule.zone, first - _DAY, last):
        if not rule.is_on(day):
            continue
        slot = midnight + since_midnight if is_plain else civil.first_instant(rule.zone, datetime.combine(day, at))
        if slot != before:  # a date that the clock skips comes with the next one
            slots.append(slot)
            before = slot
    return slots


@lru_cache(maxsize=500)
def _dates(zone: ZoneInfo, first: date, last: date) -> list[tuple[date, datetime, bool]]:
    """The dates from `first` to `last`, their first instants, and whether the clock stays as it is on them."""
    days = [first + number * _DAY for number in range((last - first).days + 1)]
    return [(day, begin_of(day, zone), begin_of(day + _DAY, zone) - begin_of(day, zone) == _DAY) for day in days]
