"""Files of the kinds that other calendars' users report: each rings when it should, and only then."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, time, timedelta
from itertools import islice
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from common.parsing.budget import Budget
from schedules import rules
from schedules.job_kinds import calendar_file
from schedules.job_kinds.calendar_events import Entry, ReminderTimes, Wanted, wanted
from schedules.job_kinds.calendar_sync import EVENTS

INPUTS = Path(__file__).with_name("inputs")
CASES = json.loads((INPUTS / "cases.json").read_text())
BERLIN = ZoneInfo("Europe/Berlin")
# In winter; and before both changes of the clocks, of Europe and of America.
TODAYS = [datetime(2026, 11, 25, 12, tzinfo=BERLIN), datetime(2027, 2, 25, 12, tzinfo=BERLIN)]


def dated(raw: bytes, today: datetime) -> bytes:
    def said(match: re.Match[bytes]) -> bytes:
        return f"{today + timedelta(days=int(match[1])):%Y%m%d}".encode()

    return re.sub(rb"@([+-]\d+)@", said, raw)


def found(raw: bytes, today: datetime, minutes: int = 0) -> Wanted:
    times = ReminderTimes(before=timedelta(minutes=minutes), uses_alarms=True, all_day_at=time(9))
    now = today.astimezone(UTC)
    events, _ = calendar_file.read(dated(raw, today), "", now)
    stored = json.loads(json.dumps(EVENTS.dump_python(events)))
    return wanted(EVENTS.validate_python(stored), times, BERLIN, now, Budget(seconds=10))


def slots(entries: list[Entry], today: datetime, most: int) -> list[datetime]:
    return sorted(slot for entry in entries for slot in _slots(entry, today, most))[:most]


def _slots(entry: Entry, today: datetime, most: int) -> list[datetime]:
    rule = rules.parse(entry.kind, entry.rule, entry.time_zone)

    def following() -> Any:
        slot = rule.next_after(today)
        while slot is not None:
            yield slot
            slot = rule.next_after(slot)

    return list(islice(following(), most))


@pytest.mark.parametrize("today", TODAYS, ids=["winter", "spring"])
@pytest.mark.parametrize("case", CASES, ids=[f"{case['file']}: {case['why']}" for case in CASES])
def test_each_file_rings_when_it_should(case: dict[str, Any], today: datetime) -> None:
    result = found((INPUTS / case["file"]).read_bytes(), today, case.get("minutes", 0))
    assert result.unfit == []
    expected = [
        datetime.combine(today.date() + timedelta(days=days), time.fromisoformat(at), ZoneInfo(zone))
        for days, at, zone in case.get("slots", ())
    ]
    assert slots(result.entries, today, len(expected)) == expected
    if "count" in case:
        assert len(result.entries) == case["count"]
    if "title" in case:
        assert [entry.title for entry in result.entries] == [case["title"]]
    for text in case.get("body_without", ()):
        assert all(text not in entry.body for entry in result.entries)
