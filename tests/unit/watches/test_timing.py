"""When a ping is missed, over clock changes, midnight, days off and the end of a rule."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest

from watches import timing
from watches.models import Watch

NIGHTLY = {"kind": "daily", "rule": {"time": "02:30"}}
LATE = {"kind": "daily", "rule": {"time": "23:30"}}
HOURLY = {"kind": "cron", "rule": {"expression": "0 * * * *"}}
ENDS = {"ends_at": datetime.fromisoformat("2026-03-15T00:00:00Z")}


@pytest.mark.parametrize(
    ("fields", "pinged", "deadline"),
    [
        ({"period": 86_400}, "2026-03-28T12:00+01:00", "2026-03-29T14:00+02:00"),
        ({"period": 86_400}, "2026-10-24T12:00+02:00", "2026-10-25T12:00+01:00"),
        (NIGHTLY, "2026-03-27T02:31+01:00", "2026-03-28T03:30+01:00"),
        (NIGHTLY, "2026-03-28T02:31+01:00", "2026-03-29T04:00+02:00"),
        (NIGHTLY, "2026-10-24T02:31+02:00", "2026-10-25T03:30+02:00"),
        (NIGHTLY, "2026-10-25T02:31+02:00", "2026-10-26T03:30+01:00"),
        (LATE, "2026-03-28T23:00+01:00", "2026-03-29T00:30+01:00"),
        (LATE, "2026-03-29T00:10+01:00", "2026-03-30T00:30+02:00"),
        (LATE | {"excluded": [date(2026, 3, 29)]}, "2026-03-29T00:10+01:00", "2026-03-31T00:30+02:00"),
        (HOURLY, "2026-03-29T01:10+01:00", "2026-03-29T04:00+02:00"),
        (NIGHTLY | ENDS, "2026-03-13T02:31+01:00", "2026-03-14T03:30+01:00"),
        (NIGHTLY | ENDS, "2026-03-14T02:31+01:00", None),
    ],
)
def test_a_ping_is_missed_an_hour_after_it_was_expected(
    fields: dict[str, Any], pinged: str, deadline: str | None
) -> None:
    watch = Watch(**({"kind": "since", "time_zone": "Europe/Berlin", "grace": 3600} | fields))
    if "rule" in fields:
        watch.starts_at = datetime.fromisoformat("2026-01-01T00:00:00Z")
    expected = None if deadline is None else datetime.fromisoformat(deadline)
    assert timing.deadline_after(watch, datetime.fromisoformat(pinged)) == expected
