"""The grammar of quick add: a table of rules that make one piece of several, from the small to the large."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache
from typing import Any

from schedules.quick_add.days import Day, Step, feast, later, next_week
from schedules.quick_add.hints import NotUnderstood
from schedules.quick_add.pieces import KIND_SETS, Clock, Piece, lexicon
from schedules.rules.repetition import WORKDAY


@dataclass(frozen=True)
class Rule:
    kind: str
    pattern: str
    make: Callable[..., Any]

    @property
    def wants(self) -> set[str]:
        return set(self.make.__code__.co_varnames[: self.make.__code__.co_argcount]) & {"pieces", "today", "before"}


def _step(n: float, u: str) -> Step | None:
    """Whole units: 1.5 hours are 90 minutes."""
    if n == int(n):
        return int(n), u
    smaller, factor = {
        "hours": ("minutes", 60),
        "minutes": ("seconds", 60),
        "days": ("hours", 24),
        "years": ("months", 12),
    }.get(u, ("", 0))
    return (int(n * factor), smaller) if smaller else None


def _every(s: Step) -> Step:
    return (3 * s[0], "months") if s[1] == "quarters" else s


def _weekdays(pieces: list[Piece]) -> Day:
    days = [piece.kinds[kind] for piece in pieces for kind in ("plural", "weekday", "weakday") if kind in piece.kinds]
    return Day(weekdays=tuple(sorted(set(days))), repeats=any("plural" in piece.kinds for piece in pieces))


def _from_to(a: int, b: int) -> Day:
    return Day(weekdays=tuple(sorted({(a + step) % 7 for step in range((b - a) % 7 + 1)})), repeats=True)


def _nth(n: int, d: int, o: Day | None = None) -> Day:
    if n not in (1, 2, 3, 4, -1):
        raise NotUnderstood("every")
    return replace(o or Day(), nth=n, weekday=d)


def _nth_day(n: int, u: str, o: Day | None = None) -> Day | None:
    if u != "days":
        return None
    if o is not None and o.every == (12, "months"):
        return Day(day=31, month=12) if n == -1 else None
    return replace(o or Day(), day=n).checked()


def _of_unit(u: str, n: int = 1, every: bool = False) -> Day | None:
    months = {"months": 1, "quarters": 3, "years": 12}.get(u, 0) * n
    return Day(every=(months, "months"), repeats=every, is_of=True) if months else None


def _of_month(today: date, u: str, ahead: int) -> Day | None:
    if u != "months":
        return None
    there = (today.replace(day=1) + timedelta(days=32 * ahead)).replace(day=1)
    return Day(month=there.month, year=there.year, is_of=True)


def _next(u: str, today: date) -> Day | None:
    first = today.replace(day=1)
    found = {
        "days": Day(exact=today + timedelta(days=1)),
        "weeks": next_week(today),
        "months": Day(exact=(first + timedelta(days=32)).replace(day=1)),
        "years": Day(exact=date(today.year + 1, 1, 1)),
    }
    return found.get(u)


def _in_week(d: int, u: str, today: date, weeks: int) -> Day | None:
    return next_week(today, d, weeks) if u == "weeks" else None


def _end_of(u: str) -> Day | None:
    return {"months": Day(day=-1), "years": Day(day=31, month=12)}.get(u)


def _date(d: int, m: int, y: int = 0) -> Day | None:
    return Day(day=d, month=m, year=y).checked() if d > 0 else None


def _span(a: int, d: Day | None) -> Day | None:
    return replace(d, day=a, until=d) if d and d.day > a > 0 and d.month else None


def _days_span(a: Day, b: Day) -> Day | None:
    has_dates = all(one.exact or one.day or (len(one.weekdays) == 1 and not one.repeats) for one in (a, b))
    return replace(a, year=a.year or b.year, until=b) if has_dates and not a.until else None


def _with_weekday(w: int, d: Day) -> Day | None:
    return replace(d, said=w) if d.exact or d.day > 0 else None


def _later_day(d: list[Step], t: Day, today: date) -> Day | None:
    first = t.exact or (
        next_week(today, t.weekdays[0], int(t.weekdays[0] <= today.weekday())).exact if len(t.weekdays) == 1 else None
    )
    if first is None or any(unit in ("seconds", "minutes", "hours") for _, unit in d):
        return None
    return Day(exact=later(_midnight(first), d).date())


def _midnight(day: date) -> Any:
    from datetime import datetime, time

    return datetime.combine(day, time())


def _every_day(d: Day, n: int = 1) -> Day | None:
    """A repetition of the day, as in "every Friday" or "every 2nd Tuesday of the month"."""
    if d.exact or d.year or d.easter is not None or d.until or n < 1 or (n > 1 and not d.weekdays):
        raise NotUnderstood("every")
    if d.nth in (2, 3, 4) and not d.is_of:
        raise NotUnderstood("which", n=d.nth, day=d.weekday)
    weekdays = (5, 6) if d.weekdays == (5,) and d.weekday == 5 else d.weekdays
    return replace(
        d, weekdays=weekdays, weekday=d.weekday if d.nth else 0, repeats=True, every=(n, "weeks") if n > 1 else d.every
    )


def _hour(h: int, m: int = 0) -> Clock | None:
    return Clock(h, m, is_open=1 <= h <= 12) if 0 <= h < 24 and 0 <= m < 60 else None


def _clock(t: Any) -> Clock | None:
    if isinstance(t, int):
        return _hour(t)
    found: Clock | None = t[0] if isinstance(t, tuple) else t
    return found


def _past(m: float, h: Any) -> tuple[Clock, ...] | None:
    """`m` minutes past `h`, which is an hour or a time; before it if `m` is negative."""
    at = _clock(h)
    if at is None or at.minute or not -60 < m < 60:
        return None
    hour = at.hour if m >= 0 else (at.hour - 1) % 24
    if at.is_open and hour == 0:
        hour = 12
    return (replace(at, hour=hour, minute=int(m % 60)),)


def _meridiem(h: int, pm: bool, m: int = 0) -> tuple[Clock, ...] | None:
    return (Clock(h % 12 + 12 * pm, m, has_half=True),) if 1 <= h <= 12 and 0 <= m < 60 else None


def _one(h: Any) -> tuple[Clock, ...] | None:
    found = _clock(h)
    return None if found is None else (found,)


def _times(pieces: list[Piece]) -> tuple[Clock, ...] | None:
    found: list[Clock] = []
    for piece in pieces:
        value = next((piece.kinds[kind] for kind in ("time", "clock", "num") if kind in piece.kinds), None)
        if value is not None:
            at = value if isinstance(value, tuple) else (_clock(value),)
            if None in at:
                return None
            found += at
    return tuple(found)


def _hours(a: Any, b: Any) -> tuple[Clock, Clock] | None:
    """A span of the day: "2 to 4pm" begins at 14:00, "11-1pm" at 11:00."""
    first, last = _clock(a), _clock(b)
    if first is None or last is None:
        return None
    if first.is_open and not last.is_open and not last.has_half:
        first = replace(first, is_open=False)  # on a clock of 24 hours
    elif first.is_open and not last.is_open:
        afternoon = replace(first, hour=first.hour % 12 + 12, is_open=False)
        morning = replace(first, hour=first.hour % 12, is_open=False)
        if last.hour >= 12:
            return afternoon if afternoon.time < last.time else morning, last
        first = afternoon if morning.time > last.time else morning
    return first, last


def _steps(pieces: list[Piece]) -> list[Step]:
    return [piece.kinds["step"] for piece in pieces if "step" in piece.kinds]


def _has_month(piece: Piece) -> bool:
    day = piece.kinds.get("day")
    return isinstance(day, Day) and day.month > 0


_FRACTIONS = {"1/2": 0.5, "1/4": 0.25, "3/4": 0.75}
_D = "weekday/weakday"
_M = "month/weakmonth"
_TO = "(?:to|dash|until)"
_USED = "day/rep/time/inpart/adverb/wait/hours"
_AT = "(?:at|on|las)?"


def _rules() -> list[Rule]:
    table: list[tuple[str, str, Callable[..., Any]]] = [
        # Lengths, but not those around an hour.
        ("time", f"{_AT} a? quarter past h:num/clock/named", lambda h: _past(15, h)),
        ("time", f"{_AT} a? quarter before h:num/clock/named", lambda h: _past(-15, h)),
        ("step", "a? quarter of? a u:unit", lambda u: (15, "minutes") if u == "hours" else None),
        ("step", "n:num quarter of? a u:unit", lambda n, u: (15 * n, "minutes") if u == "hours" else None),
        ("step", "half a? u:unit", lambda u: _step(0.5, u)),
        ("step", "a half u:unit", lambda u: _step(0.5, u)),
        ("step", "n:num and a half u:unit", lambda n, u: _step(n + 0.5, u)),
        ("step", "n:num/a u:unit and a? half(?!past|num)", lambda n, u: _step(n + 0.5, u)),
        ("step", "n:decimal u:unit", _step),
        ("step", "n:num workdays", lambda n: (n, "workdays")),
        ("step", "f:slashed a? u:unit/hmark", lambda f, u: _step(_FRACTIONS[f], u) if f in _FRACTIONS else None),
        ("step", "(?<=in/every/everyn/for/and/step)n:num u:hmark", _step),
        ("step", "n:num u:hmark(?=now|from|num)", _step),
        ("step", "n:num u:unit/second", _step),
        ("step", "a u:unit", lambda u: (1, u)),
        ("step", "(?<=in)m:hm", lambda m: (m, "minutes")),
        # Repetitions.
        ("rep", "once s:step", _every),
        ("rep", "once (?:in|on) u:unit", lambda u: (1, u)),
        ("rep", "once (?:a|every) u:unit", lambda u: _every((1, u))),
        ("rep", "every (?:a )?s:step", _every),
        ("rep", "every n:ord/nth u:unit(?!of)", lambda n, u: _every((n, u))),
        ("rep", "every other u:unit", lambda u: _every((2, u))),
        ("rep", "everyn s:step", _every),
        ("rep", "every u:unit", lambda u: _every((1, u))),
        ("dur", "step(?:(?:and)? step)*", lambda pieces: _steps(pieces)),
        ("day", "every n:num/ord/nth? p:part", lambda p, n=1: Day(every=(n, "days"), part=p, repeats=True)),
        # Days of a month.
        ("ord", f"n:num stop(?={_M}|unit)", lambda n: n),
        ("nth", "(?<=on/the/from/until/every/starting)n:num stop(?!num)", lambda n: n if n < 32 else None),
        ("day", f"d:nth/ord of? m:{_M} stop? (?:and? of?)? y:year", _date),
        ("day", f"d:nth/ord of? m:{_M}", _date),
        ("day", f"dayword? d:num dash? of? m:{_M} (?:stop|and|of|dash)? y:year", _date),
        ("day", "dayword? d:num of? m:month(?!dash num)", _date),
        (
            "day",
            "dayword? d:num of? m:weakmonth(?!dash num)",
            lambda d, m, pieces: (
                _date(d, m) if any(piece.text[0].isdigit() for piece in pieces) or len(pieces) > 2 else None
            ),
        ),
        ("day", f"m:{_M} stop? the? d:nth/ord/num and? y:year", lambda m, d, y: _date(d, m, y)),
        (
            "span",
            f"m:{_M} a:num/nth (?:to|dash|until) d:num/nth(?!clock|oclock) and? y:year?",
            lambda m, a, d, y=0: _span(a, _date(d, m, y)),
        ),
        (
            "day",
            f"m:{_M} stop? the? d:nth/ord/num(?!oclock|inpart|dash num|unit)",
            lambda m, d: _date(d, m) if d < 32 else None,
        ),
        ("day", "d:ymd", lambda d: Day(year=d[0], month=d[1], day=d[2]).checked()),
        (
            "day",
            "f:feast (?:of|in)? the? next u:unit",
            lambda f, u, today: feast(f, today.year + 1) if u == "years" else None,
        ),
        ("day", "f:feast y:year?", lambda f, y=0: feast(f, y)),
        ("span", "(?:from|between)? on? the? a:num/nth/ord stop? (?:to|dash|until|and) the? d:day", _span),
        ("day", "d:span", lambda d: d),
        ("ofunit", "(?:of|in) (?:the )?(?:every|a) s:dur", lambda s: _of_unit(s[0][1], s[0][0], True)),
        ("ofunit", "(?:of|in) e:rep", lambda e: _of_unit(e[1], e[0], True)),
        ("ofunit", "(?:of|in) a u:unit", lambda u: _of_unit(u, 1, True)),
        ("ofunit", "(?:of|in) (?:every|a) m:month/weakmonth", lambda m: Day(month=m, is_of=True, repeats=True)),
        ("ofunit", "(?:of|in)+ the? next u:unit", lambda u, today: _of_month(today, u, 1)),
        ("ofunit", "(?:of|in)+ this u:unit", lambda u, today: _of_month(today, u, 0)),
        ("ofunit", "(?:of|in) the? u:unit", _of_unit),
        ("inmonth", f"in m:{_M} of? y:year?", lambda m, y=0: Day(month=m, year=y, is_of=True)),
        ("ofunit", f"of m:{_M} of? y:year", lambda m, y: Day(month=m, year=y, is_of=True)),
        ("ofunit", f"of m:{_M}", lambda m: Day(month=m, is_of=True)),
        ("span", "from? a:num/nth (?:to|dash|until) b:num/nth o:ofunit", lambda a, b, o: _span(a, replace(o, day=b))),
        ("day", "d:span", lambda d: d),
        ("day", f"n:ord/nth d:{_D} o:ofunit/inmonth?", _nth),
        ("day", f"last d:{_D} o:ofunit/inmonth?", lambda d, o=None: _nth(-1, d, o)),
        ("day", "n:ord/nth workday o:ofunit/inmonth?", lambda n, o=None: _nth(n, WORKDAY, o)),
        ("day", "last workday o:ofunit/inmonth?", lambda o=None: _nth(-1, WORKDAY, o)),
        ("day", "n:ord/nth u:unit o:ofunit/inmonth", _nth_day),
        ("day", "last u:unit o:ofunit/inmonth", lambda u, o: _nth_day(-1, u, o)),
        ("day", "(?<=every)last u:unit", lambda u: _nth_day(-1, u)),
        ("day", "(?<=rep)(?:on|the)+ last u:unit", lambda u: _nth_day(-1, u)),
        ("day", "n:nth/ord o:ofunit", lambda n, o: replace(o, day=n).checked()),
        ("day", "n:num o:ofunit", lambda n, o: replace(o, day=n).checked() if o.year else None),
        ("day", "on/the/dayword n:num o:ofunit", lambda n, o: replace(o, day=n).checked()),
        ("day", "(?<=every)on/the n:num(?!unit|oclock|hmark|times)", lambda n: Day(day=n).checked()),
        ("day", f"w:{_D} and? on? the? d:day", _with_weekday),
        ("day", f"w:{_D} and? on? the? d:nth/ord", lambda w, d: Day(day=d, said=w).checked()),
        ("day", f"w:{_D} d:num(?=at|clock)", lambda w, d: Day(day=d, said=w) if d < 32 else None),
        ("day", f"w:{_D} d:num stop(?!$)", lambda w, d: Day(day=d, said=w).checked()),
        (
            "day",
            f"w:{_D} d:num(?!unit|oclock|hmark|times|and|stop|to|dash|am|pm|inpart|num)",
            lambda w, d: Day(day=d, said=w) if 12 < d < 32 else None,
        ),
        ("day", "(?<=every/from/until/starting/rep)(?:on|the)* d:nth(?!num|unit)", lambda d: Day(day=d).checked()),
        ("day", "(?:on|the)+ d:nth(?!num|unit)", lambda d: Day(day=d).checked()),
        ("day", "(?:on|the)+ d:num(?=at|clock|$)", lambda d: Day(day=d).checked() if 12 < d < 32 else None),
        ("day", "dayword d:num", lambda d: Day(day=d).checked()),
        ("day", "d:nth(?=at|clock|$)", lambda d: Day(day=d).checked()),
        ("day", "endof the? u:unit", _end_of),
        (
            "day",
            "endof o:ofunit",
            lambda o: {1: Day(day=-1), 12: Day(day=31, month=12)}.get(o.every[0]) if o.every else None,
        ),
        ("day", f"endof of? m:{_M} y:year?", lambda m, y=0: Day(day=-1, month=m, year=y)),
        # Weekdays and the days around today.
        ("day", f"next u:unit on? d:{_D}", lambda u, d, today: _in_week(d, u, today, 1)),
        ("day", f"d:{_D} (?:of|in)? the? next u:unit", lambda d, u, today: _in_week(d, u, today, 1)),
        ("day", f"(?:on )?d:{_D} (?:of|in)? this u:unit", lambda d, u, today: _in_week(d, u, today, 0)),
        ("day", f"this u:unit on? d:{_D}", lambda u, d, today: _in_week(d, u, today, 0)),
        ("day", f"the? u:unit nextafter on? d:{_D}", lambda u, d, today: _in_week(d, u, today, 1)),
        ("day", f"d:{_D} (?:of|in)? the? u:unit nextafter", lambda d, u, today: _in_week(d, u, today, 1)),
        ("day", "the? next u:unit", _next),
        ("day", "the? u:unit nextafter", _next),
        ("day", f"this next d:{_D}", lambda d, today: next_week(today, d, int(d <= today.weekday()))),
        ("day", f"next d:{_D}", lambda d, today: next_week(today, d)),
        ("day", f"coming d:{_D}", lambda d, today: next_week(today, d, int(d <= today.weekday()))),
        ("day", "the? coming u:unit", _next),
        ("day", "the? u:unit afternext", lambda u, today: next_week(today, 0, 2) if u == "weeks" else None),
        ("day", "next d:daypart", lambda d, today: replace(next_week(today, d[0]), part=d[1])),
        ("day", "next weekend", lambda today: next_week(today, 5)),
        ("day", "(?:next|this) f:day", lambda f: f if f.month or f.easter is not None else None),
        ("day", f"n:num d:plural/{_D} now", lambda n, d, today: next_week(today, d, n - (d > today.weekday()))),
        ("day", f"(?<=every)a:{_D} (?:to|dash) b:{_D}", _from_to),
        (
            "day",
            f"(?:from )?a:{_D} (?:to|dash) b:{_D}",
            lambda a, b: _from_to(a, b) if (a, b) == (0, 4) else Day(weekdays=(a,), until=Day(weekdays=(b,))),
        ),
        ("day", f"(?:{_D}|plural)(?: and+ on? the? (?:{_D}|plural))+", lambda pieces: _weekdays(pieces)),
        ("day", "w:plural", lambda w: Day(weekdays=(w,), repeats=True)),
        ("day", "w:weekday", lambda w: Day(weekdays=(w,))),
        ("day", f"(?<=on/every/from/until/starting/other/except/{_USED})w:weakday", lambda w: Day(weekdays=(w,))),
        ("day", "w:weakday(?=clock|num)", lambda w: Day(weekdays=(w,))),
        ("day", "(?<=every/other/except)workday", lambda: Day(weekdays=(0, 1, 2, 3, 4), repeats=True)),
        ("day", "workdays", lambda: Day(weekdays=(0, 1, 2, 3, 4), repeats=True)),
        ("day", "weekends", lambda: Day(weekdays=(5, 6), repeats=True)),
        ("day", "weekend", lambda: Day(weekdays=(5,), weekday=5)),
        ("day", "d:daypart", lambda d: Day(weekdays=(d[0],), part=d[1])),
        ("day", "d:day p:part", lambda d, p: replace(d, part=p)),
        ("time", "h:num(?=tonight)", _one),
        ("day", "tonight", lambda today: Day(exact=today, part="night")),
        ("day", "this p:part", lambda p, today: Day(exact=today, part=p)),
        ("day", "r:rel", lambda r, today: Day(exact=today + timedelta(days=r))),
        ("day", "d:day p:part", lambda d, p: None if d.part else replace(d, part=p)),
        ("day", "o:inmonth", lambda o: replace(o, is_of=False)),
        ("day", f"m:{_M} y:year", lambda m, y: Day(month=m, year=y)),
        ("day", f"(?<=every/until/from/starting/day)m:{_M}", lambda m: Day(month=m)),
        ("day", "(?<=every)n:ord/nth d:day", lambda n, d: None),
        ("day", f"(?<=every)w:{_D}", lambda w: Day(weekdays=(w,))),
        ("day", "(?:from|between)? on? the? a:day (?:to|dash) on? the? b:day", _days_span),
        ("day", "between on? the? a:day and on? the? b:day", _days_span),
        ("day", "(?<=day)o:ofunit", lambda o: replace(o, is_of=False) if o.month and not o.every else None),
        # Waits, and days counted from others.
        ("day", "for d:dur from/starting t:day", lambda d, t: replace(t, until=t)),
        ("day", "in? d:dur from (?:the )?t:day", _later_day),
        (
            "day",
            "t:day in d:dur",
            lambda t, d, today: _later_day(d, t, today) if t.exact and t.exact >= today else None,
        ),
        ("wait", "in (?:a )?d:dur", lambda d: d),
        ("wait", "d:dur now", lambda d: d),
        ("over", "d:dur ago", lambda d: d),
        ("over", "agobefore d:dur", lambda d: d),
        ("over", "last (?:unit|month|weakmonth|part|weekend|feast|second)", lambda: True),
        ("count", "(?:for )?n:num times", lambda n: n),
        ("count", "for n:count", lambda n: n),
        ("length", "for d:dur", lambda d: d),
        ("length", "d:dur long", lambda d: d),
        # Times of day.
        ("inpart", "in the p:part", lambda p: p),
        ("inpart", "at p:part", lambda p: p if p == "night" else None),
        ("time", f"{_AT} half past h:num/clock", lambda h: _past(30, h)),
        ("time", f"{_AT} halfto h:num(?!unit)", lambda h: _past(-30, h) if 1 <= h <= 12 else None),
        ("time", f"{_AT} threequarters h:num", lambda h: _past(-15, h)),
        (
            "time",
            f"{_AT} d:dur past h:num/clock/named",
            lambda d, h: _past(d[0][0], h) if d[0][1] == "minutes" else None,
        ),
        (
            "time",
            f"{_AT} d:dur before h:num/clock/named",
            lambda d, h: _past(-d[0][0], h) if d[0][1] == "minutes" else None,
        ),
        ("time", f"{_AT} m:num past h:num/clock/named", _past),
        ("time", f"{_AT} m:num before h:named", lambda m, h: _past(-m, h)),
        ("time", "at/las h:num/clock and half", lambda h: _past(30, h)),
        ("time", "at/las h:num/clock and quarter", lambda h: _past(15, h)),
        ("time", "at/las h:num/clock minus quarter", lambda h: _past(-15, h)),
        ("time", "las h:num and m:num(?!at|las|unit|of)", lambda h, m: _past(m, h) if m >= 10 else None),
        ("time", "at/las h:num minus m:num", lambda h, m: _past(-m, h)),
        ("time", f"{_AT} h:num m:num? am", lambda h, m=0: _meridiem(h, False, m)),
        ("time", f"{_AT} h:num m:num? pm", lambda h, m=0: _meridiem(h, True, m)),
        ("time", f"{_AT} n:num? h:named", lambda h, n=12: (Clock(h),) if n == 12 else None),
        ("time", f"{_AT} h:clock oclock/hmark? sharp?", _one),
        ("time", "at h:dot oclock/hmark?", _one),
        ("time", "h:dot oclock/hmark", _one),
        ("time", "at? h:num oclock/hmark m:num?", lambda h, m=0: _one(_hour(h, m))),
        (
            "time",
            "h:num m:num(?!unit|month|weakmonth|times|of)",
            lambda h, m, pieces: (
                _one(_hour(h, m)) if m >= 10 and all(piece.text.isalpha() for piece in pieces) else None
            ),
        ),
        ("time", "at h:num m:num(?!unit|month|times)", lambda h, m: _one(_hour(h, m)) if m >= 10 else None),
        ("hours", f"(?:from|at)? a:num/time at? {_TO} b:time", _hours),
        ("hours", f"from a:num/time at? {_TO} b:num(?!of|in|month|weakmonth|unit)", _hours),
        ("hours", f"(?<={_USED})a:num/time {_TO} b:num", _hours),
        ("hours", f"a:num/time {_TO} b:num(?=inpart)", _hours),
        ("hours", "between (?:at|las)? a:num/time (?:and|to|dash|until) (?:at|las)? b:num/time", _hours),
        ("hours", "a:time dash b:num(?!of|in|month|weakmonth|unit|dash)", _hours),
        ("time", "at h:num sharp?(?!unit|month|times|dur|of)", _one),
        ("time", "h:num(?=inpart)", _one),
        ("time", f"(?<={_USED})h:dot", _one),
        ("time", "time(?: and+ at? (?:num|clock|time))+(?!unit|dur)", lambda pieces: _times(pieces)),
        # What is around a day or a time.
        ("day", "(?:on|the|this)+ d:day", lambda d: d),
        ("day", "every other d:day", lambda d: _every_day(d, 2)),
        ("day", "every n:num/ord/nth? d:day", lambda d, n=1: _every_day(d, n)),
        ("rep", "every(?=time)", lambda: (1, "days")),
        (
            "time",
            "(?<=day/rep/inpart/adverb)h:num(?!unit|month|weakmonth|times|to|dash|of|dur|stop num)",
            lambda h, before: None if h > 12 and _has_month(before) else _one(h),
        ),
        ("without", "except (?:on|for)? d:day", lambda d: d.weekdays or None),
        ("ends", "until (?:on|the|at)? d:day", lambda d: d),
        ("ends", "until y:year", lambda y: Day(exact=date(y - 1, 12, 31))),
        ("ends", "until at? t:time/num", _clock),
        ("begins", "(?:from|starting) (?:on|the|from)? d:day", lambda d: d),
        ("begins", "(?:starting|from) at? t:time", _clock),
        ("count", "(?<=day/rep/time)n:count", lambda n: n),
        ("inpart", "(?<=day/rep)p:part", lambda p: p),
    ]
    return [Rule(kind, pattern, make) for kind, pattern, make in table]


class Grammar:
    """The rules of a language. Each set of kinds is one character, so that a rule is a regular expression."""

    def __init__(self, language: str) -> None:
        rules = _rules()
        sets = {frozenset(kinds) for kinds in [*KIND_SETS, *lexicon(language).phrases.values()]}
        sets |= {frozenset({rule.kind}) for rule in rules} | {frozenset({"zoneid"})}
        self._characters = {kinds: chr(0xE000 + at) for at, kinds in enumerate(sorted(sets, key=sorted))}
        self._rules = [(rule, self._compiled(rule.pattern)) for rule in rules]

    def _compiled(self, pattern: str) -> re.Pattern[str]:
        def one(found: re.Match[str]) -> str:
            kinds = set(found[2].split("/"))
            # A kind that no word of the language has matches nothing.
            characters = "".join(sign for of, sign in self._characters.items() if of & kinds) or "\uf8ff"
            return f"(?P<{found[1]}>[{characters}])" if found[1] else f"[{characters}]"

        return re.compile(re.sub(r"(?:([a-z]\d?):)?([a-z]+(?:/[a-z]+)*)", one, pattern).replace(" ", ""))

    def reduced(self, pieces: list[Piece], line: str, today: date) -> list[Piece]:
        """The pieces, with the larger ones in place of what they are made of."""
        for rule, pattern in self._rules:
            signs = self._signs(pieces)
            at = 0
            while found := pattern.search(signs, at):
                begin, end = found.span()
                made = _made(rule, found, pieces, line, today)
                if made is None:
                    at = begin + 1
                    continue
                start, stop = pieces[begin].start, pieces[end - 1].end
                pieces = [*pieces[:begin], Piece({rule.kind: made}, start, stop, text=line[start:stop]), *pieces[end:]]
                signs = self._signs(pieces)
                at = begin + (rule.kind != "day")
        return pieces

    def _signs(self, pieces: list[Piece]) -> str:
        return "".join(self._characters[frozenset(piece.kinds)] for piece in pieces)


def _made(rule: Rule, found: re.Match[str], pieces: list[Piece], line: str, today: date) -> Any:
    begin, end = found.span()
    given: dict[str, Any] = {"pieces": pieces[begin:end], "today": today, "before": pieces[begin - 1]}
    values = {name: given[name] for name in rule.wants}
    for name, sign in found.groupdict().items():
        if sign is not None:
            values[name] = _value(pieces[found.start(name)].kinds, rule.pattern, name)
    text = line[pieces[begin].start : pieces[end - 1].end]
    try:
        return rule.make(**values)
    except NotUnderstood as error:
        raise NotUnderstood(error.code, text, (), **error.named) from None
    except (ValueError, OverflowError):
        raise NotUnderstood("date", text) from None


def _value(kinds: Mapping[str, Any], pattern: str, name: str) -> Any:
    wanted = re.search(rf"\b{name}:([a-z/]+)", pattern)
    value = next(kinds[kind] for kind in wanted[1].split("/") if kind in kinds) if wanted else None
    return 1 if value is True else value


@cache
def grammar(language: str) -> Grammar:
    return Grammar(language)
