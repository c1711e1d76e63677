"""Cron expressions of five fields, by Vixie's rules."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Self

from cronsim import CronSim, CronSimError

from schedules.rules import civil, fields, words
from schedules.rules.invalid import InvalidRule
from schedules.rules.rule import CivilRule

_EXAMPLE = "Write five fields (minute, hour, day of month, month, day of week), such as 0 9 * * mon-fri."
# By the names that cronsim's errors give the fields.
_RANGES = {
    "minute": "minutes go from 0 to 59",
    "hour": "hours go from 0 to 23",
    "day-of-month": "days go from 1 to 31, L is the last, and the months given must have such a day",
    "month": "months go from 1 to 12, or jan to dec",
    "day-of-week": "days go from 0 (Sunday) to 7 (Sunday again), or sun to sat",
}
# Any start does for the test of reach: the calendar repeats, and cronsim looks fifty years ahead.
_REACH_FROM = datetime(2000, 1, 1)  # noqa: DTZ001 - civil


@dataclass(frozen=True)
class Cron(CivilRule):
    """`expression` in five fields, as typed but for spaces.

    cronsim is fed civil times without a zone, so that its own view of clock changes (docs/time.md) stays out.
    """

    kind: ClassVar[str] = "cron"
    label: ClassVar[str] = "Cron expression"
    parameters: ClassVar[tuple[str, ...]] = ("expression",)

    expression: str
    # Parsed once: a parse costs more than the search for the next slot.
    parsed: CronSim = field(compare=False, repr=False)

    @classmethod
    def read(cls, data: Mapping[str, Any], timezone: str) -> Self:
        parts = fields.text(data, "expression", 200, _EXAMPLE).split()
        expression = " ".join(parts)
        if len(parts) != 5:
            count = "one field" if len(parts) == 1 else f"{len(parts)} fields"
            raise InvalidRule("expression", f"“{expression}” has {count}. {_EXAMPLE}")
        try:
            parsed = CronSim(expression, _REACH_FROM)
        except CronSimError as error:
            part = str(error).removeprefix("Bad ")
            raise InvalidRule("expression", f"“{expression}” has a bad {part}: {_RANGES[part]}. {_EXAMPLE}") from None
        rule = cls(timezone, expression, parsed)
        if rule.next_civil(_REACH_FROM) is None:
            raise InvalidRule("expression", f"“{expression}” never fires: no such date comes. {_EXAMPLE}")
        return rule

    def data(self) -> dict[str, Any]:
        return {"expression": self.expression}

    def next_civil(self, after: datetime) -> datetime | None:
        search = copy(self.parsed)
        search.dt = after.replace(microsecond=0)
        try:
            due: datetime = next(search)
        except (StopIteration, OverflowError):
            return None
        return due if due < civil.LAST else None

    def describe(self) -> str:
        return f"{self.parsed.explain()}, {words.place_time(self.timezone)} (cron {self.expression})"
