"""Whatever is stored can be read again, and means the same."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from schedules.rules import KINDS, InvalidRule, parse

Draw = Any
looks = settings(max_examples=300, derandomize=True, database=None, deadline=None)
ZONES = ["UTC", "Europe/Berlin", "Pacific/Kiritimati", "Pacific/Niue", "Africa/Monrovia", "Asia/Kathmandu"]
YEARS = st.one_of(st.sampled_from([1, 2, 226, 999, 1000, 1899, 1900, 9997, 9998, 9999]), st.integers(1, 9999))
DAYS = st.sampled_from(["0101", "0102", "0228", "1230", "1231"])
TIMES = st.sampled_from(["", "T000000", "T000000Z", "T120000", "T235959", "T235959Z"])


@st.composite
def stamps(draw: Draw) -> str:
    return f"{draw(YEARS):04}{draw(DAYS)}{draw(TIMES)}"


@st.composite
def data_of(draw: Draw, kind: str) -> dict[str, Any]:
    stamp = draw(stamps())
    day = f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}"
    at = draw(st.sampled_from(["00:00", "00:00:00.000001", "23:59", "23:59:59.999999"]))
    time = draw(st.sampled_from(["0:00", "09:00", " 23:59"]))
    if kind == "once":
        return {"at": f"{day}T{at}"}
    if kind == "interval":
        offset = draw(st.sampled_from(["+00:00", "-12:00", "+14:00", "Z", "+05:45"]))
        unit = draw(st.sampled_from(["minutes", "hours", "days"]))
        return {"every": draw(st.integers(1, 3650)), "unit": unit, "anchor": f"{day}T{at}{offset}"}
    if kind == "daily":
        return {"time": time}
    if kind == "weekly":
        return {"time": time, "days": draw(st.lists(st.integers(0, 6), min_size=1))}
    if kind == "monthly":
        return {"time": time, "day": draw(st.one_of(st.integers(1, 31), st.just("last")))}
    if kind == "cron":
        pieces = ["*", "?", "5", "22-2", "*/7", "fri-mon", "Monday", "L", "mon#2", "5L", "nov-feb", "jan", "28-3/2"]
        fields = st.lists(st.sampled_from(pieces), min_size=5, max_size=5).map("  ".join)
        return {"expression": draw(st.one_of(fields, st.sampled_from(["@daily", " @HOURLY "])))}
    frequency = draw(st.sampled_from(["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY"]))
    parts = [
        "BYHOUR=9,10",
        "BYMINUTE=0,30",
        "BYMONTH=2",
        "BYMONTHDAY=1,-1",
        "INTERVAL=1000",
        "BYDAY=mo,we",
        "BYSETPOS=1",
    ]
    ends = st.one_of(st.integers(1, 5).map("COUNT={}".format), stamps().map("UNTIL={}".format))
    chosen = [*draw(st.lists(st.sampled_from(parts), unique=True, max_size=3)), *draw(st.lists(ends, max_size=1))]
    lines = [f"DTSTART:{stamp}", ";".join([f"RRULE:FREQ={frequency}", *chosen])]
    without = draw(st.lists(stamps(), max_size=2))
    return {
        "rule": draw(st.sampled_from(["\n", ";", "\r\n"])).join([*lines, *(f"EXDATE:{moment}" for moment in without)])
    }


@pytest.mark.parametrize("kind", KINDS)
@looks
@given(st.data())
def test_whatever_is_stored_parses_again_and_means_the_same(kind: str, data: st.DataObject) -> None:
    timezone = data.draw(st.sampled_from(ZONES))
    try:
        rule = parse(kind, data.draw(data_of(kind)), timezone)
    except InvalidRule:
        return
    stored = json.loads(json.dumps(rule.data()))
    again = parse(kind, stored, timezone)
    assert again == rule
    assert again.data() == stored
    assert again.describe()
    instant = datetime(1, 1, 1, tzinfo=UTC)
    for _ in range(4):
        slot = rule.next_after(instant)
        assert slot == again.next_after(instant)
        if slot is None:
            break
        assert again.clock_change(slot) == rule.clock_change(slot)
        instant = slot
