"""A reminder that comes once is moved to another day, and keeps its time."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import Any

import pytest

from common.forms.not_possible import NotPossible
from people.models import User
from schedules.agenda import moving
from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Schedule
from tests.make import NOON, edit_schedule, make_channel, make_schedule

FRIDAY = date(2026, 10, 30)


def once(user: User, **overrides: Any) -> Schedule:
    fields = {"kind": "once", "rule": {"at": "2026-10-20T09:15"}, "time_zone": "Europe/Berlin"} | overrides
    return make_schedule(user, **fields)


def test_the_civil_time_stays_across_a_change_of_the_clock(ada: User) -> None:
    schedule = once(ada, body="Bring the card.", urgent=True)
    moved = moving.move(schedule, FRIDAY, schedule.version, NOON, ada)
    assert moved.rule == {"at": "2026-10-30T09:15:00"}
    assert moved.next_fire_at == datetime.fromisoformat("2026-10-30T09:15+01:00")
    assert (moved.body, moved.urgent, moved.version) == ("Bring the card.", True, schedule.version + 1)
    assert list(moved.channels.all()) == list(schedule.channels.all())
    assert moved.events.last().what == "edited"  # type: ignore[union-attr]


def test_the_day_is_that_of_the_readers_clock(ada: User) -> None:
    schedule = once(ada, rule={"at": "2026-10-20T20:00"}, time_zone="America/New_York")  # 02:00 on the 21st in Berlin
    moved = moving.move(schedule, date(2026, 10, 22), schedule.version, NOON, ada)
    assert moved.rule == {"at": "2026-10-21T20:00:00"}


@pytest.mark.parametrize("day", [date(2026, 5, 31), date(1, 1, 2), date(9999, 12, 31)])
def test_a_day_that_has_passed_or_that_no_rule_reaches_is_refused(ada: User, day: date) -> None:
    schedule = once(ada)
    with pytest.raises(NotPossible):
        moving.move(schedule, day, schedule.version, NOON, ada)
    schedule.refresh_from_db()
    assert (schedule.version, schedule.rule) == (1, {"at": "2026-10-20T09:15"})


def test_today_is_refused_once_its_time_has_passed(ada: User) -> None:
    schedule = once(ada)
    with pytest.raises(NotPossible):
        moving.move(schedule, NOON.date(), schedule.version, NOON, ada)
    assert (
        moving.move(schedule, NOON.date(), schedule.version, NOON.replace(hour=6), ada).rule["at"][:10] == "2026-06-01"
    )


@pytest.mark.parametrize(
    "overrides",
    [
        {"kind": "daily", "rule": {"time": "09:00"}},
        {"kind": "cron", "rule": {"expression": "0 9 * * *"}},
        {"state": "paused", "next_fire_at": None},
        {"local_time": True},
        {"ends_at": datetime.fromisoformat("2026-10-21T00:00+00:00")},
        {"excluded": [FRIDAY]},
    ],
    ids=["every day", "cron", "is paused", "readers' clocks", "has ended by then", "left out on that day"],
)
def test_what_cannot_come_on_that_day_is_refused(ada: User, overrides: dict[str, Any]) -> None:
    schedule = once(ada, **overrides)
    with pytest.raises(NotPossible):
        moving.move(schedule, FRIDAY, schedule.version, NOON, ada)


def test_a_move_before_the_end_of_its_snooze_is_refused(ada: User) -> None:
    schedule = once(ada, rule={"at": "2026-10-31T09:00"})
    snoozed = editing.snooze(schedule.id, datetime.fromisoformat("2026-10-30T20:00+00:00"), NOON)
    with pytest.raises(NotPossible):
        moving.move(snoozed, FRIDAY, snoozed.version, NOON, ada)
    assert Schedule.objects.get(id=schedule.id).state == "active"


def test_what_follows_a_calendar_is_not_moved(ada: User) -> None:
    inbox = [make_channel(ada)]
    schedule = once(ada, channels=inbox, made_by=make_schedule(ada, inbox))
    assert not moving.is_movable(schedule)


def test_somebody_elses_change_is_not_overwritten(ada: User) -> None:
    schedule = once(ada)
    editing.pause(schedule.id, NOON)
    with pytest.raises(editing.ScheduleConflict):
        moving.move(schedule, FRIDAY, 1, NOON, ada)


def test_one_that_has_just_rung_is_not_moved(ada: User) -> None:
    schedule = once(ada)
    after = datetime.fromisoformat("2026-10-20T10:00+02:00")
    fire.fire_due(after)
    with pytest.raises(NotPossible):
        moving.move(Schedule.objects.get(id=schedule.id), FRIDAY, 1, after, ada)


@pytest.mark.parametrize(
    ("kind", "rule", "moved"),
    [
        ("daily", {"time": "09:00"}, None),
        ("weekly", {"time": "09:00", "days": [0, 4]}, {"time": "17:30", "days": [0, 5]}),
        ("monthly", {"time": "09:00", "day": 30, "short": "last"}, {"time": "17:30", "day": 31, "short": "last"}),
        (
            "interval",
            {"every": 2, "unit": "days", "anchor": "2026-10-30T08:00:00+00:00"},
            {"every": 2, "unit": "days", "anchor": "2026-10-31T16:30:00+00:00"},
        ),
    ],
)
def test_all_times_of_what_repeats_are_moved(
    ada: User, kind: str, rule: dict[str, Any], moved: dict[str, Any] | None
) -> None:
    schedule = make_schedule(ada, kind=kind, rule=rule, time_zone="Europe/Berlin")
    slot = datetime.fromisoformat("2026-10-30T09:00+01:00")
    day = FRIDAY if moved is None else date(2026, 10, 31)
    found = moving.move(schedule, day, 1, NOON, ada, time(17, 30), slot)
    assert found.rule == (moved or {"time": "17:30"})


def test_one_time_of_what_repeats_is_moved_alone(ada: User) -> None:
    schedule = make_schedule(
        ada,
        [make_channel(ada)],
        kind="weekly",
        rule={"time": "09:00", "days": [4]},
        time_zone="Europe/Berlin",
        body="x",
    )
    slot = datetime.fromisoformat("2026-10-30T09:00+01:00")
    copy = moving.move_one(schedule, date(2026, 10, 31), 1, NOON, ada, time(10), slot)
    assert (copy.kind, copy.rule, copy.body) == ("once", {"at": "2026-10-31T10:00:00"}, "x")
    assert list(copy.channels.all()) == list(schedule.channels.all())
    schedule.refresh_from_db()
    assert [one.scheduled_for for one in schedule.occurrences.all()] == [slot]
    assert schedule.next_fire_at == datetime.fromisoformat("2026-06-05T09:00+02:00")


def test_a_move_that_has_rung_or_changed_since_is_not_undone(ada: User) -> None:
    schedule = make_schedule(ada, kind="daily", rule={"time": "09:00"}, time_zone="Europe/Berlin")
    slot = datetime.fromisoformat("2026-06-02T09:00+02:00")
    copy = moving.move_one(schedule, date(2026, 6, 2), 1, NOON, ada, time(8), slot)
    assert copy.next_fire_at is not None
    with pytest.raises(editing.ScheduleConflict):
        moving.undo(copy, 2, NOON, ada)
    with pytest.raises(editing.ScheduleConflict):
        moving.undo(copy, 1, slot, ada)  # the time that it had has passed
    fire.fire_due(copy.next_fire_at)
    copy.refresh_from_db()
    with pytest.raises(editing.ScheduleConflict):
        moving.undo(copy, 1, copy.last_fired_at, ada)
    assert Schedule.objects.filter(deleted_at=None).count() == 2


def test_what_was_not_moved_has_no_move_to_undo(ada: User) -> None:
    schedule = make_schedule(ada)
    with pytest.raises(editing.ScheduleConflict):
        moving.undo(schedule, schedule.version, NOON, ada)


def test_an_edit_of_more_than_its_time_is_no_move_to_undo(ada: User) -> None:
    edited = edit_schedule(make_schedule(ada), kind="cron", rule={"expression": "0 9 * * *"})
    with pytest.raises(editing.ScheduleConflict):
        moving.undo(edited, edited.version, NOON, ada)


def test_a_time_that_it_does_not_have_is_not_moved(ada: User) -> None:
    schedule = make_schedule(ada, kind="daily", rule={"time": "09:00"}, time_zone="Europe/Berlin")
    with pytest.raises(editing.ScheduleConflict):
        moving.move_one(schedule, FRIDAY, 1, NOON, ada, None, datetime.fromisoformat("2026-10-30T09:30+01:00"))
    assert Schedule.objects.count() == 1


def test_one_of_a_number_of_times_is_not_moved_alone(ada: User) -> None:
    schedule = make_schedule(ada, kind="daily", rule={"time": "09:00"}, max_count=3)
    with pytest.raises(NotPossible):
        moving.move_one(schedule, FRIDAY, 1, NOON, ada, None, datetime.fromisoformat("2026-10-30T09:00+00:00"))


def test_a_weekly_time_that_was_put_off_to_a_working_day_is_not_taken_for_another_weekday(ada: User) -> None:
    schedule = make_schedule(ada, kind="weekly", rule={"time": "09:00", "days": [5]}, time_zone="Europe/Berlin")
    put_off = datetime.fromisoformat("2026-11-02T09:00+01:00")
    with pytest.raises(NotPossible):
        moving.move(schedule, date(2026, 11, 3), 1, NOON, ada, None, put_off)
