"""The last slots of a time that has passed are those that walking over all of it finds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from time import process_time
from typing import Any

import pytest

from schedules.rules import Timetable, parse
from schedules.rules.civil import TICK

END = datetime(2026, 6, 1, 12, 30, tzinfo=UTC)


def table(kind: str, **rule: Any) -> Timetable:
    return Timetable(parse(kind, rule, "Europe/Berlin"))


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("interval", {"every": 1, "unit": "minutes", "anchor": "2026-01-01T00:00:00+00:00"}),
        ("daily", {"time": "02:30"}),
        ("monthly", {"time": "09:00", "day": 31, "short": "skip"}),
        ("cron", {"expression": "* 9 1 * *"}),
        ("once", {"at": "2026-03-01T09:00"}),
    ],
)
@pytest.mark.parametrize("count", [1, 7, 100])
def test_it_finds_what_a_walk_finds(kind: str, rule: dict[str, Any], count: int) -> None:
    timetable = table(kind, **rule)
    begin = END - timedelta(days=120)
    walked = []
    slot = timetable.next_after(begin - TICK)
    while slot is not None and slot < END:
        walked.append(slot)
        slot = timetable.next_after(slot)
    assert timetable.last_slots(begin, END, count) == walked[-count:]


def test_the_edges_are_begin_included_and_end_excluded() -> None:
    hourly = table("interval", every=1, unit="hours", anchor="2026-01-01T00:00:00+00:00")
    nine = datetime(2026, 6, 1, 9, tzinfo=UTC)
    assert hourly.last_slots(nine, nine + timedelta(hours=2), 9) == [nine, nine + timedelta(hours=1)]


def test_slots_that_lie_unevenly_are_found_in_bounded_time() -> None:
    # 41,760 minutes of each February, and nothing else.
    timetable = table("rrule", rule="DTSTART:20000101T000000\nRRULE:FREQ=MINUTELY;BYMONTH=2")
    began = process_time()
    slots = timetable.last_slots(datetime(2000, 1, 1, tzinfo=UTC), END, 100)
    assert slots[-1] == datetime(2026, 2, 28, 22, 59, tzinfo=UTC)
    assert slots[0] == slots[-1] - timedelta(minutes=99)
    assert process_time() - began < 3
