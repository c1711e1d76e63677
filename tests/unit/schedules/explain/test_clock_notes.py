"""Notes where a clock change moves, merges or drops a slot, or keeps a frequent rule silent."""

from __future__ import annotations

from datetime import datetime

import pytest

from schedules.explain.clock_notes import note
from schedules.rules import Timetable, parse


@pytest.mark.parametrize(
    ("expression", "slot", "said"),
    [
        ("30 2 * * *", "2026-03-29T03:00+02:00", "02:30 does not exist on 2026-03-29 in Berlin: fires at 03:00"),
        (
            "30 2 * * *",
            "2026-10-25T02:30+02:00",
            "02:30 happens twice on 2026-10-25 in Berlin: fires once, the first time",
        ),
        (
            "0 0-23 * * *",
            "2026-10-25T02:00+02:00",
            "02:00 happens twice on 2026-10-25 in Berlin: fires once, the first time; "
            "silent while the clock shows the hour again: the next is at 03:00, 2 h later",
        ),
        (
            "0,30 0-23 * * *",
            "2026-10-25T02:30+02:00",
            "02:30 happens twice on 2026-10-25 in Berlin: fires once, the first time; "
            "silent while the clock shows the hour again: the next is at 03:00, 1 h 30 min later",
        ),
        (
            "30 0-23/3 * * *",
            "2026-10-25T00:30+02:00",
            "Silent while the clock shows the hour again: the next is at 03:30, 4 h later",
        ),
        (
            "0,30 0-23 * * *",
            "2026-10-25T02:00+02:00",
            "02:00 happens twice on 2026-10-25 in Berlin: fires once, the first time",
        ),
        (
            "*/30 * * * *",
            "2026-10-25T02:30+01:00",
            "02:30 happens twice on 2026-10-25 in Berlin: fires both times",
        ),
        ("0 * * * *", "2026-06-01T02:00+02:00", ""),
        ("0 9 * * *", "2026-10-24T09:00+02:00", ""),
    ],
)
def test_what_a_clock_change_does_is_said(expression: str, slot: str, said: str) -> None:
    timetable = Timetable(parse("cron", {"expression": expression}, "Europe/Berlin"))
    assert note(timetable, datetime.fromisoformat(slot)) == said


def test_elapsed_time_knows_no_clock_changes() -> None:
    rule = {"every": 1, "unit": "hours", "anchor": "2026-01-01T00:00:00+00:00"}
    timetable = Timetable(parse("interval", rule, "Europe/Berlin"))
    assert note(timetable, datetime.fromisoformat("2026-10-25T02:00+02:00")) == ""
