"""On one day of every month at one time."""

from calendar import monthrange
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, ClassVar, Self

from django.utils.translation import gettext as _

from schedules.rules import fields, words
from schedules.rules.dated import DatedRule
from schedules.rules.invalid import InvalidRule, Work

_SHORTEST = 28


@dataclass(frozen=True)
class Monthly(DatedRule):
    """`day` of the month (None: the last) at `time`; a month without it uses its last day or skips (`short`)."""

    kind: ClassVar[str] = "monthly"
    parameters: ClassVar[tuple[str, ...]] = ("time", "day", "short")

    day: int | None
    short: str

    @classmethod
    def read(cls, data: Mapping[str, Any], timezone: str) -> Self:
        at = fields.time_of_day(data)
        day = data.get("day")
        day = None if day == "last" else fields.whole_number(day, "day", 1, 31, "day")
        if (short := data.get("short", "last")) not in ("last", "skip"):
            raise InvalidRule("short", "short")
        return cls(timezone, at, day, short)

    def data(self) -> dict[str, Any]:
        return {"time": f"{self.time:%H:%M}", "day": self.day or "last", "short": self.short}

    def next_civil(self, after: datetime, work: Work) -> datetime:
        year, month = after.year, after.month
        while True:
            day = self._day_in(year, month)
            if day is not None and (due := datetime.combine(date(year, month, day), self.time)) > after:
                return due
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)

    def is_on(self, day: date) -> bool:
        return self._day_in(day.year, day.month) == day.day

    def _day_in(self, year: int, month: int) -> int | None:
        """Its day of this month; None if it skips the month."""
        if (day := self.day) is None or day > _SHORTEST:
            length = monthrange(year, month)[1]
            if day is not None and day > length and self.short == "skip":
                return None
            day = length if day is None else min(day, length)
        return day

    def brief(self) -> str:
        which = words.day_of_month(self.day or -1)
        rule = words.monthly(1, which)
        if self.day is not None and self.day > _SHORTEST:
            if self.short == "last":
                rule = words.last_if_shorter(rule)
            else:
                rule = _("On %(which)s of every month that has one") % {"which": which}
        return words.at(rule, f"{self.time:%H:%M}")
