"""Editing locks the row, fires first what was due under the old rule, and keeps the mirror row true."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django_celery_beat.models import PeriodicTask

from jobs.models import Batch
from notifications.models import Delivery
from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Schedule
from schedules.parts import mirror
from schedules.rules import parse
from tests.make import NINE, NOON, edit_schedule, make_channel, make_schedule, make_user


def test_a_new_schedule_fires_next_at_its_first_slot_after_now(schedule: Schedule) -> None:
    assert (schedule.state, schedule.next_fire_at, schedule.version) == ("active", NINE, 1)


def test_a_new_schedule_whose_only_slot_has_passed_is_finished() -> None:
    schedule = make_schedule(make_user(), kind="once", rule={"at": "2020-01-01T09:00:00"})
    assert (schedule.state, schedule.next_fire_at) == ("finished", None)


def test_an_edit_sets_the_next_slot_and_counts_a_version(schedule: Schedule) -> None:
    edited = edit_schedule(schedule, NOON, rule={"time": "18:30"}, version=1)
    assert (edited.next_fire_at, edited.version) == (NOON.replace(hour=18, minute=30), 2)


def test_a_pause_cancels_what_is_not_sent_and_resuming_never_fires_the_past(schedule: Schedule) -> None:
    fire.fire_due(NINE)
    paused = editing.pause(schedule.id, NINE + timedelta(hours=1))
    assert (paused.state, paused.next_fire_at) == ("paused", None)
    assert [(d.state, d.reason) for d in Delivery.objects.all()] == [("cancelled", "The reminder was paused.")]
    resumed = editing.resume(schedule.id, NINE + timedelta(days=3, hours=1))
    assert (resumed.state, resumed.next_fire_at) == ("active", NINE + timedelta(days=4))
    assert resumed.occurrences.count() == 1


def test_an_edit_of_a_paused_schedule_leaves_it_paused(schedule: Schedule) -> None:
    editing.pause(schedule.id, NOON)
    edited = edit_schedule(schedule, NOON, rule={"time": "18:00"}, version=2)
    assert (edited.state, edited.next_fire_at) == ("paused", None)


def test_a_deleted_schedule_fires_nothing_and_can_be_restored() -> None:
    user = make_user()
    schedule = make_schedule(user)
    editing.delete(schedule.id, NOON)
    assert fire.fire_due(NINE) == 0
    assert not Schedule.objects.for_user(user).exists()
    restored = editing.restore(schedule.id, NINE)
    assert (restored.deleted_at, restored.next_fire_at) == (None, NINE + timedelta(days=1))


def test_the_mirror_row_follows_pause_resume_and_delete(schedule: Schedule) -> None:

    def enabled() -> bool:
        return bool(PeriodicTask.objects.get(id=schedule.periodic_task_id).enabled)

    assert enabled()
    editing.pause(schedule.id, NOON)
    assert not enabled()
    editing.resume(schedule.id, NOON)
    assert enabled()
    editing.delete(schedule.id, NOON)
    assert not enabled()


@pytest.mark.parametrize(
    ("kind", "rule", "timing"),
    [
        ("daily", {"time": "09:05"}, ("5", "9", "*", "*", "*")),
        ("weekly", {"time": "09:00", "days": [0, 6]}, ("0", "9", "*", "*", "1,0")),
        ("monthly", {"time": "09:00", "day": 15}, ("0", "9", "15", "*", "*")),
        ("monthly", {"time": "09:00", "day": "last"}, ("0", "9", "28-31", "*", "*")),
        ("cron", {"expression": "0 9 1 * mon"}, ("0", "9", "*", "*", "*")),
        ("cron", {"expression": "*/15 9-17 * * mon-fri"}, ("*/15", "9-17", "*", "*", "1,2,3,4,5")),
        ("cron", {"expression": "5/20 9 * jan,Feb 7"}, ("5,25,45", "9", "*", "1,2", "0")),
        ("cron", {"expression": "0 22-2 1 nov-jan *"}, ("0", "22,23,0,1,2", "1", "11,12,1", "*")),
        ("cron", {"expression": "0 9 L jul *"}, ("0", "9", "*", "7", "*")),
        ("cron", {"expression": "@weekly"}, ("0", "0", "*", "*", "0")),
    ],
)
def test_the_mirror_row_runs_at_least_at_every_slot(kind: str, rule: dict[str, Any], timing: tuple[str, ...]) -> None:
    schedule = make_schedule(make_user(), kind=kind, rule=rule, time_zone="Europe/Berlin")
    task = PeriodicTask.objects.select_related("crontab").get(id=schedule.periodic_task_id)
    crontab = task.crontab
    fields = (crontab.minute, crontab.hour, crontab.day_of_month, crontab.month_of_year, crontab.day_of_week)
    assert (fields, str(crontab.timezone)) == (timing, "Europe/Berlin")
    assert task.schedule.remaining_delta(NOON)  # Celery can read it
    assert (task.task, json.loads(task.args)) == (mirror.FIRE, [str(schedule.id)])


def test_changing_the_kind_leaves_the_mirror_row_with_one_timing() -> None:
    user = make_user()
    schedule = make_schedule(user, [make_channel(user)])
    edit_schedule(schedule, kind="once", rule={"at": "2026-07-01T09:00:00"})
    task = PeriodicTask.objects.get(id=schedule.periodic_task_id)
    assert (task.crontab, task.interval, task.clocked is None, task.one_off) == (None, None, False, True)


def test_only_a_schedule_on_its_makers_clock_gives_them_its_zone() -> None:
    maker = make_user(time_zone="")
    make_schedule(maker, [], time_zone="Pacific/Kiritimati", local_time=True, audience="everybody")
    maker.refresh_from_db()
    assert maker.time_zone == ""
    make_schedule(maker, time_zone="Europe/Berlin")
    maker.refresh_from_db()
    assert maker.time_zone == "Europe/Berlin"


def test_a_later_slot_that_is_not_skipped_any_more_leaves_the_next_one(schedule: Schedule) -> None:
    following = NINE + timedelta(days=1)
    for change, slot in (
        (editing.skip_next, NINE),
        (editing.skip_next, following),
        (editing.unskip, NINE),
        (editing.unskip, following),
    ):
        change(schedule.id, slot, NOON)
    schedule.refresh_from_db()
    assert (schedule.next_fire_at, schedule.occurrences.exists()) == (NINE, False)


def test_a_slot_that_has_passed_is_not_replaced(schedule: Schedule) -> None:
    later = parse("once", {"at": "2026-06-09T09:00"}, "UTC")
    with pytest.raises(editing.ScheduleConflict):
        editing.replace_slot(schedule.id, NINE, later, schedule.version, NINE + timedelta(hours=1), None)
    assert Schedule.objects.count() == 1


def test_a_slot_that_came_due_since_it_was_locked_fires_before_an_edit(schedule: Schedule) -> None:
    wanted = Schedule.objects.get()
    wanted.rule = {"time": "10:30"}
    editing.reschedule_locked(Schedule.objects.get(), wanted, NINE + timedelta(hours=1), None, None)
    assert [one.scheduled_for for one in schedule.occurrences.all()] == [NINE]
    schedule.refresh_from_db()
    assert schedule.next_fire_at == NINE + timedelta(hours=1, minutes=30)


def test_run_now_reaches_an_audience_at_once_whatever_the_clocks_of_its_people_show() -> None:
    staff = make_user(is_staff=True)
    made = make_schedule(staff, [], audience="everybody", local_time=True)
    editing.run_now(made.id, NOON)
    assert not Batch.objects.get().local_time
