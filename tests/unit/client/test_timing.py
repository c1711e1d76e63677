"""Timings as they are typed on the command line."""

from __future__ import annotations

from typing import Any

import pytest
from carillon_client import timing


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("sunday 18:00", {"weekly": {"days": [6], "time": "18:00"}}),
        ("Monday,Thu 9:00", {"weekly": {"days": [0, 3], "time": "09:00"}}),
        ("monday, thursday 09:00", {"weekly": {"days": [0, 3], "time": "09:00"}}),
        ("weekday 08:30", {"weekly": {"days": [0, 1, 2, 3, 4], "time": "08:30"}}),
        ("day 09:00", {"daily": {"time": "09:00"}}),
        ("30 minutes", {"interval": {"every": 30, "unit": "minutes"}}),
        ("1 hour", {"interval": {"every": 1, "unit": "hours"}}),
        ("hour", {"interval": {"every": 1, "unit": "hours"}}),
        ("3 days", {"interval": {"every": 3, "unit": "days"}}),
        ("month 1 09:00", {"monthly": {"day": 1, "time": "09:00"}}),
        ("month last 09:00", {"monthly": {"day": "last", "time": "09:00"}}),
    ],
)
def test_a_timing_is_read(typed: str, read: dict[str, Any]) -> None:
    assert timing.every(typed) == read


@pytest.mark.parametrize("typed", ["", "someday", "su 18:00", "sunday ١٨:٠٠", "sunday 6pm", "30 weeks", "month 09:00"])
def test_what_is_no_timing_is_refused(typed: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        timing.every(typed)


def test_a_time_without_an_offset_is_civil_and_one_with_it_an_instant() -> None:
    assert timing.once("2026-03-15 09:00") == {"once": {"at": "2026-03-15T09:00:00"}}
    assert timing.once("2026-03-15T09:00+01:00") == {"onceAt": "2026-03-15T09:00:00+01:00"}
    with pytest.raises(ValueError, match="offset"):
        timing.instant("2026-03-15T09:00")
