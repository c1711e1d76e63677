"""`next_after` against the walk over every minute. ORACLE_EXAMPLES=5000 looks further, with new examples each time."""

from __future__ import annotations

import os
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from schedules.rules import KINDS, InvalidRule, parse

from .oracle import slots_between
from .rules import data_of, moments

ASKED = os.environ.get("ORACLE_EXAMPLES")
looks = settings(
    max_examples=int(ASKED or 60),
    derandomize=not ASKED,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.parametrize("kind", KINDS)
@looks
@given(st.data())
def test_next_after_gives_just_the_slots_of_a_walk_over_every_minute(kind: str, data: st.DataObject) -> None:
    timezone, instant = data.draw(moments())
    described = data.draw(data_of(kind, timezone, instant))
    begin = instant - timedelta(hours=data.draw(st.integers(0, 26)))
    end = begin + timedelta(hours=50)
    try:
        rule = parse(kind, described, timezone)
    except InvalidRule as error:
        assert "never rings" in str(error) or "must have such a day" in str(error)
        assert slots_between(kind, described, timezone, begin, end) == []
        return

    found: list[datetime] = []
    slot = rule.next_after(begin)
    while slot is not None and slot <= end:
        found.append(slot)
        slot = rule.next_after(slot)

    assert found == slots_between(kind, described, timezone, begin, end)


@looks
@given(st.data())
def test_the_next_slot_is_the_same_from_every_instant_before_it(data: st.DataObject) -> None:
    timezone, instant = data.draw(moments())
    kind = data.draw(st.sampled_from([kind for kind in KINDS if kind != "interval"]))
    try:
        rule = parse(kind, data.draw(data_of(kind, timezone, instant)), timezone)
    except InvalidRule:
        return
    asked = instant - timedelta(seconds=data.draw(st.integers(0, 200_000)))
    slot = rule.next_after(asked)
    if slot is None:
        return
    between = asked + (slot - asked) * data.draw(st.floats(0, 1, exclude_max=True))
    if between < slot:
        assert rule.next_after(between) == slot
    assert rule.next_after(slot - timedelta(microseconds=1)) == slot
    assert rule.next_after(slot) != slot
