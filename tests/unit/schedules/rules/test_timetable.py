"""A rule within its window."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import Any

import pytest

from schedules.parts.slots import Slots
from schedules.rules import InvalidRule, Timetable, parse

BEFORE = datetime(2025, 6, 1, tzinfo=UTC)


def make_timetable(kind: str = "daily", data: dict[str, Any] | None = None, **overrides: Any) -> Timetable:
    return Timetable(parse(kind, data or {"time": "09:00"}, overrides.pop("timezone", "UTC")), **overrides)


def at(day: int, hour: int = 9) -> datetime:
    return datetime(2026, 1, day, hour, tzinfo=UTC)


def test_start_and_end_are_inclusive() -> None:
    timetable = make_timetable(starts=at(5), ends=at(7))
    assert list(islice(Slots(timetable).after(BEFORE), 9)) == [at(5), at(6), at(7)]
    assert timetable.next_after(at(5)) == at(6)
    assert timetable.next_after(at(7)) is None


def test_a_microsecond_outside_the_window_is_outside() -> None:
    tick = timedelta(microseconds=1)
    assert list(Slots(make_timetable(starts=at(5) + tick, ends=at(7) - tick)).after(BEFORE)) == [at(6)]


def test_a_window_of_one_instant_is_a_window() -> None:
    assert list(Slots(make_timetable(starts=at(5), ends=at(5))).after(BEFORE)) == [at(5)]


def test_excluded_dates_are_local_dates() -> None:
    # 09:00 in Auckland is the evening before in UTC.
    timetable = make_timetable(timezone="Pacific/Auckland", starts=at(5, 0), excluded=frozenset({date(2026, 1, 6)}))
    assert list(islice(Slots(timetable).after(BEFORE), 2)) == [at(6, 20), at(7, 20)]


def test_an_excluded_day_of_every_minute_is_left_at_once() -> None:
    days = frozenset(date(2026, 1, 1) + timedelta(days=number) for number in range(1000))
    timetable = make_timetable("cron", {"expression": "* * * * *"}, starts=at(1, 0), excluded=days)
    assert timetable.next_after(BEFORE) == datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=1000)


def test_an_excluded_day_that_the_clock_returns_to_after_midnight_ends() -> None:
    # In St. John's the clocks went from 00:01 on 7 November 2010 back to 23:01 on the 6th.
    timetable = make_timetable(
        "interval",
        {"every": 10, "unit": "minutes", "anchor": "2010-11-01T00:00:00+00:00"},
        timezone="America/St_Johns",
        excluded=frozenset({date(2010, 11, 6)}),
    )
    first_midnight, second_midnight = datetime(2010, 11, 7, 2, 30, tzinfo=UTC), datetime(2010, 11, 7, 3, 30, tzinfo=UTC)
    assert list(islice(Slots(timetable).after(datetime(2010, 11, 6, 12, tzinfo=UTC)), 2)) == [
        first_midnight,
        second_midnight,
    ]


def test_a_rule_whose_every_slot_is_excluded_has_none() -> None:
    timetable = make_timetable("once", {"at": "2026-01-05T09:00"}, excluded=frozenset({date(2026, 1, 5)}))
    assert timetable.next_after(BEFORE) is None


def test_an_end_before_the_start_is_refused_at_the_end() -> None:
    with pytest.raises(InvalidRule, match="before the start") as refused:
        make_timetable(starts=at(5), ends=at(4))
    assert refused.value.field == "ends"


@pytest.mark.parametrize("field", ["starts", "ends"])
def test_an_edge_without_an_offset_is_refused(field: str) -> None:
    with pytest.raises(InvalidRule, match="offset") as refused:
        make_timetable(**{field: at(5).replace(tzinfo=None)})
    assert refused.value.field == field
