"""The values of pieces: days as they are said, the dates that they mean, times of day; and what a line means."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Any

from dateutil.easter import EASTER_ORTHODOX, EASTER_WESTERN, easter
from dateutil.relativedelta import relativedelta

from schedules.rules.repetition import Repetition

Step = tuple[int, str]
# The hour of a reminder in each part of the day, the hours that belong to it (from 24 on, of the next day), and the
# last hour that it gets by itself.
_PARTS = {
    "": (9, 0, 24, 23),
    "morning": (9, 0, 12, 11),
    "afternoon": (15, 12, 19, 16),
    "tarde": (15, 12, 21, 19),
    "evening": (19, 16, 25, 23),
    "night": (20, 18, 29, 23),
    "dawn": (5, 0, 7, 6),
}


@dataclass(frozen=True)
class Clock:
    """A time of day. `is_open`: of 1 to 12 without a half of the day, which `has_half` says."""

    hour: int
    minute: int = 0
    second: int = 0
    is_open: bool = False
    has_half: bool = False

    @property
    def time(self) -> time:
        return time(self.hour % 24, self.minute, self.second)

    @property
    def is_unclear(self) -> bool:
        return self.is_open and 1 <= self.hour <= 6

    def within(self, part: str) -> Clock | None:
        """The time of day in that part; its hour is 24 or more on the next day."""
        _default, first, last, _own = _PARTS[part]
        hours = {self.hour % 12 + add for add in (0, 12, 24)} if self.is_open else {self.hour, self.hour + 24}
        found = [hour for hour in sorted(hours) if first <= hour < last]
        return replace(self, hour=found[0], is_open=False) if len(found) == 1 else None


Times = tuple[Clock, ...]


def default_clock(part: str) -> Clock:
    return Clock(_PARTS[part][0])


def soon(part: str, now: datetime) -> datetime | None:
    """A full hour, 15 to 75 minutes ahead, for a part of the day that has begun; None if it is over then."""
    found = (now + timedelta(minutes=75)).replace(minute=0, second=0, microsecond=0)
    return found if found.date() == now.date() and found.hour <= _PARTS[part][3] else None


@dataclass
class Piece:
    """A part of the line with its value for each kind that it can be."""

    kinds: Mapping[str, Any]
    start: int
    end: int
    text: str = ""
    is_used: bool = False


@dataclass(frozen=True)
class Day:
    """One of: `exact`, `weekdays`, `nth` of `weekday`, `day` (-1: the last) of a month, a `month` alone, or `movable`.

    `month` and `year` narrow it; `movable` is as in movable_day; `shift` counts from the day. `every` is a repetition
    that is part of it, as in "the 15th of every month". `part` is a part of the day, as in "tonight"; `until` is the
    end of a span, and `said` the weekday that was named beside a date.
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
    said: int | None = None


def checked(day: Day) -> Day:
    """The day, if it is in the calendar. Otherwise raises ValueError."""
    if day.day > 31:
        raise ValueError
    if day.month and day.day > 0:
        date(day.year or 2000, day.month, day.day)
    return day


def feast(text: str, year: int | None = None) -> Day:
    """ "12-25", "11-4-3" (the fourth Thursday, 3, in November), "05--1-0" (the last Monday in May), or movable."""
    if not text[0].isdigit() or "<" in text:
        return Day(movable=text, year=year or 0)
    month, rest = int(text[:2]), text[3:]
    nth, dash, weekday = rest.rpartition("-")
    if dash:
        return Day(nth=int(nth), weekday=int(weekday), month=month, year=year or 0, is_of=True)
    return Day(day=int(rest), month=month, year=year or 0)


def movable_day(day: Day, since: date) -> date:
    """The next one from `since` on, or that of its year.

    "easter-2" and "orthodox+1" count the days from Easter; "12-24<6" is the last Sunday (6) until 24 December.
    """
    years = [day.year] if day.year else [since.year, since.year + 1]
    latest, _, weekday = day.movable.partition("<")
    if weekday:
        ends = [date(year, int(latest[:2]), int(latest[3:])) for year in years]
        found = [end - timedelta(days=(end.weekday() - int(weekday)) % 7) for end in ends]
    else:
        church = EASTER_WESTERN if latest.startswith("easter") else EASTER_ORTHODOX
        found = [easter(year, church) + timedelta(days=int(latest.lstrip("eastrhodx"))) for year in years]
    return next((one for one in found if one >= since), found[-1])


def next_dates(days: list[Day], today: date) -> list[date]:
    """The next date of each day of a month that has one, in order."""
    found: set[date] = set()
    for day in days:
        for year in (day.year,) if day.year else (today.year, today.year + 1):
            with suppress(ValueError):
                if (at := date(year, day.month, day.day)) >= today:
                    found.add(at)
                    break
    return sorted(found)


def later(moment: datetime, steps: list[Step]) -> datetime:
    """By the calendar: "2 weeks and 3 days", "4 working days". A shorter month gives its last day."""
    for number, unit in steps:
        if unit == "workdays":
            sign = 1 if number > 0 else -1
            while number:
                moment += timedelta(days=sign)
                number -= sign * (moment.weekday() < 5)
        elif unit == "quarters":
            moment += relativedelta(months=3 * number)
        else:
            moment += relativedelta(**{unit: number})
    return moment


def in_year(day: Day) -> date:
    """A day with a year."""
    month = day.month or 1
    return date(day.year, month, monthrange(day.year, month)[1] if day.day == -1 else day.day or 1)


def this_week(today: date, weekday: int = 0, weeks: int = 0) -> date:
    return today + timedelta(days=7 * weeks + weekday - today.weekday())


@dataclass(frozen=True)
class Interval:
    """Every `number` "minutes" or "hours"."""

    number: int
    unit: str


@dataclass(frozen=True)
class Understood:
    """`timing` is a civil time (once), an interval, a repetition or a cron expression; the window is civil.

    `title` is what is left of the line; it may be empty. `body` are the words of a span, whose start is the time.
    """

    title: str
    timing: datetime | Interval | Repetition | str
    zone: str
    starts: datetime | None = None
    ends: datetime | None = None
    count: int | None = None
    body: str = ""
