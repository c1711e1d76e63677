"""A calendar's own rule (RFC 5545): DTSTART, RRULE and EXDATE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time
from typing import Any, ClassVar, Self

from schedules.rules import civil, fields, rrule_text, words
from schedules.rules.invalid import InvalidRule
from schedules.rules.rule import CivilRule

_UNITS = {
    "YEARLY": "year",
    "MONTHLY": "month",
    "WEEKLY": "week",
    "DAILY": "day",
    "HOURLY": "hour",
    "MINUTELY": "minute",
}


@dataclass(frozen=True)
class RRule(CivilRule):
    """`text` is canonical: one line each for DTSTART (local), RRULE and, if any, EXDATE."""

    kind: ClassVar[str] = "rrule"
    label: ClassVar[str] = "Calendar rule (RRULE)"
    parameters: ClassVar[tuple[str, ...]] = ("rule",)

    text: str
    said: rrule_text.CalendarText = field(compare=False, repr=False)

    @classmethod
    def read(cls, data: Mapping[str, Any], timezone: str) -> Self:
        said = rrule_text.read(fields.text(data, "rule", 5_000, rrule_text.EXAMPLE), timezone)
        rule = cls(timezone, said.canonical, said)
        if rule.next_civil(civil.FIRST) is None:
            raise InvalidRule(
                "rule", f"This rule never fires: no such date comes within 400 years. {rrule_text.EXAMPLE}"
            )
        return rule

    def data(self) -> dict[str, Any]:
        return {"rule": self.text}

    def next_civil(self, after: datetime) -> datetime | None:
        said = self.said
        while True:
            due = next(said.rule.after(after), None)
            if due is None or (said.until is not None and due > said.until):
                return None
            if due.date() in said.excluded_days:
                after = datetime.combine(due, time.max)
            elif due in said.excluded:
                after = due
            else:
                return due

    def describe(self) -> str:
        rule = self.said.rule
        unit = _UNITS[rule.frequency]
        often = f"Every {unit}" if rule.interval == 1 else f"Every {rule.interval} {unit}s"
        start = f"{words.day(rule.start)} {words.clock(rule.start)} {words.place_time(self.timezone)}"
        return f"{often} by the calendar rule {self.text.splitlines()[1]}, from {start}"
