"""Rules that begin anew one step after Done."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from schedules.rules import from_done, parse
from schedules.rules.civil import TICK

BERLIN = "Europe/Berlin"
# A Wednesday, 10:07:20 in Berlin.
DONE = datetime(2026, 11, 18, 9, 7, 20, tzinfo=UTC)
START = "DTSTART:20261101T090000\nRRULE:"
ANCHOR = "2026-11-01T08:00:00+00:00"


@pytest.mark.parametrize(
    ("kind", "rule", "first", "second"),
    [
        ("interval", {"every": 20, "unit": "minutes", "anchor": ANCHOR}, "2026-11-18T09:28", "2026-11-18T09:48"),
        ("interval", {"every": 3, "unit": "hours", "anchor": ANCHOR}, "2026-11-18T12:08", "2026-11-18T15:08"),
        ("interval", {"every": 3, "unit": "days", "anchor": ANCHOR}, "2026-11-21T08:00", "2026-11-24T08:00"),
        ("daily", {"time": "18:00"}, "2026-11-19T17:00", "2026-11-20T17:00"),
        ("weekly", {"time": "09:00", "days": [0]}, "2026-11-25T08:00", "2026-12-02T08:00"),
        ("monthly", {"time": "09:00", "day": 5, "short": "last"}, "2026-12-18T08:00", "2027-01-18T08:00"),
        ("rrule", {"rule": f"{START}FREQ=DAILY;INTERVAL=3"}, "2026-11-21T08:00", "2026-11-24T08:00"),
        ("rrule", {"rule": f"{START}FREQ=WEEKLY;INTERVAL=2"}, "2026-12-02T08:00", "2026-12-16T08:00"),
        ("rrule", {"rule": f"{START}FREQ=YEARLY"}, "2027-11-18T08:00", "2028-11-18T08:00"),
    ],
    ids=str,
)  # fmt: skip
def test_the_next_slots_are_counted_from_done(kind: str, rule: dict[str, Any], first: str, second: str) -> None:
    begun = from_done.begin(parse(kind, rule, BERLIN), DONE)
    slots = [datetime.fromisoformat(f"{one}Z") for one in (first, second)]
    assert begun.next_after(DONE) == slots[0]
    assert begun.next_after(slots[0]) == slots[1]
    # What is stored reads the same again, and can be counted again.
    stored = parse(begun.kind, begun.data(), BERLIN)
    assert stored == begun
    assert from_done.begin(stored, DONE).next_after(DONE) == slots[0]
    assert from_done.step(stored) is not None


@pytest.mark.parametrize(
    ("done", "first"),
    [
        ("2027-01-31T12:00", "2027-02-28T08:00"),  # a shorter month has its last day
        ("2027-02-28T12:00", "2027-03-28T07:00"),  # the night of a clock change
    ],
)
def test_a_month_keeps_the_time_of_day(done: str, first: str) -> None:
    rule = parse("monthly", {"time": "09:00", "day": 31, "short": "last"}, BERLIN)
    begun = from_done.begin(rule, datetime.fromisoformat(f"{done}Z"))
    assert begun.next_after(datetime.fromisoformat(f"{done}Z")) == datetime.fromisoformat(f"{first}Z")


def test_a_full_minute_needs_no_other() -> None:
    rule = parse("interval", {"every": 1, "unit": "minutes", "anchor": ANCHOR}, BERLIN)
    full = DONE.replace(second=0)
    assert from_done.begin(rule, full).next_after(full - TICK) == full + timedelta(minutes=1)


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("once", {"at": "2026-12-24T09:00:00"}),
        ("weekly", {"time": "09:00", "days": [0, 3]}),
        ("cron", {"expression": "0 9 * * *"}),
        ("rrule", {"rule": "DTSTART:20261106T090000\nRRULE:FREQ=MONTHLY;BYDAY=1FR"}),
        ("rrule", {"rule": "DTSTART:20261106T090000\nRRULE:FREQ=DAILY\nRDATE:20261224T090000"}),
    ],
    ids=str,
)
def test_dates_have_no_step(kind: str, rule: dict[str, Any]) -> None:
    read = parse(kind, rule, BERLIN)
    assert from_done.step(read) is None
    assert from_done.begin(read, DONE) is read
