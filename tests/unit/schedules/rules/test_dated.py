"""Rules of dates give the same slots for a span as a search for each."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from schedules.rules import parse
from schedules.rules.civil import TICK, local, zone
from schedules.rules.dated import DatedRule

from .rules import data_of, moments


def searched(rule: DatedRule, begin: datetime, end: datetime) -> list[datetime]:
    found = []
    slot = rule.next_after(begin - TICK)
    while slot is not None and slot < end:
        found.append(slot)
        slot = rule.next_after(slot)
    return found


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), moments(), st.sampled_from(["daily", "weekly", "monthly"]), st.integers(0, 60 * 24 * 40))
def test_a_span_has_the_slots_that_a_search_finds(
    data: Any, moment: tuple[str, datetime], kind: str, minutes: int
) -> None:
    timezone, instant = moment
    rule = parse(kind, data.draw(data_of(kind, timezone, instant)), timezone)
    assert isinstance(rule, DatedRule)
    begin = instant - timedelta(minutes=data.draw(st.integers(0, 3_000)))
    end = begin + timedelta(minutes=minutes)
    assert rule.between(begin, end) == searched(rule, begin, end)


@pytest.mark.parametrize("time", ["00:00", "09:00"])
def test_a_date_that_the_clock_skips_comes_once_with_the_next_one(time: str) -> None:
    rule = parse("daily", {"time": time}, "Pacific/Apia")
    assert isinstance(rule, DatedRule)
    begin = datetime(2011, 12, 28, tzinfo=zone("Pacific/Apia"))
    found = rule.between(begin, begin + timedelta(days=5))
    assert found == searched(rule, begin, begin + timedelta(days=5))
    assert date(2011, 12, 30) not in {local(rule.zone, slot).date() for slot in found}
