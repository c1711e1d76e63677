"""Cron expressions of five fields: Vixie's syntax, and Debian's treatment of clock changes."""

import re
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any, ClassVar, Self

from cronsim import CronSim, CronSimError
from cronsim.explain import Expression
from django.utils.translation import get_language, gettext as _

from schedules.rules import civil, cron_text, fields, words
from schedules.rules.invalid import InvalidRule, Work
from schedules.rules.rule import CivilRule, ClockChange

# Any start will do: the calendar repeats, and cronsim looks fifty years ahead.
_REACH_FROM = datetime(2000, 1, 1)  # noqa: DTZ001 - civil
_REACH_DAYS = 50 * 365
_DAY = timedelta(days=1)

_NUMBERS, _TIMES = re.compile(r"\d+(,\d+)*"), re.compile(r"\d+ \d+(,\d+)*")
_OFTEN = re.compile(r"(?P<minute>\*(?:/\d+)?) \*|0 (?P<hour>\*(?:/\d+)?)")


@dataclass(frozen=True)
class Cron(CivilRule):
    """`expression` in five fields or a shorthand such as @daily, as typed but for spaces.

    If its minute or hour starts with a star, it `is_elapsed`: it fires whenever the clock shows one of its times.
    cronsim gets civil times without a zone, so that its own treatment of clock changes (docs/time.md) does not apply.
    """

    kind: ClassVar[str] = "cron"
    parameters: ClassVar[tuple[str, ...]] = ("expression",)

    expression: str
    # Parsed once: a parse costs more than the search for the next slot.
    parsed: CronSim = field(compare=False, repr=False)
    described: tuple[str, ...] = field(compare=False, repr=False)

    @classmethod
    def read(cls, data: Mapping[str, Any], timezone: str) -> Self:
        text = cron_text.read(fields.text(data, "expression", 200, "cron"))
        try:
            parsed = CronSim(" ".join(text.fields), _REACH_FROM)
        except CronSimError as error:
            raise cron_text.bad(str(error).removeprefix("Bad "), text.canonical) from None
        rule = cls(timezone, text.canonical, parsed, text.described)
        if rule.next_civil(_REACH_FROM, Work()) is None:
            raise InvalidRule("expression", "cron_never", canonical=text.canonical)
        return rule

    def data(self) -> dict[str, Any]:
        return {"expression": self.expression}

    @property
    def is_elapsed(self) -> bool:
        return self.parsed.parts[1].startswith("*") or self.parsed.parts[2].startswith("*")

    def next_after(self, instant: datetime, work: Work | None = None) -> datetime | None:
        if not self.is_elapsed:
            return super().next_after(instant, work)
        if instant.tzinfo is None:
            raise ValueError("next_after() needs an aware datetime")
        return self._next_shown(instant, work or Work()) if instant < civil.LAST_INSTANT else None

    def _next_shown(self, instant: datetime, work: Work) -> datetime | None:
        """The first instant after `instant` at which the clock shows a time of the rule.

        Times in a gap are left out; in a repeated hour both count.
        """
        zone, instant = self.zone, max(instant, civil.FIRST_INSTANT).astimezone(UTC)
        here = instant.astimezone(zone)
        shown = here.replace(tzinfo=None, fold=0)
        if (due := self.next_civil(shown, work)) is not None and due - shown < _DAY:
            slot = instant + (due - shown)
            if slot.astimezone(zone).utcoffset() == here.utcoffset():
                return slot  # no clock is changed within hours of the last change
        again = civil.turned_back_over(zone, instant)
        if again is not None and (due is None or instant + (due - shown) >= again):
            due = self.next_civil(civil.local(zone, again) - civil.TICK, work)
        while due is not None:
            if (slot := civil.first_instant(zone, due)) <= instant:
                slot = due.replace(tzinfo=zone, fold=1).astimezone(UTC)
            if (shown := civil.local(zone, slot)) == due:
                return slot
            due = self.next_civil(shown - civil.TICK, work)  # the clock skips it
        return None

    def next_civil(self, after: datetime, work: Work) -> datetime | None:
        search = copy(self.parsed)
        search.dt = after.replace(microsecond=0)
        try:
            due: datetime = next(search)
        except (StopIteration, OverflowError):
            work.spend(_REACH_DAYS, "expression")
            return None
        work.spend(1 + (due - after).days // 2, "expression")
        return due if due < civil.LAST else None

    def brief(self) -> str:
        return explain(self.described, self.parsed.day_and)

    def describe(self, readers: bool = False) -> str:
        return _("%(rule)s (cron %(expression)s)") % {"rule": super().describe(readers), "expression": self.expression}

    def clock_change(self, slot: datetime) -> ClockChange | None:
        if not self.is_elapsed:
            return super().clock_change(slot)
        if not civil.FIRST_INSTANT < slot < civil.LAST_INSTANT:
            return None
        shown = civil.local(self.zone, slot)
        return ClockChange("both", [shown], shown, self.timezone) if civil.happens_twice(self.zone, shown) else None


def explain(described: Sequence[str], day_and: bool) -> str:
    """The five fields `described`. `day_and`: day of month and day of week must both match."""
    if not (get_language() or "en").startswith("en"):
        return _common(*described) or _("By a cron expression")
    expression = Expression(["0", *described])
    expression.day_and = day_and
    return re.sub(r"\b(\d+)th\b", lambda match: words.ordinal(int(match[1])), expression.explain())


def _common(minute: str, hour: str, day: str, month: str, weekday: str) -> str:
    """ "" for one that is not common."""
    if month != "*":
        return ""
    if _TIMES.fullmatch(f"{minute} {hour}"):
        times = [f"{time(int(one), int(minute)):%H:%M}" for one in hour.split(",")]
        days = _days(day, weekday)
        return words.at(days, *times) if days else ""
    if (day, weekday) != ("*", "*"):
        return ""
    if not (match := _OFTEN.fullmatch(f"{minute} {hour}")):
        return ""
    unit = str(match.lastgroup)
    return words.every(int(match[unit][2:] or 1), unit)


def _days(day: str, weekday: str) -> str:
    if weekday != "*":
        weekday = "1,2,3,4,5" if weekday == "1-5" else weekday
        if day != "*" or not _NUMBERS.fullmatch(weekday):
            return ""
        # Here 0 and 7 are Sunday.
        return words.each(sorted({(int(number) - 1) % 7 for number in weekday.split(",")}))
    if day == "*":
        return words.every(1, "day")
    number = -1 if day == "L" else day.isdigit() and int(day)
    return words.monthly(1, words.day_of_month(number)) if number else ""
