"""A day as it is said: "next Friday", "24 December", "the last Friday of March", "Monday and Thursday"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from schedules.quick_add import english
from schedules.quick_add.english import NotUnderstood
from schedules.quick_add.tokens import Tokens
from schedules.rules.repetition import WORKDAY

_NUMBERS = re.compile(r"(?:(\d{4})-(\d\d)-(\d\d)|(\d{1,2})\.(\d{1,2})\.(\d{4})?)")
_YEARS = range(1900, 9999)


@dataclass(frozen=True)
class Day:
    """One of: `exact`, `weekdays`, `nth` of `weekday`, `day` (-1: the last) of a month, or a `month` alone.

    `month` and `year` narrow it. `every` is a repetition that is part of it, as in "the 15th of every month";
    `is_plain` means a weekday that may be today; `part` is a part of the day, as in "tonight".
    """

    exact: date | None = None
    weekdays: tuple[int, ...] = ()
    nth: int = 0
    weekday: int = 0
    day: int = 0
    month: int = 0
    year: int = 0
    every: tuple[int, str] | None = None
    part: str = ""
    repeats: bool = False
    is_of: bool = False


def read(tokens: Tokens, today: date, after_every: bool = False, alone: bool = False) -> Day | None:
    """The day at the cursor. `alone`: a month or a number alone is one too, as after "until"."""
    begin = tokens.at
    preposition = tokens.take(english.ON)
    has_the = tokens.take(english.THE)
    expected = after_every or has_the or preposition or alone
    is_certain = after_every or preposition or alone
    found = (
        _relative(tokens, today) or _date(tokens, expected, is_certain) or _weekdays(tokens, is_certain, after_every)
    )
    if found is None and (_in(tokens) or alone or after_every or tokens.follows_used()):
        month = tokens.value(english.MONTH_NAMES)
        found = None if month is None else Day(month=month, year=_year(tokens))
    if found is not None and len(found.weekdays) == 1 and not found.repeats:
        # "Friday 18 December"
        here = tokens.at
        tokens.take({","})
        date_of_it = _date(tokens, is_expected=False, is_certain=False)
        if date_of_it is not None and date_of_it.month:
            return date_of_it
        tokens.at = here
    if found is None:
        tokens.at = begin
    return found


def _in(tokens: Tokens) -> bool:
    return tokens.peek() in english.IN and tokens.peek(1) in english.MONTH_NAMES and tokens.take(english.IN)


def _relative(tokens: Tokens, today: date) -> Day | None:
    if tokens.take(english.TODAY):
        return Day(exact=today)
    if tokens.take(english.TONIGHT):
        return Day(exact=today, part=english.NIGHT)
    if tokens.take(english.TOMORROW):
        return Day(exact=today + timedelta(days=1))
    if tokens.take_all(*english.DAY_AFTER_TOMORROW):
        return Day(exact=today + timedelta(days=2))
    begin = tokens.at
    monday = today - timedelta(days=today.weekday())
    if tokens.take(english.END):
        tokens.take(english.OF)
        tokens.take(english.THE)
        unit = tokens.unit()
        month = None if unit else tokens.value(english.MONTH_NAMES)
        if unit == "months":
            return Day(day=-1)
        if unit == "years":
            return Day(day=31, month=12)
        if month:
            return Day(day=-1, month=month, year=_year(tokens))
    elif tokens.take(english.NEXT):
        unit, weekday = tokens.unit(), tokens.value(english.WEEKDAYS)
        if unit == "weeks":
            return Day(exact=monday + timedelta(days=7 if weekday is None else 7 + weekday))
        if unit == "months":
            return Day(exact=(today.replace(day=1) + timedelta(days=32)).replace(day=1))
        if unit == "years":
            return Day(exact=date(today.year + 1, 1, 1))
        if weekday is not None:
            return Day(exact=monday + timedelta(days=7 + weekday))
        if tokens.take(english.SATURDAY_AND_SUNDAY):
            return Day(exact=monday + timedelta(days=12))
    tokens.at = begin
    return None


def _date(tokens: Tokens, is_expected: bool, is_certain: bool) -> Day | None:
    begin = tokens.at
    if match := _NUMBERS.fullmatch(tokens.peek()):
        tokens.at += 1
        parts = match.groups()[:3] if match[1] else (match[6], match[5], match[4])
        exact = [int(part or 0) for part in parts]
        return _checked(tokens, begin, Day(year=exact[0], month=exact[1], day=exact[2]))
    is_word = not tokens.peek()[:1].isdigit()
    nth = tokens.ordinal()
    if nth is not None and (found := _nth(tokens, nth, is_certain)) is not None:
        return found
    number = nth if nth is not None else None if is_word else tokens.number()
    if number is not None and number > 0:
        here = tokens.at
        tokens.take(english.OF)
        if month := tokens.value(english.MONTH_NAMES):
            return _checked(tokens, begin, Day(day=number, month=month, year=_year(tokens)))
        tokens.at = here
        of = {} if nth is None else _of(tokens)
        if of or (nth is not None and is_expected and not is_word):
            return _checked(tokens, begin, Day(day=number, **of))
    tokens.at = begin
    month = tokens.value(english.MONTH_NAMES)
    if month:
        tokens.take(english.THE)
        # Of "March 2027", the number is the year.
        day = tokens.ordinal() or (tokens.number() if len(tokens.peek()) <= 2 else None)
        if day is not None and day > 0:
            return _checked(tokens, begin, Day(day=day, month=month, year=_year(tokens)))
    tokens.at = begin
    return None


def _nth(tokens: Tokens, nth: int, is_certain: bool) -> Day | None:
    """A weekday or a day behind an ordinal."""
    begin = tokens.at
    weekday = tokens.value(english.WEEKDAYS)
    if weekday is None:
        if tokens.take(english.WORKDAY) or (tokens.take(english.WORKING) and tokens.take(english.DAY)):
            weekday = WORKDAY
        elif tokens.take(english.DAY) and ((of := _of(tokens)) or is_certain):
            return Day(day=nth, **of)
        else:
            tokens.at = begin
            return None
    if nth not in (1, 2, 3, 4, -1):
        raise NotUnderstood("every", tokens.text(max(0, begin - 1)))
    return Day(nth=nth, weekday=weekday, **_of(tokens))


def _of(tokens: Tokens) -> dict[str, Any]:
    """ "of the month", "of every 3 months", "in March": what it says of a `Day`."""
    begin = tokens.at
    if tokens.take(english.OF):
        repeats = tokens.take(english.EVERY) or tokens.take(english.A)
        tokens.take(english.THE)
        number = (tokens.number() if repeats else None) or 1
        unit = tokens.unit()
        if unit in ("months", "quarters", "years"):
            months = {"months": 1, "quarters": 3, "years": 12}[unit] * number
            return {"every": (months, "months"), "repeats": repeats, "is_of": True}
        month = tokens.value(english.MONTH_NAMES)
        if month:
            return {"month": month, "year": _year(tokens), "is_of": True, "repeats": repeats}
    tokens.at = begin
    return {}


def _weekdays(tokens: Tokens, expected: bool, after_every: bool) -> Day | None:
    begin = tokens.at
    if tokens.take(english.WORKDAY_PLURAL) or (expected and tokens.take(english.WORKDAY)):
        return Day(weekdays=english.WORKDAYS, repeats=True)
    days_word = english.DAY | english.WORKING_DAYS if expected else english.WORKING_DAYS
    if tokens.peek() in english.WORKING and tokens.peek(1) in days_word:
        tokens.at += 2
        return Day(weekdays=english.WORKDAYS, repeats=True)
    if tokens.take(english.SATURDAYS_AND_SUNDAYS):
        return Day(weekdays=english.WEEKEND, repeats=True)
    if tokens.take(english.SATURDAY_AND_SUNDAY):
        return Day(weekdays=english.WEEKEND if after_every else (5,))
    repeats = False
    days: list[int] = []
    while True:
        here = tokens.at
        if days and tokens.take(english.TO):
            last = tokens.value(english.WEEKDAYS)
            if last is None:
                tokens.at = here
                break
            days += [(days[-1] + step) % 7 for step in range(1, (last - days[-1]) % 7 + 1)]
            repeats = True
            continue
        while tokens.take(english.AND | english.ON if days else ()):
            pass
        plural = tokens.value(english.PLURALS)
        weekday = tokens.value(english.WEEKDAYS) if plural is None else plural
        if weekday is None:
            tokens.at = here
            break
        repeats = repeats or plural is not None
        days.append(weekday)
    if not days or (not expected and len(days) == 1 and not _is_clear(tokens, begin)):
        tokens.at = begin
        return None
    return Day(weekdays=tuple(sorted(set(days))), repeats=repeats)


def _is_clear(tokens: Tokens, begin: int) -> bool:
    """Whether the one word from `begin` is a day: not so "sun" in "buy sun cream"."""
    if tokens.lower[begin] not in english.AMBIGUOUS:
        return True
    following = tokens.peek()
    return begin == 0 or tokens.used[begin - 1] or not following or following in english.AT or following[0].isdigit()


def _year(tokens: Tokens) -> int:
    here = tokens.at
    tokens.take({","})
    if len(tokens.peek()) == 4 and tokens.peek().isdecimal() and int(tokens.peek()) in _YEARS:
        tokens.at += 1
        return int(tokens.lower[tokens.at - 1])
    tokens.at = here
    return 0


def _checked(tokens: Tokens, begin: int, day: Day) -> Day:
    """The day, if it is in the calendar."""
    try:
        if day.day > 31:
            raise ValueError
        if day.month and day.day > 0:
            date(day.year or 2000, day.month, day.day)
    except ValueError:
        raise NotUnderstood("date", tokens.text(begin)) from None
    return day


def months_later(moment: datetime, months: int) -> datetime:
    """The same day, or the last of a shorter month."""
    if not months:
        return moment
    number = moment.year * 12 + moment.month - 1 + months
    first = moment.replace(year=number // 12, month=number % 12 + 1, day=1)
    following = (first + timedelta(days=32)).replace(day=1)
    return first.replace(day=min(moment.day, (following - timedelta(days=1)).day))


def in_year(day: Day) -> date:
    """A day with a year."""
    first = date(day.year, day.month or 1, 1)
    if day.day == -1:
        return (first + timedelta(days=32)).replace(day=1) - timedelta(days=1)
    return first.replace(day=day.day or 1)
