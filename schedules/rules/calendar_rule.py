"""The RRULE of RFC 5545, section 3.3.10: its parts, and the civil times that it yields, within a bound.

dateutil evaluates the same rules, and the tests hold the two against each other. It is not used here because it
walks from DTSTART at every question (FREQ=MINUTELY over six years: 8 s) and gives up at the year 9999 only.
"""

from __future__ import annotations

from calendar import isleap, monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cached_property

# A rule whose next slot is further away than this many years (one full cycle of the calendar) has none; and
# no search looks at more days or times of day than the budget, which is a fifth of a second's work.
_HORIZON = 400
_BUDGET = 200_000
_DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)
_COARSE = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY")


@dataclass(frozen=True)
class CalendarRule:
    """One RRULE with its DTSTART (`start`, naive). Empty tuples stand for parts not given.

    `days` are BYDAY as (n, weekday), n = 0 for every such weekday. `week_start` is WKST. Values are sorted and
    in range: `rrule_text` sees to that.
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

    def after(self, civil: datetime) -> Iterator[datetime]:
        """The civil times of the rule strictly after `civil`, in order, none before `start`, up to the bound."""
        spent = 0
        begin = max(civil, self.start - timedelta(microseconds=1))
        limit = date(min(begin.year + _HORIZON, 9999), 1, 1)
        for period in self._periods(begin.date()):
            if period[0] >= limit:
                return
            matching = [day for day in period if self._has_day(day)]
            spent += len(period) + len(matching) * len(self._clock)
            found = (datetime.combine(day, at) for day in matching for at in self._times(day))
            for due in self._at_positions(list(found)) if self.positions else found:
                if due > begin:
                    spent = 0
                    yield due
            if spent > _BUDGET:
                return

    def _periods(self, first: date) -> Iterator[list[date]]:
        """The days of each period, from the one that holds `first` or the next that the interval allows."""
        start = self.start.date()
        if self.frequency == "YEARLY":
            behind = max(0, first.year - start.year)
            for year in range(start.year + behind // self.interval * self.interval, 9999, self.interval):
                yield [day for month in self._year_months for day in _month(year, month)]
        elif self.frequency == "MONTHLY":
            origin = start.year * 12 + start.month - 1
            behind = max(0, first.year * 12 + first.month - 1 - origin)
            for number in range(origin + behind // self.interval * self.interval, 9999 * 12, self.interval):
                yield _month(number // 12, number % 12 + 1)
        else:
            # The finer frequencies go day by day; `_times` keeps their interval.
            length = 7 if self.frequency == "WEEKLY" else 1
            step = length * (self.interval if self.frequency in _COARSE else 1)
            origin_day = start - (start.weekday() - self.week_start) % length * _DAY
            behind = max(0, (first - origin_day).days)
            begin = origin_day + behind // step * step * _DAY
            while begin.year < 9999:
                yield [begin + number * _DAY for number in range(length)]
                begin += step * _DAY

    def _has_day(self, day: date) -> bool:
        if self.months and day.month not in self.months:
            return False
        if self._month_days:
            length = monthrange(day.year, day.month)[1]
            if day.day not in self._month_days and day.day - length - 1 not in self._month_days:
                return False
        if self.year_days:
            number, length = day.timetuple().tm_yday, 365 + isleap(day.year)
            if number not in self.year_days and number - length - 1 not in self.year_days:
                return False
        return not self._days or any(self._is_weekday(day, n, weekday) for n, weekday in self._days)

    def _is_weekday(self, day: date, n: int, weekday: int) -> bool:
        """Whether `day` is that weekday: any (n = 0), or the n-th of its month or year (negative: from its end)."""
        if day.weekday() != weekday:
            return False
        if n == 0:
            return True
        if self.frequency == "MONTHLY" or self.months:
            number, length = day.day, monthrange(day.year, day.month)[1]
        else:
            number, length = day.timetuple().tm_yday, 365 + isleap(day.year)
        return n == ((number - 1) // 7 + 1 if n > 0 else -((length - number) // 7 + 1))

    def _times(self, day: date) -> tuple[time, ...] | list[time]:
        if self.frequency in _COARSE or self.interval == 1:
            return self._clock
        # Minutes, or hours, since the one of DTSTART must be whole multiples of the interval.
        unit = 60 if self.frequency == "HOURLY" else 1
        origin = self.start.replace(minute=0) if unit == 60 else self.start
        behind = (datetime.combine(day, time(0, 0, self.start.second)) - origin) // _MINUTE // unit
        return [at for at in self._clock if (behind + (at.hour * 60 + at.minute) // unit) % self.interval == 0]

    def _at_positions(self, found: list[datetime]) -> list[datetime]:
        count = len(found)
        picked = {place - 1 if place > 0 else count + place for place in self.positions}
        return [found[place] for place in sorted(picked) if 0 <= place < count]

    # What the rule leaves out comes from DTSTART (RFC 5545: "missing information is derived from DTSTART").

    @cached_property
    def _days(self) -> tuple[tuple[int, int], ...]:
        if self.frequency == "WEEKLY" and not self.days:
            return ((0, self.start.weekday()),)
        return self.days

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
        return self.months or ((self.start.month,) if self._names_no_day else tuple(range(1, 13)))

    @cached_property
    def _clock(self) -> tuple[time, ...]:
        """All times of day that BYHOUR and BYMINUTE, or DTSTART in their place, allow."""
        hours = self.hours or (range(24) if self.frequency in ("HOURLY", "MINUTELY") else (self.start.hour,))
        minutes = self.minutes or (range(60) if self.frequency == "MINUTELY" else (self.start.minute,))
        return tuple(time(hour, minute, self.start.second) for hour in hours for minute in minutes)


def _month(year: int, month: int) -> list[date]:
    return [date(year, month, day) for day in range(1, monthrange(year, month)[1] + 1)]
