"""Every day at one time."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, ClassVar, Self

from schedules.rules import fields, words
from schedules.rules.dated import DatedRule


@dataclass(frozen=True)
class Daily(DatedRule):
    """Every date of the calendar at `time`."""

    kind: ClassVar[str] = "daily"
    parameters: ClassVar[tuple[str, ...]] = ("time",)

    @classmethod
    def read(cls, data: Mapping[str, Any], timezone: str) -> Self:
        return cls(timezone, fields.time_of_day(data))

    def data(self) -> dict[str, Any]:
        return {"time": f"{self.time:%H:%M}"}

    def is_on(self, day: date) -> bool:
        return True

    def brief(self) -> str:
        return words.at(words.every(1, "day"), f"{self.time:%H:%M}")
