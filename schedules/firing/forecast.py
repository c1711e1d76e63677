"""The next times of a schedule: the one place that says it to people and programs, as firing will decide it.

A slot that a holiday keeps silent does not count towards the maximum.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, islice, repeat
from math import inf
from typing import NamedTuple
from zoneinfo import ZoneInfo

from common.times import civil_time
from schedules.firing.holidays import Holidays, Span
from schedules.models import Schedule
from schedules.parts import slots, words
from schedules.parts.slots import Slots
from schedules.rules import Timetable, Work, civil
from schedules.rules.interval import Interval

# What comes more often on a day is given as several times together; they are counted up to `_COUNTED` a day.
_LISTED = 4
_COUNTED = 24
# One search for a time, beside what the rule itself spends.
_SEARCH = 10
_DAY = timedelta(days=1)


Silent = Callable[[datetime], Span | None]
"""The holiday that keeps a slot silent, if any."""


class Coming(NamedTuple):
    slot: datetime
    holiday: Span | None
    """Of its person, if it keeps the slot silent."""

    def note(self, timetable: Timetable, work: Work, quiet: str = "") -> str:
        """Return the effect of a clock change, and of a holiday or else quiet hours (`quiet`), without a final dot."""
        silent = quiet if self.holiday is None else self.holiday.text
        return ". ".join(filter(None, (words.clock_note(timetable, self.slot, work), silent)))


class Several(NamedTuple):
    """Several times of one day; `has_more`: `number` is only the least number."""

    last: datetime
    number: int
    has_more: bool


Times = tuple[datetime, Several | None]
"""The times of a schedule on one day: its first time, and what is known of the others."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """`first` is the slot that fires next, where that is decided."""

    coming: Slots
    silent: Silent
    first: datetime | None = None

    def after(
        self,
        instant: datetime = civil.FIRST_INSTANT,
        work: Work | None = None,
        leap: datetime = civil.FIRST_INSTANT,
        now: datetime = civil.FIRST_INSTANT,
    ) -> Iterator[Coming]:
        """The slots after `instant` or from `first` on, in order.

        Before `leap`, only the first of a holiday. Before `now`, only the first of all: what is overdue fires once.
        Raises InvalidRule where they cost more than `work` has left.
        """
        unlimited = replace(self.coming, left=None)
        left = inf if self.coming.left is None else self.coming.left
        upcoming = unlimited.after(instant if self.first is None else self.first, work)
        if self.first is not None and self.first not in self.coming.settled:
            upcoming = chain([self.first], upcoming)
        while left > 0:
            if (slot := next(upcoming, None)) is None:
                return
            holiday = self.silent(slot)
            yield Coming(slot, holiday)
            left -= holiday is None
            if holiday is not None and slot < leap:
                upcoming = unlimited.after(max(slot, holiday.ends - civil.TICK), work)
            elif slot < now:
                upcoming = unlimited.after(now, work)

    def upcoming(self, instant: datetime, count: int, work: Work | None = None) -> list[Coming]:
        """Up to `count` of them after `instant`, or from `first` on."""
        return list(islice(self.after(instant, work), count))

    def by_day(self, begin: datetime, end: datetime, zone: ZoneInfo, work: Work) -> Iterator[Times]:
        """From its next time, or `begin`, to `end`, by the days of `zone`. Costs no search for each where it can.

        Raises InvalidRule where it costs more than `work` has left.
        """
        first, rule = self.first or begin, self.coming.timetable.rule
        is_plain = self.coming.left is None and not self.coming.timetable.excluded
        if self.coming.left is None and (slots := self._of_dates(max(begin, first), end, work)) is not None:
            return zip(slots, repeat(None))
        if is_plain and isinstance(rule, Interval) and rule.step * _LISTED < _DAY:
            return self._of_interval(rule.step, max(begin, first), end, zone, work)
        return self._searched(begin, end, zone, work)

    def _of_dates(self, begin: datetime, end: datetime, work: Work) -> list[datetime] | None:
        timetable, days = self.coming.timetable, (end - begin) // _DAY
        begin = max(edge for edge in (begin, timetable.starts, self.coming.snoozed_until) if edge is not None)
        if timetable.ends is not None:
            end = min(end, timetable.ends + civil.TICK)
        if (slots := timetable.rule.between(begin, end)) is None:
            return None
        work.spend(_SEARCH + days // 2)
        if timetable.excluded:
            zone = timetable.rule.zone
            slots = [slot for slot in slots if civil.local(zone, slot).date() not in timetable.excluded]
        return [slot for slot in slots if slot not in self.coming.settled]

    def _of_interval(
        self, step: timedelta, begin: datetime, end: datetime, zone: ZoneInfo, work: Work
    ) -> Iterator[Times]:
        first = self.coming.next_after(begin - civil.TICK, work)
        while first is not None and first < end:
            work.spend(_SEARCH)
            next_day, ends = _next_day(first, zone), self.coming.timetable.ends
            until = next_day - civil.TICK if ends is None else min(next_day - civil.TICK, ends)
            number = (until - first) // step + 1
            yield first, Several(first + (number - 1) * step, number, False) if number > 1 else None
            first = self.coming.next_after(next_day - civil.TICK, work)

    def _searched(self, begin: datetime, end: datetime, zone: ZoneInfo, work: Work) -> Iterator[Times]:
        # One with a maximum is counted from its next slot on.
        counted = self.coming.left is not None
        whole, most = (self, inf) if counted else (replace(self, first=None), _COUNTED)
        upcoming = whole._paid(max(begin, self.first or begin), work, leap=begin)
        slot = next((slot for slot in upcoming if slot >= begin), None)
        while slot is not None and slot < end:
            next_day = _next_day(slot, zone)
            of_day, slot = _of_day(slot, upcoming, next_day, most)
            has_more = slot is not None and slot < next_day
            if has_more:
                upcoming = whole._paid(next_day, work)
                slot = next(upcoming, None)
            if len(of_day) > _LISTED:
                yield of_day[0], Several(of_day[-1], len(of_day) - has_more, has_more)
            else:
                yield from zip(of_day, repeat(None))

    def _paid(self, since: datetime, work: Work, leap: datetime = civil.FIRST_INSTANT) -> Iterator[datetime]:
        """The slots from `since` on; each costs a search."""
        for slot, _ in self.after(since - civil.TICK, work, leap=leap):
            work.spend(_SEARCH)
            yield slot


def of(schedule: Schedule, now: datetime, silent: Holidays, taken: Collection[datetime] | None = None) -> Forecast:
    """Of a new schedule or one with a next slot. `taken`: its slots after `now` with an occurrence (None: read here).

    Raises InvalidRule for an unreadable rule.
    """
    return Forecast(slots.of(schedule, now, taken), partial(silent.of_slot, schedule), schedule.next_fire_at)


def _of_day(
    first: datetime, following: Iterator[datetime], next_day: datetime, most: float
) -> tuple[list[datetime], datetime | None]:
    """The slots before `next_day`, up to one more than `most`, and the slot after these."""
    slots = [first]
    for slot in following:
        if slot >= next_day or len(slots) > most:
            return slots, slot
        slots.append(slot)
    return slots, None


def _next_day(instant: datetime, zone: ZoneInfo) -> datetime:
    return civil_time.begin_of(civil.local(zone, instant).date() + _DAY, zone)
