"""A calendar's own rule (RFC 5545): DTSTART, RRULE, RDATE, EXDATE, and how long before."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar, Self

from django.utils.translation import gettext as _, ngettext

from common.times import durations
from schedules.rules import civil, fields, repetition, rrule_text, words
from schedules.rules.calendar_rule import CalendarRule
from schedules.rules.invalid import InvalidRule, Work
from schedules.rules.rule import CivilRule, ClockChange

_NONE = timedelta(0)
_UNITS = repetition.UNITS | {"HOURLY": "hour", "MINUTELY": "minute"}


@dataclass(frozen=True)
class RRule(CivilRule):
    """`text` is canonical: one line each for DTSTART (local), each RRULE and, if any, RDATE, EXDATE and TRIGGER."""

    kind: ClassVar[str] = "rrule"
    parameters: ClassVar[tuple[str, ...]] = ("rule",)

    text: str
    calendar_rule: CalendarRule = field(compare=False, repr=False)

    @classmethod
    def read(cls, data: Mapping[str, Any], timezone: str) -> Self:
        work = Work()
        calendar_rule, text = rrule_text.read(fields.text(data, "rule", rrule_text.LONGEST, "rrule"), timezone, work)
        rule = cls(timezone, text, calendar_rule)
        if rule.next_civil(civil.FIRST, work) is None:
            raise InvalidRule("rule", "rrule_never", year=civil.LAST.year)
        return rule

    def data(self) -> dict[str, Any]:
        return {"rule": self.text}

    def next_after(self, instant: datetime, work: Work | None = None) -> datetime | None:
        if not (early := self.calendar_rule.early):
            return super().next_after(instant, work)
        instant = min(max(instant, civil.FIRST_INSTANT), civil.LAST_INSTANT - abs(early))
        due = super().next_after(instant + early, work)
        return None if due is None else due - early

    def next_civil(self, after: datetime, work: Work) -> datetime | None:
        return next(self.calendar_rule.after(after, work), None)

    def clock_change(self, slot: datetime) -> ClockChange | None:
        return None if self.calendar_rule.early else super().clock_change(slot)

    def brief(self) -> str:
        rule = self.calendar_rule
        if rule.dates or rule.ahead or rule.early or (repeats := _repeats(rule)) is None:
            return self.describe()
        return _limited(rule, repeats)

    def describe(self, readers: bool = False) -> str:
        rule = self.calendar_rule
        text = self._described(rule, readers)
        if rule.dates:
            more = ngettext(
                "%(rule)s, and on %(count)s more date", "%(rule)s, and on %(count)s more dates", len(rule.dates)
            )
            text = more % {"rule": text, "count": len(rule.dates)}
        if not (before := rule.ahead + rule.early):
            return text
        words_of = _("%(length)s before: %(rule)s") if before > _NONE else _("%(length)s after: %(rule)s")
        return words_of % {"length": durations.in_words(abs(before)), "rule": text}

    def _described(self, rule: CalendarRule, readers: bool) -> str:
        if (repeats := _repeats(rule)) is not None:
            text = words.in_zone(repeats, self.timezone, readers)
            return _limited(rule, _("%(rule)s, from %(day)s") % {"rule": text, "day": words.day(rule.start)})
        begins = {"day": words.day(rule.start), "time": words.clock(rule.start), "zone": words.zone_time(self.timezone)}
        if rule.until == rule.start:
            return _("On %(day)s at %(time)s %(zone)s") % begins
        lines = [line for line in self.text.splitlines() if line.startswith("RRULE")]
        return _("%(rule)s by the calendar rule %(text)s, from %(day)s %(time)s %(zone)s") % {
            "rule": words.every(rule.interval, _UNITS[rule.frequency]),
            "text": " ".join(lines),
            **begins,
        }


def _repeats(rule: CalendarRule) -> str | None:
    """Its RRULEs in words; None if one of them has none."""
    texts = []
    for one in (rule, *rule.also):
        forever = replace(
            one, until=civil.LAST, also=(), dates=(), ahead=_NONE, early=_NONE, excluded=frozenset(),
            excluded_days=frozenset(),
        )  # fmt: skip
        if rule.until == rule.start or (repeats := repetition.of(forever)) is None:
            return None
        text = repeats.describe()
        if one.until < civil.LAST:
            text = _("%(rule)s until %(day)s") % {"rule": text, "day": words.day(one.until)}
        texts.append(text)
    return "; ".join(texts)


def _limited(rule: CalendarRule, text: str) -> str:
    """With the number of its EXDATEs."""
    if not (count := len(rule.excluded) + len(rule.excluded_days)):
        return text
    less = ngettext("%(rule)s, without %(count)s date", "%(rule)s, without %(count)s dates", count)
    return less % {"rule": text, "count": count}
