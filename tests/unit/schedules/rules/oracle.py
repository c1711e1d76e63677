"""Slow and obvious: what fires when, by walking every minute that a wall clock shows.

The rule, word for word: a civil time fires at the first instant at which the wall clock shows it or a later time;
times that fire at the same instant fire once. A cron with a star in its minute or hour fires whenever its time is
shown. The walk uses nothing but "what does the clock show at this instant".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from dateutil.rrule import rrulestr

Matches = Callable[[datetime], bool]

MINUTE = timedelta(minutes=1)
# No clock has been turned back by more than a day: whatever it showed earlier than this has been passed for good.
WARM_UP = timedelta(hours=26)

MONTH_NAMES = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
DAY_NAMES = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]


def slots_between(kind: str, data: Mapping[str, Any], timezone: str, begin: datetime, end: datetime) -> list[datetime]:
    """All slots with begin < slot <= end, both on whole minutes."""
    if kind == "interval":
        return _elapsed(data, begin, end)
    zone = ZoneInfo(timezone)
    matches = matcher(kind, data)
    if kind == "cron" and any(field.startswith("*") for field in data["expression"].split()[:2]):
        return _whenever_shown(zone, matches, begin, end)
    step = _step(timezone)
    instant = begin - WARM_UP
    shown = _minute_shown(zone, instant)
    found = []
    while instant < end:
        instant += step
        now = _minute_shown(zone, instant)
        due = False
        while shown < now:
            shown += MINUTE
            due = matches(shown) or due
        if due and instant > begin:
            found.append(instant)
    return found


def _step(timezone: str) -> timedelta:
    """Since 1970 every offset is a multiple of a minute, but for Monrovia's until 1972: -0:44:30."""
    return MINUTE / 2 if timezone == "Africa/Monrovia" else MINUTE


def _whenever_shown(zone: ZoneInfo, matches: Matches, begin: datetime, end: datetime) -> list[datetime]:
    """A cron whose minute or hour starts with a star: each instant at which the clock shows the start of a minute of
    it, both times where it does so twice."""
    step = _step(str(zone))
    instants = (begin + number * step for number in range(1, (end - begin) // step + 1))
    shown = ((instant, instant.astimezone(zone).replace(tzinfo=None, fold=0)) for instant in instants)
    return [instant for instant, minute in shown if minute.second == 0 and matches(minute)]


def _minute_shown(zone: ZoneInfo, instant: datetime) -> datetime:
    return instant.astimezone(zone).replace(tzinfo=None, fold=0, second=0, microsecond=0)


def _elapsed(data: Mapping[str, Any], begin: datetime, end: datetime) -> list[datetime]:
    found = []
    slot = datetime.fromisoformat(data["anchor"])
    while slot <= end:
        if slot > begin:
            found.append(slot.astimezone(UTC))
        slot += timedelta(**{data["unit"]: data["every"]})
    return found


def matcher(kind: str, data: Mapping[str, Any]) -> Matches:
    """Whether a rule names a given civil minute."""
    if kind == "once":
        at = datetime.fromisoformat(data["at"])
        return lambda minute: minute == at
    if kind in {"daily", "weekly", "monthly"}:
        of_day = time.fromisoformat(data["time"])
        if kind == "daily":
            return lambda minute: minute.time() == of_day
        if kind == "weekly":
            return lambda minute: minute.time() == of_day and minute.weekday() in data["days"]
        return lambda minute: minute.time() == of_day and _on_day(minute, data["day"], data["short"])
    if kind == "cron":
        return _cron(data["expression"])
    if kind == "rrule":
        return _calendar(data["rule"])
    raise AssertionError(kind)


def _on_day(minute: datetime, day: int | str, short: str) -> bool:
    is_last = (minute + timedelta(days=1)).day == 1
    if day == "last":
        return is_last
    assert isinstance(day, int)
    return minute.day == day or (short == "last" and is_last and minute.day < day)


def _cron(expression: str) -> Matches:
    minutes, hours, days, months, weekdays = expression.split()
    in_minutes, in_hours = _values(minutes, 0, 59), _values(hours, 0, 23)
    in_months = _values(months, 1, 12, MONTH_NAMES, 1)
    in_weekdays = {day % 7 for day in _values(weekdays, 0, 7, DAY_NAMES, 0)}
    either = not days.startswith("*") and not weekdays.startswith("*")

    def matches(minute: datetime) -> bool:
        if minute.minute not in in_minutes or minute.hour not in in_hours or minute.month not in in_months:
            return False
        last = (minute + timedelta(days=1)).day == 1
        of_month = (days == "L" and last) or (days != "L" and minute.day in _values(days, 1, 31))
        of_week = (minute.weekday() + 1) % 7 in in_weekdays
        return (of_month or of_week) if either else (of_month and of_week)

    return matches


def _values(field: str, lowest: int, highest: int, names: list[str] | None = None, first: int = 0) -> set[int]:
    for number, name in enumerate(names or [], first):
        field = field.replace(name, str(number))
    values: set[int] = set()
    for term in field.split(","):
        span, _, step = term.partition("/")
        if span == "*":
            begin, end = lowest, highest
        elif "-" in span:
            begin, end = (int(edge) for edge in span.split("-"))
        else:
            begin = int(span)
            end = highest if step else begin
        values.update(range(begin, end + 1, int(step or 1)))
    return values


def _calendar(text: str) -> Matches:
    """The civil times of a calendar rule as dateutil sees them, an implementation that is not ours."""
    rule = rrulestr(text)
    known: dict[int, set[datetime]] = {}

    def matches(minute: datetime) -> bool:
        week = minute.toordinal() // 7
        if week not in known:
            first = datetime.fromordinal(7 * week)
            known[week] = set(rule.between(first, first + timedelta(days=7), inc=True))
        return minute in known[week]

    return matches
