"""Before an edit is saved, the preview says which firings it adds and removes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from people.models import User
from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Schedule
from schedules.web.preview import compare
from tests.make import NOON, make_schedule, make_user, signed_in

HOURS = [NOON + timedelta(hours=n) for n in range(9)]


def test_slots_of_one_side_alone_are_added_or_removed() -> None:
    assert compare(HOURS[:3], HOURS[1:4], most=9) == {"added": [HOURS[3]], "removed": [HOURS[0]], "until": None}


def test_beyond_what_was_read_nothing_is_claimed() -> None:
    assert compare(HOURS[:3], HOURS[:6:2], most=3) == {"added": [], "removed": [HOURS[1]], "until": HOURS[2]}
    assert compare(HOURS[:3], HOURS[1:4], most=3) == {"added": [], "removed": [HOURS[0]], "until": HOURS[2]}


def test_the_same_rule_changes_nothing() -> None:
    assert compare(HOURS, HOURS, most=9) == {"added": [], "removed": [], "until": HOURS[-1]}


@pytest.fixture
def schedule(db: None) -> Schedule:
    """A weekly reminder, on Mondays."""
    now = fire.read_clock().now
    user = make_user(time_zone="UTC")
    return make_schedule(
        user, now=now, kind="weekly", rule={"time": "09:00", "days": [0]}, ends_at=datetime_in(now, 30)
    )


def datetime_in(now: datetime, days: int) -> datetime:
    return (now + timedelta(days=days)).replace(hour=0, minute=0, second=0, microsecond=0)


def preview(user: User, of: object, **typed: Any) -> str:
    fields = {"kind": "weekly", "time": "09:00", "days": ["0"], "time_zone": "UTC"} | typed
    return signed_in(user).post(f"/reminders/preview/?of={of}", fields).content.decode()


def ends(schedule: Schedule) -> dict[str, str]:
    return {"ends_at": f"{schedule.ends_at:%Y-%m-%dT%H:%M}"}


def test_an_edit_says_what_it_adds_and_removes(schedule: Schedule) -> None:
    moved = preview(schedule.user, schedule.id, days=["1"], **ends(schedule))
    assert "Saving <strong>adds 4</strong>" in moved or "Saving <strong>adds 5</strong>" in moved
    assert "Saving <strong>removes 4</strong>" in moved or "Saving <strong>removes 5</strong>" in moved
    assert "Saving does not change the schedule." in preview(schedule.user, schedule.id, **ends(schedule))
    assert "removes" not in preview(schedule.user, schedule.id, days=["0", "1"], **ends(schedule))


def test_what_was_skipped_is_neither_added_nor_shown(schedule: Schedule) -> None:
    assert schedule.next_fire_at is not None
    editing.skip_next(schedule.id, schedule.next_fire_at, fire.read_clock().now)
    shown = preview(schedule.user, schedule.id, ends_at=f"{schedule.ends_at:%Y-%m-%dT%H:%M}")
    assert "Saving does not change the schedule." in shown
    assert f"{schedule.next_fire_at:%Y-%m-%dT%H:%M}" not in shown


def test_a_long_snooze_of_a_dense_rule_is_not_taken_for_an_end(db: None) -> None:
    now, user = fire.read_clock().now, make_user(time_zone="UTC")
    rule = {"every": 1, "unit": "minutes", "anchor": "2026-01-01T00:00:00+00:00"}
    dense = make_schedule(user, now=now, kind="interval", rule=rule)
    editing.snooze(dense.id, now + timedelta(days=1), now)
    typed = {"kind": "interval", "every": "1", "unit": "minutes", "anchor": "2026-01-01T00:00"}
    assert "Saving does not change the schedule." in preview(user, dense.id, **typed)


def test_nothing_is_said_where_there_is_nothing_to_compare(schedule: Schedule) -> None:
    ada = schedule.user
    assert "Saving" in preview(ada, schedule.id, days=["1"])
    assert "Saving" not in preview(ada, schedule.id, time="25:00")
    assert "Saving" not in preview(ada, "nonsense", days=["1"])
    assert "Saving" not in preview(make_user(), schedule.id, days=["1"])
    editing.pause(schedule.id, fire.read_clock().now)
    assert "Saving" not in preview(ada, schedule.id, days=["1"])
