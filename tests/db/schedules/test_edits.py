"""Skipping, snoozing, running and copying; what each edit leaves behind; and edits that meet a lag."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django_celery_beat.models import PeriodicTask

from common.times.snooze import InvalidSnooze
from common.uuid7 import uuid7
from notifications.models import Delivery, Notification
from people.models import User
from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Schedule
from tests.make import NINE, NOON, edit_schedule, make_channel, make_schedule, make_user

DAY = timedelta(days=1)


def slots(schedule: Schedule) -> list[tuple[datetime, str, str]]:
    return list(schedule.occurrences.order_by("scheduled_for").values_list("scheduled_for", "outcome", "reason"))


def events(schedule: Schedule) -> list[tuple[str, int]]:
    return list(schedule.events.values_list("what", "version"))


def test_the_next_one_is_skipped_and_recorded_with_its_reason(schedule: Schedule) -> None:
    skipped = editing.skip_next(schedule.id, NINE, NOON)
    assert (skipped.next_fire_at, skipped.state) == (NINE + DAY, "active")
    assert slots(schedule) == [(NINE, "skipped", "asked")]
    assert fire.fire_due(NINE) == 0


def test_a_skip_that_comes_after_the_slot_has_fired_skips_nothing_else(schedule: Schedule) -> None:
    with pytest.raises(editing.ScheduleConflict) as conflict:
        editing.skip_next(schedule.id, NINE, NINE + timedelta(seconds=1))
    assert conflict.value.current.next_fire_at == NINE + DAY


def test_a_second_click_does_not_skip_a_second_slot(schedule: Schedule) -> None:
    editing.skip_next(schedule.id, NINE, NOON)
    with pytest.raises(editing.ScheduleConflict):
        editing.skip_next(schedule.id, NINE, NOON)


@pytest.mark.parametrize("change", ["edit", "pause and resume"])
def test_a_skip_outlives_later_changes(schedule: Schedule, change: str) -> None:
    editing.skip_next(schedule.id, NINE, NOON)
    if change == "edit":
        changed = edit_schedule(schedule, NOON, title="Other", version=2)
    else:
        editing.pause(schedule.id, NOON)
        changed = editing.resume(schedule.id, NOON)
    assert changed.next_fire_at == NINE + DAY


def test_a_skip_that_is_undone_fires_after_all(schedule: Schedule) -> None:
    editing.skip_next(schedule.id, NINE, NOON)
    undone = editing.unskip(schedule.id, NINE, NOON)
    assert (undone.next_fire_at, undone.version) == (NINE, 3)
    fire.fire_due(NINE)
    assert slots(schedule) == [(NINE, "fired", "")]


def test_undoing_a_skip_leaves_the_others_skipped(schedule: Schedule) -> None:
    editing.skip_next(schedule.id, NINE, NOON)
    editing.skip_next(schedule.id, NINE + DAY, NOON)
    assert editing.unskip(schedule.id, NINE + DAY, NOON).next_fire_at == NINE + DAY
    assert slots(schedule) == [(NINE, "skipped", "asked")]


def test_undoing_the_skip_of_a_one_off_makes_it_go_on() -> None:
    schedule = make_schedule(make_user(), kind="once", rule={"at": "2026-06-02T09:00:00"})
    editing.skip_next(schedule.id, NINE, NOON)
    undone = editing.unskip(schedule.id, NINE, NOON)
    assert (undone.state, undone.next_fire_at) == ("active", NINE)


def test_undoing_a_skip_of_a_paused_schedule_does_not_resume_it(schedule: Schedule) -> None:
    editing.skip_next(schedule.id, NINE, NOON)
    editing.pause(schedule.id, NOON)
    assert editing.unskip(schedule.id, NINE, NOON).state == "paused"
    assert editing.resume(schedule.id, NOON).next_fire_at == NINE


def test_undoing_a_skip_after_the_clock_was_set_back_opens_no_slot_of_before(schedule: Schedule) -> None:
    editing.pause(schedule.id, NOON)
    editing.resume(schedule.id, NINE + 3 * DAY)
    editing.skip_next(schedule.id, NINE + 4 * DAY, NINE + 3 * DAY)
    assert editing.unskip(schedule.id, NINE + 4 * DAY, NINE + DAY).next_fire_at == NINE + 4 * DAY


def test_undoing_a_skip_of_a_slot_that_an_edit_has_removed_fires_nothing_of_the_old_rule(schedule: Schedule) -> None:
    editing.skip_next(schedule.id, NINE, NOON)
    edit_schedule(schedule, NOON + timedelta(hours=8), rule={"time": "18:00"}, version=2)
    undone = editing.unskip(schedule.id, NINE, NOON + timedelta(hours=8))
    assert undone.next_fire_at == NINE + timedelta(hours=9)
    assert slots(schedule) == []


def test_a_skipped_slot_that_passed_before_the_clock_was_set_back_keeps_its_record(schedule: Schedule) -> None:
    editing.skip_next(schedule.id, NINE, NOON)
    edit_schedule(schedule, NINE + DAY, rule={"time": "18:00"}, version=2)
    with pytest.raises(editing.ScheduleConflict):
        editing.unskip(schedule.id, NINE, NOON)
    assert (NINE, "skipped", "asked") in slots(schedule)


def test_a_skip_made_after_the_clock_was_set_back_can_be_undone(schedule: Schedule) -> None:
    edit_schedule(schedule, NINE + DAY, title="Other", version=1)
    set_back = edit_schedule(schedule, NOON, rule={"time": "18:00"}, version=2)
    slot = set_back.next_fire_at
    assert slot is not None and slot < NINE + DAY
    editing.skip_next(schedule.id, slot, NOON)
    assert editing.unskip(schedule.id, slot, NOON).next_fire_at == slot


@pytest.mark.parametrize(
    ("slot", "now"),
    [(NINE + DAY, NOON), (NINE, NINE), (NINE, NINE + DAY), (NOON, NOON)],
    ids=["another slot", "just passed", "long passed", "run by hand"],
)
def test_what_was_not_skipped_or_has_passed_cannot_be_undone(schedule: Schedule, slot: datetime, now: datetime) -> None:
    editing.run_now(schedule.id, NOON)
    editing.skip_next(schedule.id, NINE, NOON)
    with pytest.raises(editing.ScheduleConflict):
        editing.unskip(schedule.id, slot, now)
    assert (NINE, "skipped", "asked") in slots(schedule)


def test_a_skip_after_the_clock_was_set_back_opens_no_slot_of_before(schedule: Schedule) -> None:
    editing.pause(schedule.id, NOON)
    editing.resume(schedule.id, NINE + 3 * DAY)
    skipped = editing.skip_next(schedule.id, NINE + 4 * DAY, NINE + DAY)
    assert skipped.next_fire_at == NINE + 5 * DAY


def test_skipping_a_one_off_finishes_it() -> None:
    schedule = make_schedule(make_user(), kind="once", rule={"at": "2026-06-02T09:00:00"})
    assert editing.skip_next(schedule.id, NINE, NOON).state == "finished"


def test_running_now_leaves_an_occurrence_of_its_own_and_the_timetable_alone() -> None:
    schedule = make_schedule(make_user(), max_count=1)
    after = editing.run_now(schedule.id, NOON)
    assert (after.next_fire_at, after.fired_count, after.version) == (NINE, 0, 1)
    assert slots(schedule) == [(NOON, "fired", "manual")]
    assert Notification.objects.get().slot == NOON
    assert fire.fire_due(NINE) == 1
    assert slots(schedule) == [(NOON, "fired", "manual"), (NINE, "fired", "")]


def test_running_now_twice_at_one_instant_says_it_once(schedule: Schedule) -> None:
    editing.run_now(schedule.id, NOON)
    editing.run_now(schedule.id, NOON)
    assert Delivery.objects.count() == 1


def test_the_same_press_of_the_button_runs_once() -> None:
    schedule, press = make_schedule(make_user()), uuid7()
    for seconds in range(2):
        editing.run_now(schedule.id, NOON + timedelta(seconds=seconds), occurrence_id=press)
    assert slots(schedule) == [(NOON, "fired", "manual")]
    assert events(schedule) == [("created", 1), ("run", 1)]


def test_running_at_the_instant_of_a_slot_fires_that_slot(schedule: Schedule) -> None:
    editing.run_now(schedule.id, NINE)
    assert slots(schedule) == [(NINE, "fired", "")]


def test_a_paused_schedule_can_be_run_and_stays_paused(schedule: Schedule) -> None:
    editing.pause(schedule.id, NOON)
    assert editing.run_now(schedule.id, NOON).state == "paused"
    assert Delivery.objects.filter(state="pending").count() == 1


def test_a_schedule_without_a_channel_says_why_running_it_did_nothing() -> None:
    schedule = make_schedule(make_user(), [])
    editing.run_now(schedule.id, NOON)
    assert slots(schedule) == [(NOON, "skipped", "no-channel")]


def test_a_deleted_schedule_is_not_run(schedule: Schedule) -> None:
    editing.delete(schedule.id, NOON)
    with pytest.raises(editing.ScheduleConflict):
        editing.run_now(schedule.id, NOON)


def test_a_duplicate_is_the_same_and_paused() -> None:
    schedule = make_schedule(make_user(), misfire="all", grace=7, spread=30)
    copy = editing.duplicate(schedule.id, NOON)
    assert copy.id != schedule.id
    assert (copy.state, copy.next_fire_at, copy.misfire, copy.grace, copy.spread) == ("paused", None, "all", 7, 30)
    assert list(copy.channels.all()) == list(schedule.channels.all())
    assert copy.periodic_task_id != schedule.periodic_task_id
    assert not PeriodicTask.objects.get(id=copy.periodic_task_id).enabled
    assert editing.resume(copy.id, NOON).next_fire_at == NINE


def test_a_snoozed_schedule_goes_on_with_the_first_slot_from_then_on(schedule: Schedule) -> None:
    snoozed = editing.snooze(schedule.id, NINE + 3 * DAY, NOON)
    assert (snoozed.state, snoozed.next_fire_at) == ("active", NINE + 3 * DAY)
    assert fire.fire_due(NINE + 2 * DAY) == 0
    fire.fire_due(NINE + 3 * DAY)
    assert slots(schedule) == [(NINE + 3 * DAY, "fired", "")]


def test_an_edit_keeps_the_snooze_and_resuming_ends_it(schedule: Schedule) -> None:
    editing.snooze(schedule.id, NINE + 3 * DAY, NOON)
    edited = edit_schedule(schedule, NOON, rule={"time": "08:00"}, version=2)
    assert edited.next_fire_at == NINE + 4 * DAY - timedelta(hours=1)
    resumed = editing.resume(schedule.id, NOON)
    assert (resumed.next_fire_at, resumed.snoozed_until) == (NINE - timedelta(hours=1), None)


def test_what_is_not_active_cannot_be_snoozed(schedule: Schedule) -> None:
    editing.pause(schedule.id, NOON)
    with pytest.raises(editing.ScheduleConflict):
        editing.snooze(schedule.id, NINE, NOON)


def test_a_snooze_that_has_ended_is_refused(schedule: Schedule) -> None:
    with pytest.raises(InvalidSnooze) as caught:
        editing.snooze(schedule.id, NOON, NOON)
    assert (caught.value.code, Schedule.objects.get().snoozed_until) == ("passed", None)


def test_each_change_leaves_its_event_with_the_version_after_it() -> None:
    user = make_user()
    schedule = make_schedule(user)
    editing.skip_next(schedule.id, NINE, NOON, by=user)
    editing.snooze(schedule.id, NINE + 2 * DAY, NOON)
    edit_schedule(schedule, NOON, rule={"time": "18:00"}, version=3)
    editing.run_now(schedule.id, NOON)
    editing.pause(schedule.id, NOON)
    editing.resume(schedule.id, NOON)
    editing.delete(schedule.id, NOON)
    editing.restore(schedule.id, NOON)
    assert events(schedule) == [
        ("created", 1), ("skipped", 2), ("snoozed", 3), ("edited", 4), ("run", 4), ("paused", 5), ("resumed", 6),
        ("deleted", 7), ("restored", 8),
    ]  # fmt: skip
    created, skipped, snoozed, edited, *_ = schedule.events.all()
    assert (created.by, skipped.by, snoozed.by) == (user, user, None)
    assert skipped.detail == {"slot": NINE.isoformat()}
    assert edited.detail["was"]["rule"] == {"time": "09:00"}


def test_an_editor_who_comes_second_is_given_the_first_ones_version(schedule: Schedule) -> None:
    edit_schedule(schedule, NOON, title="Mine", version=1)
    with pytest.raises(editing.ScheduleConflict) as conflict:
        edit_schedule(schedule, NOON, title="Theirs", version=1)
    assert (conflict.value.current.title, conflict.value.current.version) == ("Mine", 2)
    schedule.refresh_from_db()
    assert (schedule.title, schedule.version) == ("Mine", 2)


LAG = timedelta(seconds=5)
CHANGES: list[Any] = [
    lambda schedule: editing.pause(schedule.id, NINE + LAG),
    lambda schedule: editing.delete(schedule.id, NINE + LAG),
    lambda schedule: editing.snooze(schedule.id, NINE + 9 * DAY, NINE + LAG),
    lambda schedule: editing.skip_next(schedule.id, NINE + DAY, NINE + LAG),
    lambda schedule: editing.run_now(schedule.id, NINE + LAG),
    lambda schedule: edit_schedule(schedule, NINE + LAG, rule={"time": "08:59"}, version=1),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_during_a_lag_first_fires_the_slot_that_was_due(schedule: Schedule, change: Any) -> None:
    change(schedule)
    assert slots(schedule)[0] == (NINE, "fired", "")
    assert fire.fire_due(NINE + LAG) == 0
    assert schedule.occurrences.filter(scheduled_for=NINE).count() == 1


def test_a_change_after_a_long_lag_leaves_no_slot_behind() -> None:
    schedule = make_schedule(
        make_user(), kind="interval", rule={"every": 1, "unit": "minutes", "anchor": "2026-06-01T12:00:00+00:00"}
    )
    editing.pause(schedule.id, NOON + timedelta(minutes=2500))
    assert schedule.occurrences.count() == 2500


def test_a_recorded_slot_is_not_next_again_after_the_clock_was_set_back(schedule: Schedule) -> None:
    fire.fire_due(NINE)
    edited = edit_schedule(schedule, NOON, title="Other", version=1)  # the clock went back
    assert edited.next_fire_at == NINE + DAY


def test_resuming_a_rule_that_cannot_be_read_any_more_quarantines_it(schedule: Schedule) -> None:
    editing.pause(schedule.id, NOON)
    Schedule.objects.filter(id=schedule.id).update(time_zone="Mars/Olympus")
    resumed = editing.resume(schedule.id, NOON)
    assert (resumed.state, resumed.next_fire_at) == ("broken", None)
    assert "Mars/Olympus" in resumed.error


def test_every_edit_sets_the_time_of_change_and_firing_does_not(schedule: Schedule) -> None:
    acts = [
        lambda now: edit_schedule(schedule, now, version=1, title="Tea"),
        lambda now: editing.skip_next(schedule.id, Schedule.objects.get().next_fire_at, now),  # type: ignore[arg-type]
        lambda now: editing.snooze(schedule.id, now + DAY, now),
        lambda now: editing.pause(schedule.id, now),
        lambda now: editing.resume(schedule.id, now),
        lambda now: editing.delete(schedule.id, now),
        lambda now: editing.restore(schedule.id, now),
    ]
    for minutes, act in enumerate(acts, 1):
        now = NOON + timedelta(minutes=minutes)
        act(now)
        schedule.refresh_from_db()
        assert schedule.updated_at == now
    edited = schedule.updated_at
    editing.run_now(schedule.id, NOON + DAY / 24)
    assert fire.fire_due(NOON + 9 * DAY) == 1
    schedule.refresh_from_db()
    assert schedule.updated_at == edited


def test_a_notice_about_a_missing_channel_is_dropped_when_an_edit_adds_one(ada: User) -> None:
    schedule, mail = make_schedule(ada, []), make_channel(ada, "email")
    make_channel(ada)
    fire.fire_due(NINE)
    [told] = Notification.objects.filter(origin="notice")
    assert set(told.deliveries.values_list("state", flat=True)) == {"pending"}
    edit_schedule(schedule, NINE, channels=[mail])
    assert set(told.deliveries.values_list("reason_code", flat=True)) == {"mended"}
