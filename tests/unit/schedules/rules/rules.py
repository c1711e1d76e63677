"""The next slots of a rule; and random rules that have something to do with the days around an instant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from schedules.parts.slots import Slots
from schedules.rules import Rule, Timetable

from .clock_changes import BEGIN, END, ZONES, clock_changes
from .oracle import DAY_NAMES, MONTH_NAMES

Draw = Any


def upcoming(rule: Rule, after: datetime, count: int, ends: datetime | None = None) -> list[datetime]:
    return list(islice(Slots(Timetable(rule, ends=ends)).after(after), count))


_BYDAY = ["SU", "MO", "TU", "WE", "TH", "FR", "SA"]


@st.composite
def instants(draw: Draw, timezone: str) -> datetime:
    """A whole minute from 1970 to 2100, three times in four one at which the clocks are changed."""
    changes = clock_changes(timezone)
    if changes and draw(st.integers(0, 3)):
        return draw(st.sampled_from(changes)).replace(second=0)
    return BEGIN + timedelta(minutes=draw(st.integers(0, (END - BEGIN) // timedelta(minutes=1))))


@st.composite
def moments(draw: Draw) -> tuple[str, datetime]:
    timezone = draw(st.sampled_from(ZONES))
    return timezone, draw(instants(timezone))


@st.composite
def minutes_near(draw: Draw, civil: datetime) -> datetime:
    quarters = st.integers(-6, 6).map(lambda quarter: 15 * quarter)
    near = civil + timedelta(minutes=draw(st.one_of(quarters, st.integers(-70, 70), st.integers(-1500, 1500))))
    return near.replace(second=0)


@st.composite
def data_of(draw: Draw, kind: str, timezone: str, instant: datetime) -> dict[str, Any]:
    shown = instant.astimezone(ZoneInfo(timezone)).replace(tzinfo=None, fold=0)
    near = draw(minutes_near(shown))
    time = f"{near:%H:%M}"
    if kind == "once":
        return {"at": near.isoformat()}
    if kind == "interval":
        unit = draw(st.sampled_from(["minutes", "hours", "days"]))
        anchor = instant - timedelta(minutes=draw(st.integers(-2000, 6000)))
        return {"every": draw(st.integers(1, 90)), "unit": unit, "anchor": anchor.astimezone(UTC).isoformat()}
    if kind == "daily":
        return {"time": time}
    if kind == "weekly":
        days = draw(st.sets(st.integers(0, 6), max_size=4)) | {near.weekday()}
        return {"time": time, "days": sorted(days)}
    if kind == "monthly":
        day = draw(st.one_of(st.just(near.day), st.integers(28, 31), st.just("last")))
        return {"time": time, "day": day, "short": draw(st.sampled_from(["last", "skip"]))}
    if kind == "cron":
        return {"expression": draw(expressions(near))}
    return {"rule": draw(calendar_rules(near))}


@st.composite
def expressions(draw: Draw, near: datetime) -> str:
    weekday = (near.weekday() + 1) % 7
    minute = st.sampled_from(["*", "*/5", "*/15", "*/30", "0", "0,30", "10-50/20", str(near.minute)])
    hour = st.sampled_from(["*", "*/2", "0-5", f"{near.hour}", f"{near.hour},3", f"{near.hour}-23/2"])
    day = st.sampled_from(["*", "*", "*", "*/2", f"{near.day}", f"1-{near.day}", "L"])
    month = st.sampled_from(
        ["*", "*", f"{near.month}", MONTH_NAMES[near.month - 1], f"1-{near.month}", f"{near.month}/3"]
    )
    week = st.sampled_from(["*", "*", "*/2", f"{weekday}", DAY_NAMES[weekday], "mon-fri", "0-7", "5-7"])
    return " ".join(draw(field) for field in (minute, hour, day, month, week))


@st.composite
def calendar_rules(draw: Draw, near: datetime) -> str:
    """Texts that dateutil and RFC 5545 understand alike (see docs/time.md for where they do not)."""
    frequency = draw(st.sampled_from(["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY"]))
    parts = [f"FREQ={frequency}"]
    if draw(st.booleans()):
        parts.append(
            f"INTERVAL={draw(st.integers(1, 4) if frequency in ('YEARLY', 'MONTHLY') else st.integers(1, 50))}"
        )
    if draw(st.booleans()):
        parts.append(f"WKST={draw(st.sampled_from(_BYDAY))}")
    if draw(st.integers(0, 3)) == 0:
        parts.append(f"BYMONTH={draw(_numbers(st.integers(1, 12), near.month))}")
    has_days = draw(st.booleans())
    if has_days:
        parts.append(f"BYDAY={draw(_weekdays(frequency, near))}")
    if frequency != "WEEKLY" and draw(st.integers(0, 2)) == 0:
        parts.append(f"BYMONTHDAY={draw(_numbers(st.integers(-31, 31).filter(bool), near.day))}")
    if frequency in ("YEARLY", "HOURLY", "MINUTELY") and draw(st.integers(0, 5)) == 0:
        parts.append(f"BYYEARDAY={draw(_numbers(st.integers(-366, 366).filter(bool), near.timetuple().tm_yday))}")
    if draw(st.integers(0, 2)) == 0:
        parts.append(f"BYHOUR={draw(_numbers(st.integers(0, 23), near.hour))}")
    if draw(st.integers(0, 2)) == 0:
        parts.append(f"BYMINUTE={draw(_numbers(st.integers(0, 59), near.minute))}")
    if has_days and frequency in ("YEARLY", "MONTHLY") and draw(st.booleans()):
        parts.append(f"BYSETPOS={draw(_numbers(st.integers(-5, 5).filter(bool), 1))}")
    start = near - timedelta(days=draw(st.integers(0, 12)))
    ending = draw(st.integers(0, 3))
    if ending == 0:
        parts.append(f"COUNT={draw(st.integers(1, 60))}")
    elif ending == 1:
        parts.append(f"UNTIL={near + timedelta(hours=draw(st.integers(0, 72))):%Y%m%dT%H%M%S}")
    lines = [f"DTSTART:{start:%Y%m%dT%H%M%S}", f"RRULE:{';'.join(parts)}"]
    if draw(st.integers(0, 3)) == 0:
        lines.append(f"EXDATE:{near:%Y%m%dT%H%M%S}")
    return "\n".join(lines)


def _numbers(some: st.SearchStrategy[int], always: int) -> st.SearchStrategy[str]:
    return st.lists(some, max_size=3).map(lambda drawn: ",".join(str(number) for number in [*drawn, always]))


@st.composite
def _weekdays(draw: Draw, frequency: str, near: datetime) -> str:
    today = _BYDAY[(near.weekday() + 1) % 7]
    others = draw(st.lists(st.sampled_from(_BYDAY), max_size=3))
    # All with a number or none: dateutil wants both to hold where RFC 5545 adds them up.
    if frequency in ("MONTHLY", "YEARLY") and draw(st.booleans()):
        return ",".join(f"{draw(st.integers(-5, 5).filter(bool))}{day}" for day in [*others, today])
    return ",".join([*others, today])
