"""Notes where a clock change moves, merges or drops a slot, or keeps a frequent rule silent."""

from __future__ import annotations

from datetime import datetime

import pytest

from schedules.parts.words import clock_note
from schedules.rules import Timetable, parse

GAP = "02:30 does not exist on 29 March 2026 in Berlin: rings at 03:00"
TWICE = "{} happens twice on 25 October 2026 in Berlin: rings once, the first time"
SILENT = "ilent while the clock shows the hour again: the next is at"


@pytest.mark.parametrize(
    ("expression", "slot", "said"),
    [
        ("30 2 * * *", "2026-03-29T03:00+02:00", GAP),
        ("30 2 * * *", "2026-10-25T02:30+02:00", TWICE.format("02:30")),
        ("0 0-23 * * *", "2026-10-25T02:00+02:00", f"{TWICE.format('02:00')}; s{SILENT} 03:00, 2 h later"),
        ("0,30 0-23 * * *", "2026-10-25T02:30+02:00", f"{TWICE.format('02:30')}; s{SILENT} 03:00, 1 h 30 min later"),
        ("30 0-23/3 * * *", "2026-10-25T00:30+02:00", f"S{SILENT} 03:30, 4 h later"),
        ("0,30 0-23 * * *", "2026-10-25T02:00+02:00", TWICE.format("02:00")),
        ("*/30 * * * *", "2026-10-25T02:30+01:00", TWICE.format("02:30").replace("once, the first time", "both times")),
        ("0 * * * *", "2026-06-01T02:00+02:00", ""),
        ("0 9 * * *", "2026-10-24T09:00+02:00", ""),
    ],
)
def test_what_a_clock_change_does_is_said(expression: str, slot: str, said: str) -> None:
    timetable = Timetable(parse("cron", {"expression": expression}, "Europe/Berlin"))
    assert clock_note(timetable, datetime.fromisoformat(slot)) == said


def test_elapsed_time_knows_no_clock_changes() -> None:
    rule = {"every": 1, "unit": "hours", "anchor": "2026-01-01T00:00:00+00:00"}
    timetable = Timetable(parse("interval", rule, "Europe/Berlin"))
    assert clock_note(timetable, datetime.fromisoformat("2026-10-25T02:00+02:00")) == ""
