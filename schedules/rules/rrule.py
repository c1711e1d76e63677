"""A calendar's own rule (RFC 5545): DTSTART, RRULE and EXDATE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Self

from django.utils.translation import gettext as _

from schedules.rules import civil, fields, repetition, rrule_text, words
from schedules.rules.calendar_rule import CalendarRule
from schedules.rules.invalid import InvalidRule, Work
from schedules.rules.rule import CivilRule

_UNITS = repetition.UNITS | {"HOURLY": "hour", "MINUTELY": "minute"}


@dataclass(frozen=True)
class RRule(CivilRule):
    """`text` is canonical: one line each for DTSTART (local), RRULE and, if any, EXDATE."""

    kind: ClassVar[str] = "rrule"
    parameters: ClassVar[tuple[str, ...]] = ("rule",)

    text: str
    calendar_rule: CalendarRule = field(compare=False, repr=False)

    @classmethod
    def read(cls, data: Mapping[str, Any], timezone: str) -> Self:
        work = Work()
        calendar_rule, text = rrule_text.read(fields.text(data, "rule", 5_000, rrule_text.EXAMPLE), timezone, work)
        rule = cls(timezone, text, calendar_rule)
        if rule.next_civil(civil.FIRST, work) is None:
            raise InvalidRule(
                "rule",
                _("This rule never rings: no such date comes before the year %(year)s. %(example)s")
                % {"year": civil.LAST.year, "example": rrule_text.EXAMPLE},
            )
        return rule

    def data(self) -> dict[str, Any]:
        return {"rule": self.text}

    def next_civil(self, after: datetime, work: Work) -> datetime | None:
        return next(self.calendar_rule.after(after, work), None)

    def describe(self, readers: bool = False) -> str:
        rule = self.calendar_rule
        if (repeats := repetition.of(rule)) is not None:
            said = words.in_zone(repeats.describe(), self.timezone, readers)
            return _("%(rule)s, from %(day)s") % {"rule": said, "day": words.day(rule.start)}
        return _("%(rule)s by the calendar rule %(text)s, from %(day)s %(time)s %(zone)s") % {
            "rule": words.every(rule.interval, _UNITS[rule.frequency]),
            "text": self.text.splitlines()[1],
            "day": words.day(rule.start),
            "time": words.clock(rule.start),
            "zone": words.zone_time(self.timezone),
        }
