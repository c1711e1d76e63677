"""Explaining a schedule costs a bounded time, whatever was done to it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from schedules.changes import editing
from schedules.explain import history
from schedules.rules import Work, civil
from schedules.rules.invalid import BUDGET
from tests.make import NOON, make_schedule, make_user

# Its next slot is 700 years away, and takes most of a budget to find.
FAR = "DTSTART:20260105T090000\nRRULE:FREQ=DAILY;INTERVAL=997;BYMONTH=2;BYMONTHDAY=29;BYHOUR=23"


def test_all_that_a_page_asks_of_a_costly_rule_has_one_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = make_schedule(make_user(), kind="rrule", rule={"rule": FAR})
    for number in range(40):
        at = NOON + timedelta(minutes=number)
        editing.pause(schedule.id, at)
        editing.resume(schedule.id, at + timedelta(seconds=30))
    schedule.refresh_from_db()
    spent, spend = [], Work.spend

    def count(self: Work, units: int, field: str = "rule") -> None:
        spend(self, units, field)
        spent.append(units)

    monkeypatch.setattr(Work, "spend", count)
    now: datetime = NOON + timedelta(days=1)
    history.past(schedule, civil.FIRST_INSTANT, civil.LAST_INSTANT, now)
    assert sum(spent) <= 11 * BUDGET
