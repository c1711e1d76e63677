"""The values of pieces: days as they are written, the dates that they mean, and times of day."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Any

from dateutil.easter import EASTER_ORTHODOX, EASTER_WESTERN, easter
from dateutil.relativedelta import relativedelta

from schedules.rules.civil import TICK
from schedules.rules.repetition import Repetition

Step = tuple[int, str]
Timing = Step | Repetition | str
FREQUENCIES = {"days": "DAILY", "weeks": "WEEKLY", "months": "MONTHLY", "years": "YEARLY"}
ELAPSED = ("seconds", "minutes", "hours")
LAST_MINUTE = time(23, 59)
# The hour of a reminder in each part of the day, the hours that belong to it (from 24 on, of the next day), and the
# last hour that it gets by itself.
PARTS = {
    "": (9, 0, 24, 23),
    "morning": (9, 0, 12, 11),
    "noon": (12, 11, 15, 14),
    "afternoon": (15, 12, 19, 16),
    "tarde": (15, 12, 21, 19),
    "evening": (19, 16, 25, 23),
    "night": (20, 18, 29, 23),
    "dawn": (5, 0, 7, 6),
}


@dataclass(frozen=True)
class Clock:
    """A time of day. `is_open`: of 1 to 12 without a half of the day, which `has_half` says. `is_named`: as "noon"."""

    hour: int
    minute: int = 0
    second: int = 0
    is_open: bool = False
    has_half: bool = False
    is_named: bool = False

    @property
    def time(self) -> time:
        return time(self.hour % 24, self.minute, self.second)

    @property
    def is_unclear(self) -> bool:
        return self.is_open and 1 <= self.hour <= 6

    def in_half(self, is_second: bool) -> Clock:
        """In the first or second half of the day."""
        return replace(self, hour=self.hour % 12 + 12 * is_second, is_open=False, has_half=True)

    def shown(self, is_second: bool) -> str:
        """In that half of the day, if it has none yet."""
        hour = self.in_half(is_second).hour if self.is_open else self.hour
        return f"{hour:02}:{self.minute:02}"

    def within(self, part: str) -> Clock | None:
        """The time of day in that part; its hour is 24 or more on the next day."""
        if self.is_open and self.hour == 12 and part == "morning":
            return None  # midnight to some, noon to others
        _default, first, last, _own = PARTS[part]
        hours = {self.hour % 12 + add for add in (0, 12, 24)} if self.is_open else {self.hour, self.hour + 24}
        found = [hour for hour in sorted(hours) if first <= hour < last]
        return replace(self, hour=found[0], is_open=False) if len(found) == 1 else None


Times = tuple[Clock, ...]


@dataclass
class Piece:
    """A part of the line with its value for each kind that it can be. `inner`: without words such as "until"."""

    kinds: Mapping[str, Any]
    start: int
    end: int
    text: str = ""
    inner: Piece | None = None
    is_used: bool = False


@dataclass(frozen=True)
class Day:
    """One of: `exact`, `weekdays`, `nth` of `weekday`, `day` (-1: the last) of a month, a `month` alone, or `movable`.

    `month` and `year` narrow it; `movable` is as in data/*.toml; `shift` counts from the day. `every` is a repetition
    that is part of it, as in "the 15th of every month". `part` is a part of the day, as in "tonight"; `until` is the
    end of a span, and `named_weekday` is one beside a date. `is_working`: a public holiday is not one. `is_near`:
    a weekday that may be the one of this week or of the next. `several`: of each month, as the days' fields of a cron.
    """

    exact: date | None = None
    weekdays: tuple[int, ...] = ()
    nth: int = 0
    weekday: int = 0
    day: int = 0
    month: int = 0
    year: int = 0
    movable: str = ""
    shift: tuple[Step, ...] = ()
    every: Step | None = None
    part: str = ""
    repeats: bool = False
    is_of: bool = False
    until: Day | None = None
    named_weekday: int | None = None
    is_working: bool = False
    is_near: bool = False
    several: str = ""

    @property
    def is_dated(self) -> bool:
        return self.exact is not None or self.year > 0

    @property
    def is_counted(self) -> bool:
        """Whether its date is computed from another."""
        return bool(self.movable or self.shift)

    @property
    def is_once(self) -> bool:
        """Whether it cannot repeat."""
        has_one = self.until is not None or self.named_weekday is not None or self.is_near
        return self.is_dated or self.is_counted or has_one

    @property
    def is_one_weekday(self) -> bool:
        return len(self.weekdays) == 1 and not self.repeats

    @property
    def all_weekdays(self) -> tuple[int, ...]:
        """With those between the first and the last one of a span."""
        if self.until is None or self.until.shift or not (self.is_one_weekday and self.until.is_one_weekday):
            return self.weekdays
        (first,), (last,) = self.weekdays, self.until.weekdays
        return tuple(sorted((first + one) % 7 for one in range((last - first) % 7 + 1)))

    @property
    def is_workweek(self) -> bool:
        return self.all_weekdays == (0, 1, 2, 3, 4)

    @property
    def can_shift(self) -> bool:
        """Whether other days can be counted from it."""
        is_one = self.exact or self.month or self.movable or self.is_one_weekday
        return bool(is_one) and not (self.every or self.until or self.shift)

    @property
    def in_month_of_year(self) -> Day:
        """Of each year, the first such day is in January, the last one in December."""
        if not (self.is_of and self.every and self.every[1] == "years"):
            return self
        return replace(self, month=12 if -1 in (self.nth, self.day) else 1)

    @property
    def is_month(self) -> bool:
        return self.month > 0 and not (self.day or self.nth)

    @property
    def unit(self) -> str:
        """The unit in which it comes again."""
        return "weeks" if self.weekdays else "years" if self.month else "months"

    def counted(self, number: int, unit: str) -> tuple[Day, int, str]:
        """The day and the step in the unit in which it comes again, if they go together."""
        if self.month and unit == "months" and number % 12 == 0:  # "of March" may mean "every year"
            number, unit = number // 12, "years"
        if self.weekdays and unit == "days" and number % 7 == 0:
            number, unit = number // 7, "weeks"
        is_weekend = bool(self.weekdays and self.weekday)
        return replace(self, weekdays=(5, 6), weekday=0) if is_weekend else self, number, unit

    def repetition(self, unit: str, number: int, at: time) -> Repetition:
        day, month = self.day or 1, self.month or 1
        return Repetition(FREQUENCIES[unit], number, at, self.weekdays, self.nth, self.weekday, day=day, month=month)

    def next(self, since: datetime, at: time = LAST_MINUTE) -> date:
        """The next such day, today included until `at`; with a year, the one of that year."""
        if self.shift:
            first = replace(self, shift=()).next(since, at)
            return later(datetime.combine(first, at), self.shift).date()
        if self.exact is not None:
            return self.exact
        if self.movable:
            dates = [_movable(self.movable, self.year or since.year + ahead) for ahead in (0, 1)]
            return dates[dates[0] < since.date()]
        if self.year:
            since = datetime(self.year, 1, 1)  # noqa: DTZ001 - civil
        repetition = replace(self, weekdays=self.weekdays[:1]).repetition(self.unit, 1, at)
        return replace(repetition, short="skip").first(since + TICK).date()

    def in_quarter(self, since: datetime) -> datetime | None:
        """The month, this one or later, from which such a day of each quarter is counted: the first, or the last."""
        is_last = -1 in (self.day, self.nth)
        ahead = (2 * is_last + 1 - since.month) % 3
        return None if self.month else later(datetime.combine(since.replace(day=1), time()), [(ahead, "months")])

    def before(self, last: Day) -> Day:
        """As the first day of a span, whose last one may name the year."""
        if self.year or not (self.month and last.year):
            return self
        return replace(self, year=last.year - ((self.month, self.day) > (last.month, last.day)))

    def ends_before(self, start: datetime, now: datetime) -> bool:
        """Whether the span that begins at `start` would end before it."""
        since = start if (self.is_dated or self.weekdays) and not self.shift else now
        return self.until is not None and self.until.next(since) < start.date()


def _movable(text: str, year: int) -> date:
    """ "easter-2" and "orthodox+1" count the days from Easter; "12-24<6" is the last Sunday (6) until 24 December."""
    latest, _, day = text.partition("<")
    if day:
        end = date(year, int(latest[:2]), int(latest[3:]))
        return end - timedelta(days=(end.weekday() - int(day)) % 7)
    church = EASTER_WESTERN if latest.startswith("easter") else EASTER_ORTHODOX
    sunday: date = easter(year, church)
    return sunday + timedelta(days=int(latest.lstrip("eastrhodx")))


def later(moment: datetime, steps: Iterable[Step]) -> datetime:
    """By the calendar: "2 weeks and 3 days", "4 working days". A shorter month gives its last day."""
    for number, unit in ((3 * one, "months") if unit == "quarters" else (one, unit) for one, unit in steps):
        if unit == "workdays":
            sign = 1 if number > 0 else -1
            while number:
                moment += timedelta(days=sign)
                number -= sign * (moment.weekday() < 5)
        else:
            moment += relativedelta(**{unit: number})
    return moment
