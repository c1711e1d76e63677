"""A day as it is said, and the dates that it means."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from schedules.quick_add.hints import NotUnderstood

Step = tuple[int, str]


@dataclass(frozen=True)
class Day:
    """One of: `exact`, `weekdays`, `nth` of `weekday`, `day` (-1: the last) of a month, a `month` alone, or `easter`.

    `month` and `year` narrow it; `easter` are the days from Easter Sunday. `every` is a repetition that is part of it,
    as in "the 15th of every month". `part` is a part of the day, as in "tonight"; `until` is the end of a span, and
    `said` the weekday that was named beside a date.
    """

    exact: date | None = None
    weekdays: tuple[int, ...] = ()
    nth: int = 0
    weekday: int = 0
    day: int = 0
    month: int = 0
    year: int = 0
    easter: int | None = None
    every: Step | None = None
    part: str = ""
    repeats: bool = False
    is_of: bool = False
    until: Day | None = None
    said: int | None = None

    def checked(self) -> Day:
        """The day, if it is in the calendar. Otherwise raises ValueError."""
        if self.day > 31:
            raise ValueError
        if self.month and self.day > 0:
            date(self.year or 2000, self.month, self.day)
        return self


def feast(text: str, year: int = 0) -> Day:
    """ "12-25", "11-4-3" (the fourth Thursday, 3, of November), "05--1-0" (the last Monday of May) or "easter-2"."""
    if text.startswith("easter"):
        return Day(easter=int(text[6:]), year=year)
    month, rest = int(text[:2]), text[3:]
    nth, dash, weekday = rest.rpartition("-")
    if dash:
        return Day(nth=int(nth), weekday=int(weekday), month=month, year=year, is_of=True)
    return Day(day=int(rest), month=month, year=year)


def _easter(year: int) -> date:
    """Easter Sunday, by the rule of Butcher."""
    century, rest = divmod(year, 100)
    moon = (19 * (year % 19) + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (rest // 4) - moon - rest % 4) % 7
    shift = moon + weekday - 7 * ((year % 19 + 11 * moon + 22 * weekday) // 451) + 114
    return date(year, shift // 31, shift % 31 + 1)


def easter_day(day: Day, since: date) -> date:
    """The next one from `since` on, or that of its year."""
    if day.easter is None:
        raise NotUnderstood("date")
    years = [day.year] if day.year else [since.year, since.year + 1]
    found = [_easter(year) + timedelta(days=day.easter) for year in years]
    return next((one for one in found if one >= since), found[-1])


def slashed(text: str, today: date) -> list[date]:
    """The next dates that "10/12", "10/12/26", "10-12-2026" or "2026/12/10" can be."""
    *first, last = (int(one) for one in re.findall(r"\d+", text))
    if len(first) == 2 and first[0] > 31:
        orders = [(first[0], first[1], last)]
    else:
        day, month, year = (*first, last) if len(first) == 2 else (*first, last, 0)
        year += 2000 * (0 < year < 100)
        orders = [(year, month, day), (year, day, month)]
    found: list[date] = []
    for year, month, day in orders:
        for one in (year,) if year else (today.year, today.year + 1):
            with suppress(ValueError):
                if (at := date(one, month, day)) >= today and at not in found:
                    found.append(at)
                    break
    return sorted(found)


def months_later(moment: datetime, months: int) -> datetime:
    """The same day, or the last of a shorter month."""
    if not months:
        return moment
    number = moment.year * 12 + moment.month - 1 + months
    first = moment.replace(year=number // 12, month=number % 12 + 1, day=1)
    following = (first + timedelta(days=32)).replace(day=1)
    return first.replace(day=min(moment.day, (following - timedelta(days=1)).day))


def later(moment: datetime, steps: list[Step]) -> datetime:
    """By the calendar: "2 weeks and 3 days", "4 working days"."""
    for number, unit in steps:
        if unit in ("months", "years", "quarters"):
            moment = months_later(moment, number * {"months": 1, "quarters": 3, "years": 12}[unit])
        elif unit == "workdays":
            while number > 0:
                moment += timedelta(days=1)
                number -= moment.weekday() < 5
        else:
            moment += timedelta(**{unit: number})
    return moment


def in_year(day: Day) -> date:
    """A day with a year."""
    first = date(day.year, day.month or 1, 1)
    if day.day == -1:
        return (first + timedelta(days=32)).replace(day=1) - timedelta(days=1)
    return first.replace(day=day.day or 1)


def next_week(today: date, weekday: int = 0, weeks: int = 1) -> Day:
    return Day(exact=today + timedelta(days=7 * weeks + weekday - today.weekday()))
