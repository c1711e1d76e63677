"""Against cronsim's, Celery's and dateutil's own evaluation, where their rules and ours agree.

Where they do not is tested here too, so that the list in docs/time.md stays true.
"""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

import pytest
from celery import Celery
from celery.schedules import crontab
from cronsim import CronSim
from dateutil.rrule import rrulestr
from hypothesis import assume, given, settings, strategies as st

from schedules.rules import InvalidRule, civil, parse

from .clock_changes import clock_changes
from .rules import calendar_rules, expressions, moments, upcoming

looks = settings(max_examples=60, derandomize=True, database=None, deadline=None)
NIGHT = timedelta(hours=4, minutes=1)


def ours(expression: str, timezone: str, begin: datetime, end: datetime) -> list[datetime]:
    rule = parse("cron", {"expression": expression}, timezone)
    return upcoming(rule, begin, 5000, ends=end)


def of_cronsim(expression: str, timezone: str, begin: datetime, end: datetime) -> list[datetime]:
    slots = (slot.astimezone(UTC) for slot in CronSim(expression, begin.astimezone(ZoneInfo(timezone))))
    return list(takewhile(lambda slot: slot <= end, slots))


def of_celery(expression: str, timezone: str, begin: datetime, end: datetime) -> list[datetime]:
    """When a beat that looks every minute finds Celery's crontab due."""
    zone = ZoneInfo(timezone)
    now = begin
    minute, hour, day, month, weekday = expression.split()
    app = Celery(set_as_current=False)
    app.conf.timezone = timezone
    schedule = crontab(minute, hour, weekday, day, month, nowfun=lambda: now.astimezone(zone), app=app)
    found, last_run = [], begin
    while now < end:
        now += timedelta(minutes=1)
        if schedule.is_due(last_run.astimezone(zone)).is_due:
            found.append(now)
            last_run = now
    return found


def clock(slots: list[datetime], timezone: str) -> str:
    return " ".join(f"{slot.astimezone(ZoneInfo(timezone)):%H:%M%z}"[:-2] for slot in slots)


def shown(change: datetime, zone: ZoneInfo) -> list[datetime]:
    """What a clock shows when it is changed, and what it is changed to."""
    second = timedelta(seconds=1)
    return [civil.local(zone, change - second) + second, civil.local(zone, change)]


def has_midnight(clock: datetime, zone: ZoneInfo) -> bool:
    midnight = datetime.combine(clock.date(), time())
    return civil.local(zone, midnight.replace(tzinfo=zone).astimezone(UTC)) == midnight


@looks
@given(st.data())
def test_cronsim_agrees_through_every_clock_change(data: st.DataObject) -> None:
    timezone, instant = data.draw(moments())
    zone = ZoneInfo(timezone)
    near = instant.astimezone(zone).replace(tzinfo=None, fold=0)
    expression = data.draw(expressions(near))
    try:
        parse("cron", {"expression": expression}, timezone)
    except InvalidRule:
        return
    begin, end = instant - timedelta(hours=30), instant + timedelta(hours=40)
    # From inside a repeated hour, cronsim would fire its times a second time.
    assume(not begin.astimezone(zone).fold)
    clocks = [clock for change in clock_changes(timezone) if begin <= change <= end for clock in shown(change, zone)]
    # cronsim goes on by whole hours, and so misses what another change leaves over (Monrovia 1972, Colombo 1996).
    assume(not any(clock.minute or clock.second for clock in clocks))
    # It goes to another day or month by a midnight, and fires at one that does not exist.
    _, _, day, month, weekday = expression.split()
    assume(day == month == weekday == "*" or all(has_midnight(clock, zone) for clock in clocks))
    assert ours(expression, timezone, begin, end) == of_cronsim(expression, timezone, begin, end)


@settings(looks, max_examples=30)
@given(st.data())
def test_celery_agrees_where_no_clock_is_changed(data: st.DataObject) -> None:
    timezone, instant = data.draw(moments())
    begin, end = instant + timedelta(hours=3), instant + timedelta(hours=7)
    assume(not any(begin - timedelta(days=3) < change < end + timedelta(days=3) for change in clock_changes(timezone)))
    expression = data.draw(expressions(civil.local(ZoneInfo(timezone), begin)))
    _, _, day, month, weekday = expression.split()
    assume(day == "*" or weekday == "*")
    # Celery has no L, no 7 for Sunday, and steps from a star or a range only.
    assume("L" not in day and "7" not in weekday and "/" not in month)
    assert ours(expression, timezone, begin, end) == of_celery(expression, timezone, begin, end)


@settings(looks, max_examples=150)
@given(st.data())
def test_dateutil_agrees_on_the_first_times_of_a_calendar_rule(data: st.DataObject) -> None:
    text = data.draw(calendar_rules(datetime(2026, 2, 27, 9, 30)))  # noqa: DTZ001 - civil
    try:
        rule = parse("rrule", {"rule": text}, "UTC")
    except InvalidRule:
        return
    ten_years = datetime(2036, 1, 1, tzinfo=UTC)
    slots = [slot for slot in upcoming(rule, datetime(2000, 1, 1, tzinfo=UTC), 40) if slot < ten_years]
    theirs = [time.replace(tzinfo=UTC) for time in islice(rrulestr(text), len(slots))]
    assert slots == theirs


@pytest.mark.parametrize(
    ("expression", "timezone", "begin", "as_we_do", "as_cronsim_does", "as_celery_does"),
    [
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T23:59", "03:00+02", "03:00+02", "03:30+02"),
        ("15 */2 * * *", "Europe/Berlin", "2026-03-28T23:59", "04:15+02", "04:15+02", "03:15+02 04:15+02"),
        (
            "0 * * * *",
            "Europe/Berlin",
            "2026-10-24T23:59",
            "02:00+02 02:00+01 03:00+01 04:00+01 05:00+01",
            "02:00+02 02:00+01 03:00+01 04:00+01 05:00+01",
            "02:00+02 03:00+01 04:00+01 05:00+01",
        ),
        (
            "0 * * * *",
            "Australia/Lord_Howe",
            "2026-10-03T14:29",
            "01:00+10 03:00+11 04:00+11 05:00+11",
            "01:00+10 03:00+11 04:00+11 05:00+11",
            "01:00+10 02:30+11 03:00+11 04:00+11 05:00+11",
        ),
        (
            "0 */3 * * sun",
            "America/Sao_Paulo",
            "2017-10-15T02:00",
            "03:00-02",
            "01:00-02 03:00-02",
            "01:00-02 03:00-02",
        ),
        ("0 9 * * *", "Pacific/Apia", "2011-12-30T09:00", "00:00+14", "00:00+14", ""),
        ("0 12 13 * fri", "UTC", "2026-01-13T08:00", "12:00+00", "12:00+00", ""),
    ],
)
def test_where_we_differ_from_cronsim_and_celery(
    expression: str, timezone: str, begin: str, as_we_do: str, as_cronsim_does: str, as_celery_does: str
) -> None:
    start = datetime.fromisoformat(begin).replace(tzinfo=UTC)
    end = start + NIGHT
    assert clock(ours(expression, timezone, start, end), timezone) == as_we_do
    assert clock(of_cronsim(expression, timezone, start, end), timezone) == as_cronsim_does
    assert clock(of_celery(expression, timezone, start, end), timezone) == as_celery_does
