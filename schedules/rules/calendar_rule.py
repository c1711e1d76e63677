"""The RRULE of RFC 5545, section 3.3.10: its parts, and its civil times, within a budget of work.

The tests compare it with dateutil, which is too slow here: it walks from DTSTART for every slot (FREQ=MINUTELY over six
years: 8 s), and stops at the year 9999 only.
"""

from __future__ import annotations

from bisect import bisect_right
from calendar import isleap, monthrange
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from functools import cached_property
from heapq import merge
from itertools import groupby
from typing import Any

from schedules.rules import civil
from schedules.rules.invalid import Work

_COARSE = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY")


@dataclass(frozen=True)
class CalendarRule:
    """One RRULE with its DTSTART (`start`, naive). Empty tuples stand for parts not given.

    `days` are BYDAY as (n, weekday), n = 0 for every such weekday. `week_start` is WKST. Values are sorted and
    in range, as `rrule_text` has checked. `until` is inclusive. `also` are more RRULEs of the same DTSTART, `dates` the
    RDATEs; `ahead` is how long before all these times it fires, on the clock; `early` how much time before that.
    """

    start: datetime
    frequency: str
    interval: int = 1
    months: tuple[int, ...] = ()
    month_days: tuple[int, ...] = ()
    year_days: tuple[int, ...] = ()
    days: tuple[tuple[int, int], ...] = ()
    hours: tuple[int, ...] = ()
    minutes: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()
    week_start: int = 0
    until: datetime = civil.LAST
    excluded: frozenset[datetime] = frozenset()
    excluded_days: frozenset[date] = frozenset()
    also: tuple[CalendarRule, ...] = ()
    dates: tuple[datetime, ...] = ()
    ahead: timedelta = timedelta(0)
    early: timedelta = timedelta(0)
    # The days of a rule in a month depend on its number, first weekday and leap year alone: there are at most 168 keys.
    _days_by_month: dict[tuple[int, int, bool], tuple[int, ...]] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )

    def after(self, moment: datetime, work: Work) -> Iterator[datetime]:
        """The civil times strictly after `moment`, in order. It fires `early` before them."""
        since = min(moment + self.ahead, civil.LAST)
        begin = max(since, self.start - civil.TICK)
        if not self.also and not self.dates:
            times = self.of_rule(begin, work)
        else:
            rules = (rule.of_rule(begin, work) for rule in (self, *self.also))
            times = (due for due, _ in groupby(merge(self.dates[bisect_right(self.dates, since) :], *rules)))
        for due in times:
            if due not in self.excluded and due.date() not in self.excluded_days:
                yield due - self.ahead

    def of_rule(self, begin: datetime, work: Work) -> Iterator[datetime]:
        """The times of this RRULE alone after `begin`."""
        for due in self._by_position(begin, work) if self._period_positions else self._by_day(begin, work):
            if due > self.until:
                return
            work.spend(1)
            if due > begin:
                yield due

    def explicit(self) -> CalendarRule:
        """The same rule, with the days that follow from DTSTART written out."""
        if self.frequency == "WEEKLY":
            return replace(self, days=tuple(sorted(self._weekdays)))
        if self.frequency == "YEARLY":
            return replace(self, month_days=self._month_days, months=self._year_months)
        return replace(self, month_days=self._month_days)

    def _by_day(self, begin: datetime, work: Work) -> Iterator[datetime]:
        first = max(begin.date(), self.start.date())
        for day in self._days_from(first, work):
            times = self._times(day)
            if day in self.excluded_days:
                continue
            if day == begin.date():
                times = times[bisect_right(times, begin.time()) :]
            for at in times:
                yield datetime.combine(day, at)

    def _by_position(self, begin: datetime, work: Work) -> Iterator[datetime]:
        """BYSETPOS: of each period, the times at these positions."""
        clock = self._clock
        for _, group in groupby(self._days_from(self._period_start(begin), work), self._period):
            days = list(group)
            count = len(days) * len(clock)
            work.spend(len(self.positions))
            for index in _indexes(self._period_positions, count):
                if (day := days[index // len(clock)]) not in self.excluded_days:
                    yield datetime.combine(day, clock[index % len(clock)])

    def _period(self, day: date) -> int:
        if self.frequency == "WEEKLY":
            return (day.toordinal() - self._step_origin) // 7
        return day.year if self.frequency == "YEARLY" else day.year * 12 + day.month

    def _period_start(self, begin: datetime) -> date:
        day = max(begin.date(), self.start.date())
        if self.frequency == "WEEKLY":
            return date.fromordinal(day.toordinal() - (day.toordinal() - self._step_origin) % 7)
        return day.replace(day=1) if self.frequency == "MONTHLY" else day.replace(month=1, day=1)

    def _days_from(self, first: date, work: Work) -> Iterator[date]:
        """The days of the rule from `first` on."""
        # Read a period that has begun to its end: BYSETPOS may count from there.
        earliest, last = first.toordinal(), self.until.toordinal() + (366 if self._period_positions else 0)
        origin = self._step_origin
        length = 7 if self.frequency == "WEEKLY" else 1
        # Of the other frequencies, `_months_from` and `_times` keep the interval.
        interval = self.interval if self.frequency in ("WEEKLY", "DAILY") else 1
        for year, month in self._months_from(first):
            begin = date(year, month, 1)
            before = begin.toordinal() - 1
            if before >= last:
                return
            days = self._days_in(begin)
            work.spend(1 + len(days) // 8)
            for number in days:
                ordinal = before + number
                if ordinal >= earliest and (ordinal - origin) // length % interval == 0:
                    work.spend(1)
                    yield date(year, month, number)

    def _months_from(self, first: date) -> Iterator[tuple[int, int]]:
        """The months (year, month) in which days of the rule may lie, from that of `first` to the end of 9998."""
        start, earliest = self.start, first.year * 12 + first.month - 1
        if self.frequency == "YEARLY":
            behind = -(-(first.year - start.year) // self.interval) * self.interval
            for year in range(start.year + behind, civil.LAST.year, self.interval):
                for month in self._year_months:
                    if year * 12 + month > earliest:
                        yield year, month
            return
        step = self.interval if self.frequency == "MONTHLY" else 1
        earliest += (start.year * 12 + start.month - 1 - earliest) % step
        for number in range(earliest, civil.LAST.year * 12, step):
            yield number // 12, number % 12 + 1

    def _days_in(self, begin: date) -> tuple[int, ...]:
        """The days of the rule in the month of which `begin` is the first day, whatever the interval."""
        months, key = self._days_by_month, (begin.month, begin.weekday(), isleap(begin.year))
        if key not in months:
            months[key] = tuple(self._find_days(begin))
        return months[key]

    def _find_days(self, begin: date) -> Iterable[int]:
        if self.months and begin.month not in self.months:
            return ()
        length = monthrange(begin.year, begin.month)[1]
        days: Iterable[int] = range(1, length + 1)
        before, year = begin.timetuple().tm_yday - 1, 365 + isleap(begin.year)
        if self._month_days:
            days = _numbered(days, self._month_days, 0, length)
        if self.year_days:
            days = _numbered(days, self.year_days, before, year)
        if not self._weekdays:
            return days
        # 2MO and -1FR count in the year, or in the month.
        within = (0, length) if self.frequency == "MONTHLY" or self.months else (before, year)
        return [day for day in days if self._is_weekday(day, (begin.weekday() + day - 1) % 7, *within)]

    def _is_weekday(self, day: int, weekday: int, before: int, length: int) -> bool:
        named, number = self._weekdays, before + day
        return (
            (0, weekday) in named
            or ((number - 1) // 7 + 1, weekday) in named
            or (-((length - number) // 7 + 1), weekday) in named
        )

    def _times(self, day: date) -> Sequence[time]:
        if self.frequency in _COARSE or self.interval == 1:
            return self._clock
        # Minutes, or hours, since the one of DTSTART must be whole multiples of the interval.
        per_day = 24 if self.frequency == "HOURLY" else 24 * 60
        passed = (day - self.start.date()).days * per_day - self._unit_of_day(self.start.time())
        return self._clock_by_remainder.get(-passed % self.interval, ())

    def _unit_of_day(self, at: time) -> int:
        return at.hour if self.frequency == "HOURLY" else at.hour * 60 + at.minute

    @cached_property
    def _clock_by_remainder(self) -> Mapping[int, Sequence[time]]:
        times: dict[int, list[time]] = defaultdict(list)
        for at in self._clock:
            times[self._unit_of_day(at) % self.interval].append(at)
        return times

    @cached_property
    def _period_positions(self) -> tuple[int, ...]:
        # Within a day or an hour, `_clock` applies them: the times to choose from are always the same.
        return self.positions if self.frequency in ("YEARLY", "MONTHLY", "WEEKLY") else ()

    @cached_property
    def _step_origin(self) -> int:
        """The first day from which DAILY and WEEKLY count, as an ordinal."""
        start = self.start.date()
        back = (start.weekday() - self.week_start) % 7 if self.frequency == "WEEKLY" else 0
        return start.toordinal() - back

    # RFC 5545: "missing information is derived from DTSTART".

    @cached_property
    def _weekdays(self) -> frozenset[tuple[int, int]]:
        if self.frequency == "WEEKLY" and not self.days:
            return frozenset({(0, self.start.weekday())})
        return frozenset(self.days)

    @cached_property
    def _names_no_day(self) -> bool:
        return not (self.month_days or self.year_days or self.days)

    @cached_property
    def _month_days(self) -> tuple[int, ...]:
        if self.frequency in ("YEARLY", "MONTHLY") and self._names_no_day:
            return (self.start.day,)
        return self.month_days

    @cached_property
    def _year_months(self) -> tuple[int, ...]:
        # Calendars write a birthday on 7 March as BYMONTHDAY=7 alone. To the RFC that is every month.
        is_birthday = self.month_days == (self.start.day,) and not (self.year_days or self.days)
        return self.months or ((self.start.month,) if self._names_no_day or is_birthday else tuple(range(1, 13)))

    @cached_property
    def _clock(self) -> Sequence[time]:
        """All times of day that BYHOUR and BYMINUTE, or else DTSTART, allow."""
        hours = self.hours or (range(24) if self.frequency in ("HOURLY", "MINUTELY") else (self.start.hour,))
        minutes: Sequence[int] = self.minutes or (range(60) if self.frequency == "MINUTELY" else (self.start.minute,))
        if self.frequency == "HOURLY":
            minutes = _chosen(minutes, self.positions)
        clock = tuple(time(hour, minute, self.start.second) for hour in hours for minute in minutes)
        return _chosen(clock, self.positions) if self.frequency == "DAILY" else clock


def _numbered(days: Iterable[int], numbers: tuple[int, ...], before: int, length: int) -> list[int]:
    """The days with these numbers in a month or year of `length` days, `before` of which come before day 1."""
    return [day for day in days if before + day in numbers or before + day - length - 1 in numbers]


def _chosen(values: Sequence[Any], positions: tuple[int, ...]) -> Sequence[Any]:
    """The values at the positions of BYSETPOS, if it is given."""
    return [values[index] for index in _indexes(positions, len(values))] if positions else values


def _indexes(positions: tuple[int, ...], count: int) -> list[int]:
    """The indexes, of `count` things, that BYSETPOS means."""
    indexes = {position - 1 if position > 0 else count + position for position in positions}
    return sorted(index for index in indexes if 0 <= index < count)
