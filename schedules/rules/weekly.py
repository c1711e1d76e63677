"""On some days of every week at one time."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, ClassVar, Self

from django.utils.translation import gettext as _

from schedules.rules import fields, words
from schedules.rules.dated import DatedRule
from schedules.rules.invalid import InvalidRule

_WEEKDAYS = (0, 1, 2, 3, 4)


def read_days(days: object) -> tuple[int, ...]:
    """Days of the week, 0 for Monday, sorted, without repeats. Raises InvalidRule."""
    if not isinstance(days, list | tuple) or not days:
        raise InvalidRule("days", "days")
    return tuple(sorted({fields.whole_number(day, "days", 0, 6, "days") for day in days}))


@dataclass(frozen=True)
class Weekly(DatedRule):
    """`days` of the week, 0 for Monday, sorted, without repeats, at `time`."""

    kind: ClassVar[str] = "weekly"
    parameters: ClassVar[tuple[str, ...]] = ("time", "days")

    days: tuple[int, ...]

    @classmethod
    def read(cls, data: Mapping[str, Any], timezone: str) -> Self:
        at = fields.time_of_day(data)
        return cls(timezone, at, read_days(data.get("days")))

    def data(self) -> dict[str, Any]:
        return {"time": f"{self.time:%H:%M}", "days": list(self.days)}

    def is_on(self, day: date) -> bool:
        return day.weekday() in self.days

    def brief(self) -> str:
        if len(self.days) == 7:
            often = words.every(1, "day")
        elif self.days == _WEEKDAYS:
            often = _("Every weekday")
        else:
            often = _("Every %(days)s") % {"days": words.listed([words.weekday(day) for day in self.days])}
        return words.at(often, f"{self.time:%H:%M}")
