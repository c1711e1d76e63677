"""Read the text of a calendar rule: DTSTART, RRULE, RDATE, EXDATE (RFC 5545, 3.3.10, 3.8.2.4, 3.8.5.1 to 3.8.5.3).

TRIGGER, as an alarm has it (3.8.6.3), says how long before these times it fires: weeks and days are those of the clock,
hours and minutes are time that passes. Seconds alone are of the clock too, as what moves a series to another hour is.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import Any

from schedules.rules import civil
from schedules.rules.calendar_rule import CalendarRule
from schedules.rules.invalid import InvalidRule, Work

LONGEST = 40_000
_PROPERTY = re.compile(r"[\s;](?=(?:DTSTART|RRULE|EXDATE|RDATE|EXRULE|TRIGGER)[:;])|\s(?=FREQ=)", re.IGNORECASE)
_TRIGGER = re.compile(r"([+-]?)P(?:(\d{1,3})W)?(?:(\d{1,3})D)?(?:T(?:(\d{1,4})H)?(?:(\d{1,6})M)?(?:(\d{1,8})S)?)?")
_FURTHEST_TRIGGER = timedelta(days=366)
_MOST_RULES = 10
_MOMENT = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?", re.ASCII)
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_BYDAY = re.compile(rf"([+-]?\d{{1,2}})?({'|'.join(WEEKDAYS)})", re.ASCII)
_FREQUENCIES = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY")
_LONGEST_INTERVAL = 1_000
_LONGEST_COUNT = 10_000
# part: (field of CalendarRule, largest value, may count from the end, frequencies that RFC 5545 forbids it for)
_LISTS: dict[str, tuple[str, int, bool, tuple[str, ...]]] = {
    "BYMONTH": ("months", 12, False, ()),
    "BYMONTHDAY": ("month_days", 31, True, ("WEEKLY",)),
    "BYYEARDAY": ("year_days", 366, True, ("DAILY", "WEEKLY", "MONTHLY")),
    "BYHOUR": ("hours", 23, False, ()),
    "BYMINUTE": ("minutes", 59, False, ()),
    "BYSETPOS": ("positions", 366, True, ("MINUTELY",)),
}
_PARTS = ("FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", *_LISTS)
# An RRULE may be written without its name.
_BARE = tuple(f"{part}=" for part in _PARTS)
_MORNING = time(9)


def with_start(text: str, now: datetime) -> str:
    """`text` with a DTSTART after the civil time `now`, if it has none: the next 09:00, or the next full hour if the
    rule itself names hours."""
    upper = text.upper()
    if "DTSTART" in upper or "FREQ=" not in upper:
        return text
    start = datetime.combine(now, _MORNING)
    if "BYHOUR" in upper or "FREQ=HOURLY" in upper or "FREQ=MINUTELY" in upper:
        start = now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    elif start <= now:
        start += timedelta(days=1)
    return f"DTSTART:{start:%Y%m%dT%H%M%S}\n{text.strip()}"


def read(text: str, timezone: str, work: Work) -> tuple[CalendarRule, str]:
    """`text` read in `timezone`: the rule, and its canonical text. Raises InvalidRule("rule")."""
    values: dict[str, list[str]] = defaultdict(list)
    for name, parameters, value in _lines(text):
        if name not in ("RRULE", "TRIGGER"):
            _check_zone(name, parameters, timezone)
        values[name].append(value)
    start, is_date = _start(values["DTSTART"], timezone)
    parts = [_parts(value.upper(), is_date) for value in values["RRULE"]]
    if not parts:
        raise _wrong("rrule_missing")
    if len(parts) > _MOST_RULES:
        raise _wrong("rrule_too_many", most=_MOST_RULES)
    rule, *also = (_rule(dict(one), start, timezone, work) for one in parts)
    excluded, excluded_days = _moments(values["EXDATE"], timezone)
    dates, whole_dates = _moments(values["RDATE"], timezone)
    dates |= {datetime.combine(day, time()) for day in whole_dates}
    ahead, early = _triggers(values["TRIGGER"])
    rule = replace(
        rule,
        excluded=frozenset(excluded),
        excluded_days=frozenset(excluded_days),
        also=tuple(also),
        dates=tuple(sorted(dates)),
        ahead=ahead,
        early=early,
    )
    return rule, _canonical(rule, parts)


def _triggers(values: Iterable[str]) -> tuple[timedelta, timedelta]:
    """By how much it is early on the clock, and in time that passes; the last of each."""
    ahead = early = timedelta(0)
    for value in values:
        on_clock, passing = _trigger(value)
        ahead, early = on_clock or ahead, passing or early
    return ahead, early


def _moments(values: Iterable[str], timezone: str) -> tuple[set[datetime], set[date]]:
    """The civil times of these lists, and the dates that have no time of day."""
    moments = [one for value in values for one in value.split(",")]
    times = {_civil(one, timezone, time()) for one in moments if "T" in one.upper()}
    return times, {_civil(one, timezone, time()).date() for one in moments if "T" not in one.upper()}


def _lines(text: str) -> Iterator[tuple[str, str, str]]:
    """Each property: its name, parameters and value."""
    for line in _PROPERTY.split(re.sub(r"\r?\n[ \t]", "", text)):
        if not (line := line.strip(" \t\r\n;")):
            continue
        if line.upper().startswith(_BARE):
            line = f"RRULE:{line}"
        head, colon, value = line.partition(":")
        name, _semicolon, parameters = head.partition(";")
        if not colon or name.upper() not in ("DTSTART", "RRULE", "RDATE", "EXDATE", "TRIGGER"):
            raise _wrong("rrule_property", line=line[:60])
        yield name.upper(), parameters, value.strip()


def _start(values: Sequence[str], timezone: str) -> tuple[datetime, bool]:
    """The civil time of DTSTART, and whether it is a date without one."""
    if not values:
        raise _wrong("rrule_start_missing")
    if len(values) > 1:
        raise _wrong("rrule_start_twice")
    value = values[0].upper()
    if value.endswith("Z") and timezone not in ("UTC", "Etc/UTC"):
        raise _wrong("rrule_start_in_utc", timezone=timezone)
    return _civil(value, timezone, time()), "T" not in value


def _canonical(rule: CalendarRule, parts: list[dict[str, str]]) -> str:
    lines = [f"DTSTART:{rule.start:%Y%m%dT%H%M%S}"]
    lines += ["RRULE:" + ";".join(f"{name}={value}" for name, value in one.items()) for one in parts]
    if rule.dates:
        lines.append("RDATE:" + ",".join(f"{moment:%Y%m%dT%H%M%S}" for moment in rule.dates))
    without = [f"{moment:%Y%m%dT%H%M%S}" for moment in sorted(rule.excluded)]
    without += [f"{day:%Y%m%d}" for day in sorted(rule.excluded_days)]
    if without:
        lines.append(f"EXDATE:{','.join(without)}")
    lines += triggers(rule.ahead, rule.early)
    return "\n".join(lines)


def triggers(ahead: timedelta, early: timedelta) -> Iterator[str]:
    """The lines that say so."""
    for length, is_passing in ((ahead, False), (early, True)):
        minutes, seconds = divmod(int(abs(length).total_seconds()), 60)
        if length:
            written = f"{minutes}M{seconds}S" if is_passing else f"{60 * minutes + seconds}S"
            yield f"TRIGGER:{'-' if length > timedelta(0) else ''}PT{written}"


def _trigger(value: str) -> tuple[timedelta, timedelta]:
    """How long before, on the clock and as time that passes."""
    match = _TRIGGER.fullmatch(value.upper())
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:]) if match else (0,) * 5
    days_before = timedelta(weeks=weeks, days=days)
    before = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if match is None or days_before + before > _FURTHEST_TRIGGER:
        raise _wrong("rrule_trigger", value=value[:40])
    if not (match[4] or match[5]):
        days_before, before = days_before + before, timedelta(0)
    return (days_before, before) if match[1] == "-" else (-days_before, -before)


def _rule(given: dict[str, str], start: datetime, timezone: str, work: Work) -> CalendarRule:
    """The rule of these parts. A COUNT becomes UNTIL, the time of its last slot."""
    if (frequency := given.pop("FREQ", "")) == "SECONDLY":
        raise _wrong("rrule_secondly")
    if frequency not in _FREQUENCIES:
        raise _wrong("rrule_frequency", frequencies=", ".join(_FREQUENCIES))
    if (week_start := given.pop("WKST", "MO")) not in WEEKDAYS:
        raise _wrong("rrule_week_start")
    if {"UNTIL", "COUNT"} <= given.keys():
        raise _wrong("rrule_count_and_until")
    until, count, by_day = given.pop("UNTIL", None), given.pop("COUNT", None), given.pop("BYDAY", None)
    interval = _number("INTERVAL", given.pop("INTERVAL", "1"), 1, _LONGEST_INTERVAL)
    lists: dict[str, Any] = {_LISTS[part][0]: _list(part, value, frequency) for part, value in given.items()}
    if by_day is not None:
        lists["days"] = _by_day(by_day, frequency)
    if lists.keys() == {"positions"}:
        raise _wrong("rrule_position")
    rule = CalendarRule(
        start,
        frequency,
        interval,
        week_start=WEEKDAYS.index(week_start),
        until=civil.LAST if until is None else _civil(until, timezone, time.max),
        **lists,
    )
    return rule if count is None else _counted(rule, _number("COUNT", count, 1, _LONGEST_COUNT), work)


def _counted(rule: CalendarRule, count: int, work: Work) -> CalendarRule:
    times = list(islice(rule.after(civil.FIRST, work), count))
    if times and len(times) < count:
        raise _wrong("rrule_count", count=count, year=civil.LAST.year, fewer=len(times))
    return replace(rule, until=times[-1]) if times else rule


def _parts(text: str, is_date: bool) -> dict[str, str]:
    given: dict[str, str] = {}
    for part in text.strip(";").split(";"):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or name not in _PARTS:
            raise _wrong("rrule_part", part=part[:40], parts=", ".join(_PARTS))
        if name in given:
            raise _wrong("rrule_part_twice", name=name)
        given[name] = value
    if is_date:
        # RFC 5545: of a DATE, which has no time of day, these are ignored.
        return {name: value for name, value in given.items() if name not in ("BYHOUR", "BYMINUTE")}
    return given


def _check_zone(name: str, parameters: str, timezone: str) -> None:
    for parameter in filter(None, parameters.split(";")):
        key, _equals, value = parameter.partition("=")
        if key.upper() == "TZID" and value != timezone:
            raise _wrong("rrule_zone", name=name, value=value[:60], timezone=timezone)
        if key.upper() not in ("TZID", "VALUE"):
            raise _wrong("rrule_parameter", name=name, parameter=parameter[:40])


def _civil(value: str, timezone: str, of_a_date: time) -> datetime:
    """A DATE-TIME or DATE as a civil time of the zone; one in UTC (…Z) as the clock there shows it."""
    if not (match := _MOMENT.fullmatch(value.strip().upper())):
        raise _wrong("rrule_date_format", value=value[:40])
    try:
        day = date(int(match[1]), int(match[2]), int(match[3]))
        at = time(int(match[4]), int(match[5]), int(match[6])) if match[4] else of_a_date
    except ValueError as error:
        raise _wrong("rrule_date", value=value[:40], error=str(error)) from None
    moment = datetime.combine(day, at)
    if civil.is_in_reach(moment) and match[7]:
        moment = civil.high_water(civil.zone(timezone), moment.replace(tzinfo=UTC))
    if not civil.is_in_reach(moment):
        raise _wrong("rrule_out_of_reach", value=value[:40])
    return moment


def _by_day(value: str, frequency: str) -> tuple[tuple[int, int], ...]:
    days = []
    for written in value.split(","):
        if not (match := _BYDAY.fullmatch(written.strip())):
            raise _wrong("rrule_day", written=written[:20])
        n = int(match[1] or 0)
        if match[1] and (n == 0 or frequency not in ("MONTHLY", "YEARLY") or abs(n) > 53):
            raise _wrong("rrule_day_number", written=written[:20])
        days.append((n, WEEKDAYS.index(match[2])))
    return tuple(sorted(set(days)))


def _list(part: str, value: str, frequency: str) -> tuple[int, ...]:
    _field, highest, from_end, forbidden = _LISTS[part]
    if frequency in forbidden:
        raise _wrong("rrule_part_and_frequency", part=part, frequency=frequency)
    numbers = {_number(part, written, -highest if from_end else 0, highest) for written in value.split(",")}
    if 0 in numbers and part not in ("BYHOUR", "BYMINUTE"):
        raise _wrong("rrule_zero", part=part)
    return tuple(sorted(numbers))


def _number(part: str, value: str, lowest: int, highest: int) -> int:
    value = value.strip()
    if not re.fullmatch(r"[+-]?[0-9]{1,6}", value) or not lowest <= int(value) <= highest:
        raise _wrong("rrule_number", part=part, value=value[:20], lowest=lowest, highest=highest)
    return int(value)


def _wrong(code: str, **params: Any) -> InvalidRule:
    return InvalidRule("rule", code, **params)
