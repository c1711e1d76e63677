"""On one day of every month at one time."""

from calendar import monthrange
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, ClassVar, Self

from django.utils.translation import gettext as _

from schedules.rules import fields, words
from schedules.rules.dated import DatedRule
from schedules.rules.invalid import InvalidRule

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

    def is_on(self, day: date) -> bool:
        if day.day < _SHORTEST or day.day == self.day:
            return day.day == self.day
        is_last = day.day == monthrange(day.year, day.month)[1]
        return is_last and (self.day is None or (self.day > day.day and self.short == "last"))

    def brief(self) -> str:
        which = words.day_of_month(self.day or -1)
        rule = words.monthly(1, which)
        if self.day is not None and self.day > _SHORTEST:
            if self.short == "last":
                rule = words.last_if_shorter(rule)
            else:
                rule = _("On %(which)s of every month that has one") % {"which": which}
        return words.at(rule, f"{self.time:%H:%M}")
