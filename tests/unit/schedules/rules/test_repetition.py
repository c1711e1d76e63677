"""Repetitions as calendars offer them: to the text of a calendar rule and back, and in words."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import Any

import pytest

from schedules.rules import InvalidRule, Work, parse, repetition, rrule_text
from schedules.rules.repetition import WORKDAY, Repetition

SUNDAY = datetime(2026, 11, 22, 12)  # noqa: DTZ001 - civil

# The repetition, its first times from a Sunday at noon, and its words.
EXAMPLES: list[tuple[dict[str, Any], list[str], str]] = [
    ({"frequency": "DAILY", "interval": 3}, ["2026-11-23", "2026-11-26"], "Every 3 days at 09:00"),
    # Counting from the first of the days, not from the week that is ending.
    (
        {"frequency": "WEEKLY", "interval": 2, "days": (0, 3)},
        ["2026-11-23", "2026-11-26", "2026-12-07"],
        "Every 2 weeks on Monday and Thursday at 09:00",
    ),
    (
        {"frequency": "MONTHLY", "nth": -1, "weekday": 4},
        ["2026-11-27", "2026-12-25"],
        "On the last Friday of every month at 09:00",
    ),
    (
        {"frequency": "MONTHLY", "interval": 3, "nth": 2, "weekday": 1},
        ["2026-12-08", "2027-03-09"],
        "On the second Tuesday of every 3 months at 09:00",
    ),
    (
        {"frequency": "MONTHLY", "nth": -1, "weekday": WORKDAY},
        ["2026-11-30", "2026-12-31", "2027-01-29"],
        "On the last weekday of every month at 09:00",
    ),
    (
        {"frequency": "MONTHLY", "interval": 2, "day": 30},
        ["2026-11-30", "2027-01-30", "2027-03-30"],
        "On the 30th of every 2 months (the last day in shorter months) at 09:00",
    ),
    (
        {"frequency": "MONTHLY", "interval": 3, "day": 29, "short": "last"},
        ["2026-11-29", "2027-02-28", "2027-05-29"],
        "On the 29th of every 3 months (the last day in shorter months) at 09:00",
    ),
    (
        {"frequency": "MONTHLY", "interval": 3, "day": 31, "short": "skip"},
        ["2026-12-31", "2027-03-31", "2027-12-31"],
        "On the 31st of every 3 months (if there is one) at 09:00",
    ),
    (
        {"frequency": "MONTHLY", "interval": 2, "day": -1},
        ["2026-11-30", "2027-01-31"],
        "On the last day of every 2 months at 09:00",
    ),
    (
        {"frequency": "YEARLY", "month": 3, "day": 7},
        ["2027-03-07", "2028-03-07"],
        "Every year on the 7th of March at 09:00",
    ),
    (
        {"frequency": "YEARLY", "month": 5, "nth": 2, "weekday": 6},
        ["2027-05-09", "2028-05-14"],
        "Every year on the second Sunday of May at 09:00",
    ),
    (
        {"frequency": "YEARLY", "month": 2, "day": 29},
        ["2027-02-28", "2028-02-29"],
        "Every year on the 29th of February (the last day in shorter months) at 09:00",
    ),
    (
        {"frequency": "YEARLY", "interval": 4, "month": 2, "day": 29, "short": "skip"},
        ["2028-02-29", "2032-02-29"],
        "Every 4 years on the 29th of February (if there is one) at 09:00",
    ),
    (
        {"frequency": "YEARLY", "month": 3, "nth": -1, "weekday": WORKDAY},
        ["2027-03-31", "2028-03-31"],
        "Every year on the last weekday of March at 09:00",
    ),
]


@pytest.mark.parametrize(("given", "days", "words"), EXAMPLES, ids=[words for _, _, words in EXAMPLES])
def test_a_repetition_is_a_calendar_rule_and_is_found_in_it_again(
    given: dict[str, Any], days: list[str], words: str
) -> None:
    repeats = Repetition(**{"interval": 1, "time": time(9)} | given)
    rule, text = rrule_text.read(repeats.text(SUNDAY), "UTC", Work())
    times = rule.after(SUNDAY, Work())
    assert [f"{next(times):%Y-%m-%d %H:%M}" for _ in days] == [f"{day} 09:00" for day in days]
    assert rule.start == next(rule.after(SUNDAY - timedelta(hours=12), Work()))
    assert repetition.of(rule) == repeats
    assert repeats.text(rule.start) == text
    assert parse("rrule", {"rule": text}, "UTC").describe() == f"{words}, UTC, from {rule.start:%-d %B %Y}"


def test_the_31st_or_else_the_last_day_is_the_last_day() -> None:
    repeats = Repetition("YEARLY", 1, time(9), day=31, month=12)
    assert repeats.text(SUNDAY).endswith("BYMONTH=12;BYMONTHDAY=-1")


def test_a_day_that_the_month_never_has_is_refused_at_its_field() -> None:
    with pytest.raises(InvalidRule) as caught:
        Repetition("YEARLY", 1, time(9), month=2, day=30).text(SUNDAY)
    assert caught.value.field == "day"


@pytest.mark.parametrize(
    ("written", "means"),
    [
        ("FREQ=WEEKLY;INTERVAL=2", Repetition("WEEKLY", 2, time(9), days=(0,))),
        ("FREQ=YEARLY", Repetition("YEARLY", 1, time(9), day=5, month=1)),
        ("FREQ=YEARLY;BYMONTHDAY=5", Repetition("YEARLY", 1, time(9), day=5, month=1)),
        ("FREQ=MONTHLY", Repetition("MONTHLY", 1, time(9), day=5)),
        ("FREQ=DAILY;COUNT=3", None),
        ("FREQ=DAILY;UNTIL=20270101", None),
        ("FREQ=HOURLY", None),
        ("FREQ=MONTHLY;BYMONTHDAY=-2", None),
        ("FREQ=MONTHLY;BYMONTHDAY=1,15", None),
        ("FREQ=MONTHLY;BYDAY=5MO", None),
        ("FREQ=MONTHLY;BYDAY=1MO,3MO", None),
        ("FREQ=MONTHLY;BYDAY=MO", None),
        ("FREQ=WEEKLY;BYDAY=MO;BYHOUR=8", None),
        ("FREQ=WEEKLY;BYDAY=MO;BYMONTH=6", None),
        ("FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=MO", None),
        ("FREQ=YEARLY;BYDAY=2SU", None),
        ("FREQ=DAILY\nEXDATE:20260106", None),
    ],
)
def test_a_calendar_rule_is_a_repetition_only_where_nothing_is_lost(written: str, means: Repetition | None) -> None:
    rule, _ = rrule_text.read(f"DTSTART:20260105T090000\nRRULE:{written}", "UTC", Work())
    assert repetition.of(rule) == means
    assert repetition.of(replace(rule, start=rule.start.replace(second=30))) is None


@pytest.mark.parametrize(
    ("written", "start"),
    [
        ("FREQ=DAILY;COUNT=3", "20261123T090000"),
        ("RRULE:FREQ=DAILY", "20261123T090000"),
        ("freq=daily;byhour=18", "20261122T130000"),
        ("FREQ=HOURLY", "20261122T130000"),
        ("DTSTART:20260105T100000\nFREQ=DAILY", "20260105T100000"),
    ],
)
def test_parts_without_a_name_or_a_start_are_taken(written: str, start: str) -> None:
    text = rrule_text.with_start(written, SUNDAY)
    canonical = parse("rrule", {"rule": text}, "UTC").data()["rule"]
    assert canonical.splitlines()[0] == f"DTSTART:{start}"
    assert canonical.splitlines()[1].startswith("RRULE:FREQ=")
