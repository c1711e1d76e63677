"""The actions of the grammar: each returns the value of a piece, or None where the rule does not fit."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, time, timedelta
from inspect import isfunction
from typing import Any

from dateutil.relativedelta import relativedelta

from common import zones
from schedules.inputs.sentences.days import Clock, Day, Piece, Step, Times
from schedules.inputs.sentences.hints import NotUnderstood
from schedules.rules import words

_SMALLER = {
    "hours": ("minutes", 60),
    "minutes": ("seconds", 60),
    "days": ("hours", 24),
    "quarters": ("months", 3),
    "years": ("months", 12),
}
_MINUTES = {"minutes": 1, "hours": 60, "days": 24 * 60, "weeks": 7 * 24 * 60}
_UNITS = ("years", "quarters", "months", "weeks", "workdays", "days", "hours", "minutes", "seconds")
_WORKWEEK = 5
_ANY_WORKDAY = 7


def _zone(pieces: list[Piece]) -> str | None:
    """ "Asia/Tokyo", or "CET" """
    name = pieces[0].text
    return name if name in zones.known() and ("/" in name or name.isupper()) else None


def _city(pieces: list[Piece]) -> str | None:
    """ "New York time" """
    city = "_".join(piece.text.lower() for piece in pieces[:-1])
    return next((name for name in sorted(zones.known()) if name.lower().endswith(f"/{city}")), None)


def _refuse(code: str, pieces: list[Piece]) -> None:
    if code != "zone" or pieces[0].text.isupper():
        raise NotUnderstood(code)


def _step(number: float, unit: str, scale: float = 1, plus: float = 0) -> Step | None:
    """Whole units: 1.5 hours are 90 minutes."""
    number = number * scale + plus
    smaller, factor = (unit, 1) if number == int(number) else _SMALLER.get(unit, ("", 0))
    return (int(number * factor), smaller) if smaller else None


def _steps(pieces: list[Piece]) -> list[Step] | None:
    """Of one length, the longest unit first: "20 minutes a day" has two."""
    steps = [piece.kinds["step"] for piece in pieces if "step" in piece.kinds]
    units = [_UNITS.index(unit) for _, unit in steps]
    return steps if units == sorted(set(units)) else None


def _minutes_before(pieces: list[Piece]) -> list[int] | None:
    """ "1 day and 1 hour 30 minutes" are two: 1440 and 90."""
    lengths: list[int] = []
    follows = False
    for piece in pieces:
        if is_step := "step" in piece.kinds:
            number, unit = piece.kinds["step"]
            if unit not in _MINUTES:
                return None
            lengths.append(number * _MINUTES[unit] + (lengths.pop() if follows else 0))
        follows = is_step
    return lengths


def _day(of: Day | None = None, **fields: Any) -> Day:
    """The day `of`, or a new one, with these fields. Raises ValueError if it is not in the calendar."""
    if fields.get("nth", 1) not in (1, 2, 3, 4, -1):
        raise NotUnderstood("every")
    day = replace(of or Day(), **fields).in_month_of_year
    if fields.get("day") == 0 or day.day > 31:
        raise ValueError
    if day.month and day.day > 0:
        date(day.year or 2000, day.month, day.day)
    return day


def _feast(text: str, year: int = 0) -> Day:
    """ "12-25", "11-4-3" (the fourth Thursday, 3, in November), "05--1-0" (the last Monday in May), or movable."""
    if not text[0].isdigit() or "<" in text:
        return Day(movable=text, year=year)
    nth, dash, weekday = text[3:].rpartition("-")
    day = Day(nth=int(nth), weekday=int(weekday), is_of=True) if dash else Day(day=int(weekday))
    return replace(day, month=int(text[:2]), year=year)


def _several(
    pieces: list[Piece], of: Day | None = None, every: Step = (1, "months"), weekday: int | None = None
) -> Day | None:
    """Days of each month, for cron: "the 1st and 15th", "the 1st and 3rd Monday"."""
    if (of and not of.is_of) or (of.every if of else every) != (1, "months"):
        return None
    numbers = [piece.kinds[kind] for piece in pieces for kind in ("ord", "nth", "dom") if kind in piece.kinds]
    if weekday is None:
        several = f"{','.join(map(str, sorted(set(numbers))))} * *"
    else:
        several = "* * " + ",".join(f"{words.DAYS[weekday][:3].lower()}#{number}" for number in numbers)
    if max(numbers) > (31 if weekday is None else 4):
        raise NotUnderstood("every")
    return Day(several=several, every=(1, "months"), repeats=True)


def _span(first: int, last: Day | int, **fields: Any) -> Day | None:
    last = last if isinstance(last, Day) else _day(day=last, **fields)
    return replace(last, day=first, until=last) if last.day > first > 0 and last.month and not last.every else None


def _pair(first: int, last: Day) -> Day | None:
    """ "24 and 25 December" is a span; "1 and 15 December" and "phase 2, 3 December" are not."""
    return _span(first, last) if last.day == first + 1 else None


def _days_span(first: Day, last: Day) -> Day | None:
    has_dates = all(one.exact or one.day or one.is_one_weekday for one in (first, last))
    return replace(first.before(last), until=last) if has_dates and not (first.until or last.every) else None


def _of(of: str | Step, repeats: int = 0) -> Day | None:
    """ "of the month", "of every second month" """
    number, unit = (1, of) if isinstance(of, str) else of
    if unit not in ("months", "quarters", "years"):
        return None
    return Day(every=(number, unit), repeats=bool(repeats), is_of=True)


def _month_from_now(today: date, ahead: int) -> Day:
    then = today + relativedelta(months=ahead)
    return Day(month=then.month, year=then.year, is_of=True)


def _last_day(of: Day, is_once: int = 0) -> Day:
    day = _day(of, day=-1)
    return Day(day=-1, month=day.month, year=day.year) if is_once else day


def _weekdays(pieces: list[Piece]) -> Day:
    kinds = ("plural", "weekday", "weakday", "firstday")
    days = [piece.kinds[kind] for piece in pieces for kind in kinds if kind in piece.kinds]
    return Day(weekdays=tuple(sorted(set(days))), repeats=any("plural" in piece.kinds for piece in pieces))


def _from_to(first: int, last: int, **fields: Any) -> Day:
    span = Day(weekdays=(first,), until=Day(weekdays=(last,)))
    return Day(weekdays=span.all_weekdays, repeats=True, **fields)


def _in_week(weekday: int, today: date, weeks: int) -> Day:
    return Day(exact=today + timedelta(days=7 * weeks + weekday - today.weekday()))


def _calendar_week(number: int, today: date, weekday: int = 0) -> Day:
    """The week with this number, of this year or of the next one."""
    dates = (date.fromisocalendar(today.isocalendar().year + ahead, number, weekday + 1) for ahead in (0, 1))
    return Day(exact=next((one for one in dates if one >= today), None))


def _coming(number: int, weekday: int, today: date) -> Day:
    return _in_week(weekday, today, number - (weekday > today.weekday()))


def _next_unit(unit: str, today: date) -> Day | None:
    first = today.replace(day=1)
    found = {
        "days": today + timedelta(days=1),
        "weeks": today + timedelta(days=7 - today.weekday()),
        "months": first + relativedelta(months=1),
        "quarters": first + relativedelta(months=3 - (today.month - 1) % 3),
        "years": date(today.year + 1, 1, 1),
    }
    return Day(exact=found[unit]) if unit in found else None


def _shifted(lengths: list[Step], since: Day, sign: int, today: date) -> Day | None:
    """Days, weeks … after or before a day."""
    # A year after Christmas may be after the one before.
    units = ("days", "weeks", "months", "quarters", "workdays", *(["years"] if since.exact else []))
    if not since.can_shift or any(unit not in units for _, unit in lengths):
        return None
    if since.weekdays:
        since = replace(_coming(1, since.weekdays[0], today), part=since.part)
    return replace(since, shift=tuple((number * sign, unit) for number, unit in lengths))


def _days_from(lengths: list[Step], since: Day, today: date) -> Day | None:
    """ "for 5 days from Monday" """
    last = _shifted([*lengths, (-1, "days")], since, 1, today)
    return replace(since, until=last) if last else None


def _every(value: Day, number: int | None = None) -> Day:
    """A repetition of the day, as in "every Friday" or "every 2nd Tuesday of the month"."""
    if number == 1:  # "every first weekend" is not "every weekend"
        raise NotUnderstood("every")
    number = 1 if number is None else number
    # "Every other weekday" and "every 3rd working day" count days, which no rule does.
    if value.is_once or number < 1 or (number > 1 and len(value.weekdays) not in range(1, _WORKWEEK)):
        raise NotUnderstood("every")
    if value.nth in (2, 3, 4) and not value.is_of:
        if value.weekday == _ANY_WORKDAY:
            raise NotUnderstood("every")
        raise NotUnderstood("which", n=value.nth, nth=words.ordinal(value.nth), day=words.weekday(value.weekday))
    step = (number, "weeks") if number > 1 else value.every
    if value.weekdays and value.weekday:
        value = replace(value, weekdays=(5, 6), weekday=0)
    return replace(value, repeats=True, every=step)


def _past(minutes: int, times: Times, sign: int = 1) -> Times | None:
    """`minutes` past an hour; before it if they are negative."""
    at = times[0]
    if abs(minutes) >= 60:
        return None
    hour, minute = divmod(at.hour * 60 + at.minute + minutes * sign, 60)
    return (replace(at, hour=hour % 24 or (12 if at.is_open else 0), minute=minute),)


def _spoken(minutes: int, pieces: list[Piece], times: Times) -> Times | None:
    """ "A las 8 y media"; "a las 8, 14 y 20" are hours, "a las 8 y 20" may be."""
    if "digits" in pieces[-1].kinds and minutes < 24 and minutes not in (10, 15):
        raise NotUnderstood("minutes")
    return _past(minutes, times)


def _to_hour(minutes: int, times: Times) -> Times | None:
    """ "ten to five"; "9 to 17" is a span."""
    return _past(-minutes, times) if minutes in (5, 10, 15, 20, 25) else None


def _to_earlier(minutes: int, times: Times) -> Times | None:
    """ "At 10 to 5"; "at 10 to 11" and "at 10 to 17:00" may be spans."""
    at = times[0]
    is_whole = (at.is_open or at.has_half) and not at.minute
    return _to_hour(minutes, times) if is_whole and minutes > (at.hour - 1) % 12 + 1 else None


def _odd_minutes(minute: int) -> None:
    """ "At 9 30 dentist" has minutes; "at 9 12 eggs" may have none."""
    if minute % 5:
        raise NotUnderstood("minutes")


def _minutes(times: Times, minute: int | None = None, half: int | None = None) -> Times | None:
    """An hour with its minutes, and with the half of the day if `half` is 0 or 1."""
    at = times[0] if minute is None else replace(times[0], minute=minute)
    if half is not None:
        at = at.in_half(half == 1)
    return (at,) if at.minute < 60 and (half is None or 1 <= times[0].hour <= 12) else None


def _times(pieces: list[Piece]) -> Times:
    of = [next((piece.kinds[kind] for kind in ("time", "clock", "hod") if kind in piece.kinds), ()) for piece in pieces]
    return tuple(clock for found in of for clock in found)


def _in_parts(pieces: list[Piece]) -> Times | None:
    """ "8 in the morning and 8 in the evening" """
    parts = [piece.kinds["inpart"] for piece in pieces if "inpart" in piece.kinds]
    times = [clock.within(part) for part, clock in zip(parts, _times(pieces), strict=False)]
    return tuple(one for one in times if one) if all(times) else None


def _noon(named: Times, times: Times) -> Times | None:
    """ "Noon at half past 12", "midnight at 12"; not "noon at 5"."""
    near = times[0].within("noon")
    if named[0].hour == 0:
        return named if times[0].hour == 12 else None
    return (near,) if near and named[0].hour == 12 else None


def _hour_after(times: Times, before: Piece) -> Times | None:
    """ "24 December 18" may be the year."""
    day = before.kinds.get("day")
    return None if times[0].hour > 12 and isinstance(day, Day) and day.month else times


def _hours(begin: Times, end: Times, pieces: list[Piece]) -> tuple[Clock, Clock] | None:
    """A span of the day: "2 to 4pm" begins at 14:00, "11-1pm" at 11:00. "3 - at 4pm" is none."""
    number, dash, until = pieces[-3:]
    if "hod" in number.kinds and "dash" in dash.kinds and re.match(r"(?:at|um|a las?|@) ", until.text, re.IGNORECASE):
        return None
    first, last = begin[0], end[0]
    is_signed = number.end < dash.start and (dash.text, dash.end) == ("-", until.start) and last.time <= first.time
    forms = {re.sub(r"^\D+|\d", "", one.text) for one in (number, until)}
    if is_signed and not last.has_half and len(forms) > 1:
        raise NotUnderstood("range")  # "2pm -1h" may mean an hour before, "22h -6h" does not
    if first.is_open and last.has_half:
        halves = (first.in_half(True), first.in_half(False))
        first = next((one for one in halves if one.time < last.time), halves[0])
    elif first.is_open and last.time == time():
        first = first.in_half(True)
    elif first.is_open and last.is_open and last.time <= first.time:
        first, last = replace(first, is_open=False), last.in_half(True)  # "9 to 5"
    elif first.is_open and not last.is_open:
        first = replace(first, is_open=False)  # on a clock of 24 hours
    return first, last


# The functions above by their names, and the shorter ones.
ACTIONS: Mapping[str, Callable[..., Any]] = {
    name[1:]: function for name, function in globals().items() if name[0] == "_" and isfunction(function)
} | {
    # Lengths.
    "length": lambda number, unit: [(number, unit)],
    # Days of a month or year.
    "feast_in": lambda text, today, ahead: _feast(text, today.year + ahead),
    "quarter": lambda number, year=0: _day(day=1, month=3 * number - 2, year=year),
    # Weekdays, and days from today.
    "weekdays_of": lambda day: (
        ((5, 6) if day == Day(weekdays=(5,), weekday=5) else not day.until and day.weekdays) or None
    ),
    "weekday_to": lambda first, last: Day(weekdays=(first,), until=Day(weekdays=(last,))),
    "weekset": lambda days: Day(weekdays=tuple(map(int, days.split("-"))), repeats=True),
    "often": lambda number, adverb: number if adverb == (1, "days") else None,
    "named_day": lambda day, weekday: None if day.repeats else replace(day, named_weekday=weekday),
    "weekend": lambda: Day(weekdays=(5,), weekday=5),
    "of_next_week": lambda weekday, today: (
        _coming(1, weekday, today) if weekday <= today.weekday() else Day(weekdays=(weekday,), is_near=True)
    ),
    "next_date": lambda day: day if day.month or day.movable else None,
    "next_year": lambda today: today.year + 1,
    "weeks_on": lambda lengths, since, today: (
        _shifted(lengths, since, 1, today)
        if (since.weekdays or since.exact)
        and all(unit == "weeks" or (unit == "days" and number % 7 == 0) for number, unit in lengths)
        else None
    ),
    "next_workday": lambda today: _shifted([(1, "workdays")], Day(exact=today), 1, today),
    "days_later": lambda number, today, part="": Day(exact=today + timedelta(days=number), part=part),
    "later_than": lambda lengths, number, today: _shifted(lengths, Day(exact=today + timedelta(days=number)), 1, today),
    "week_after": lambda number, today: Day(exact=today + timedelta(days=7 + number)),
    "with_part": lambda day, part: None if day.part else replace(day, part=part),
    "weekday_part": lambda day, part: replace(day, part=part) if day.weekdays and not day.part else None,
    # Later in this year, "next December" may be that of next year.
    "next_month": lambda month, today: Day(month=month) if month <= today.month else None,
    "this_month": lambda month, today: Day(month=month, year=today.year) if month > today.month else None,
    "months_span": lambda first, last, year=0: Day(month=first, year=year, until=Day(day=-1, month=last, year=year)),
    "thousands": lambda thousand, rest=0: 2000 + rest if thousand == 2 and rest < 100 else None,
    "before_year": lambda year: Day(exact=date(year - 1, 12, 31)),
    "every_of": lambda of: of.every if of.repeats else None,
    "each_day_part": lambda day, part: (
        Day(weekdays=day.all_weekdays, part=part, repeats=True)
        if day == Day(weekdays=day.weekdays, repeats=day.repeats, until=day.until)
        else None
    ),
    "each_part": lambda part, number=1: Day(every=(number, "days"), part=part, repeats=True),
    # Times of day.
    "once": lambda number: number == 1 or None,
    "named": lambda times, number=12: times if number == 12 else None,
    "first": lambda times: times[0],
}
