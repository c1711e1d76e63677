"""Schedules and their rows in celery-beat: one way, under our beat, the stock one, and both at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any

import pytest
from celery import Celery
from django.db import connection, transaction
from django.utils import timezone
from django_celery_beat.models import ClockedSchedule, PeriodicTask
from django_celery_beat.schedulers import DatabaseScheduler

from config.celery import app as celery_app
from notifications.models import Delivery
from people.account import deletion
from people.models import User
from schedules import tasks
from schedules.beat.scheduler import Scheduler
from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Occurrence, Schedule
from tests.make import NOON, edit_schedule, make_schedule, make_user

pytestmark = pytest.mark.django_db(transaction=True)


def row(schedule: Schedule) -> PeriodicTask:
    return PeriodicTask.objects.get(id=schedule.periodic_task_id)


def fresh(schedule: Schedule) -> Schedule:
    return Schedule.objects.get(id=schedule.id)


def write_back(schedule: Schedule, **fields: Any) -> None:
    """As the stock scheduler does, from what it has in memory."""
    task = row(schedule)
    for name, value in fields.items():
        setattr(task, name, value)
    task.save()


@pytest.mark.parametrize(
    "fields", [{"enabled": False}, {"enabled": False, "last_run_at": None}, {"last_run_at": timezone.now()}]
)
def test_what_is_written_to_a_row_changes_nothing_of_its_schedule_and_it_fires(fields: dict[str, Any]) -> None:
    now = fire.read_clock().now.replace(microsecond=0)
    rule = {"every": 1, "unit": "minutes", "anchor": (now - timedelta(minutes=1)).isoformat()}
    schedule = make_schedule(make_user(), now=now - timedelta(seconds=90), kind="interval", rule=rule)
    before = fresh(schedule).next_fire_at
    write_back(schedule, **fields)
    assert (fresh(schedule).state, fresh(schedule).next_fire_at) == ("active", before)
    tasks.sweep()
    assert Occurrence.objects.filter(schedule=schedule, outcome="fired").exists()


def test_a_row_that_is_enabled_does_not_resume_its_schedule() -> None:
    paused, deleted = make_schedule(make_user()), make_schedule(make_user())
    editing.pause(paused.id, NOON)
    editing.delete(deleted.id, NOON)
    for schedule in (paused, deleted):
        write_back(schedule, enabled=True, last_run_at=timezone.now())
        tasks.fire_one(str(schedule.id))
        assert fresh(schedule).next_fire_at is None
    assert fresh(paused).state == "paused"
    assert not Occurrence.objects.exists()


def test_the_next_edit_puts_a_row_right(schedule: Schedule) -> None:
    write_back(schedule, enabled=False, args="[]", name="Mine")
    editing.snooze(schedule.id, NOON + timedelta(days=3), NOON)
    assert (row(schedule).enabled, row(schedule).args) == (True, f'["{schedule.id}"]')
    PeriodicTask.objects.filter(id=schedule.periodic_task_id).delete()
    editing.pause(schedule.id, NOON)
    assert not row(fresh(schedule)).enabled
    assert [event.what for event in schedule.events.all()] == ["created", "snoozed", "paused"]


@pytest.mark.parametrize("delete", [Schedule.delete, lambda schedule: User.delete(schedule.user)])
def test_a_row_goes_with_its_schedule(delete: Callable[[Schedule], Any]) -> None:
    schedule, other = make_schedule(make_user()), make_schedule(make_user())
    delete(schedule)
    assert PeriodicTask.objects.filter(task="schedules.fire").get() == row(other)


def stock_beat() -> DatabaseScheduler:
    app = Celery("stock", broker=celery_app.conf.broker_url, set_as_current=False)
    app.conf.update(
        beat_schedule={}, result_expires=None, timezone="UTC",
        broker_transport_options=celery_app.conf.broker_transport_options, task_default_queue="test-clock",
    )  # fmt: skip
    return DatabaseScheduler(app=app)


def stock_beat_with_our_entries() -> DatabaseScheduler:
    return DatabaseScheduler(app=celery_app)


def work(beat: DatabaseScheduler) -> int:
    """Do what the messages in the stock beat's queue say; returns how many there were."""
    done = 0
    with beat.app.connection_for_read() as broker:
        queue = beat.app.amqp.queues["test-clock"](broker.default_channel)
        queue.declare()
        while (message := queue.get(no_ack=True)) is not None:
            tasks.fire_one(*message.payload[0])
            done += 1
    return done


def one_off_due() -> Schedule:
    now = fire.read_clock().now
    at = now - timedelta(seconds=1)
    return make_schedule(
        make_user(), now=now - timedelta(days=1), kind="once", rule={"at": f"{at:%Y-%m-%dT%H:%M:%S.%f}"}
    )


@pytest.mark.parametrize("beats", ["ours", "stock", "both"])
def test_a_one_off_is_sent_once_and_its_row_is_disabled(beats: str) -> None:
    schedule = one_off_due()
    stock = stock_beat() if beats != "ours" else None
    ours = Scheduler(app=celery_app) if beats != "stock" else None
    for _ in range(8):
        if stock is not None:
            stock.tick()
        if ours is not None:
            ours.tick()
        if stock is not None:
            work(stock)
    if stock is not None:
        stock.sync()
    assert Occurrence.objects.count() == Delivery.objects.filter(state="pending").count() == 1
    assert fresh(schedule).state == "finished"
    assert not row(schedule).enabled


def test_a_row_that_the_stock_scheduler_disabled_before_the_worker_came_loses_nothing() -> None:
    schedule = one_off_due()
    write_back(schedule, enabled=False)
    tasks.sweep()
    assert schedule.occurrences.count() == Delivery.objects.filter(state="pending").count() == 1
    assert fresh(schedule).state == "finished"


def test_a_row_that_has_expired_before_its_last_slot_was_fired_loses_nothing() -> None:
    now = fire.read_clock().now.replace(microsecond=0)
    rule = {"every": 1, "unit": "minutes", "anchor": (now - timedelta(minutes=1)).isoformat()}
    schedule = make_schedule(
        make_user(), now=now - timedelta(seconds=90), kind="interval", rule=rule, ends_at=now - timedelta(seconds=1)
    )
    write_back(schedule, enabled=False)
    tasks.sweep()
    assert [slot for (slot,) in schedule.occurrences.values_list("scheduled_for")] == [now - timedelta(minutes=1)]
    assert (fresh(schedule).state, row(schedule).enabled) == ("finished", False)


BERLIN = {"time_zone": "Europe/Berlin"}
# Rules at an instant at which their crontab is due on another day, at another time, or not at all.
UNSAID: list[tuple[dict[str, Any], str]] = [
    ({"kind": "cron", "rule": {"expression": "0 9 L * *"}}, "2026-02-28T09:00+00:00"),
    ({"kind": "cron", "rule": {"expression": "0 9 13 * fri"}}, "2026-01-16T09:00+00:00"),
    ({"kind": "cron", "rule": {"expression": "30 2 * * *"}} | BERLIN, "2026-03-29T01:00+00:00"),
    ({"kind": "daily", "rule": {"time": "02:30"}} | BERLIN, "2026-03-29T01:00+00:00"),
    (
        {"kind": "rrule", "rule": {"rule": "DTSTART:20260105T090000\nRRULE:FREQ=MONTHLY;BYDAY=-1FR"}},
        "2026-01-30T09:00+00:00",
    ),
]


@pytest.mark.parametrize(("timing", "slot"), UNSAID)
def test_the_sweep_fires_what_no_crontab_can_say(timing: dict[str, Any], slot: str) -> None:
    at = datetime.fromisoformat(slot)
    schedule = make_schedule(make_user(), now=at - timedelta(minutes=1), grace=10**9, **timing)
    assert schedule.next_fire_at == at
    tasks.sweep()
    assert Occurrence.objects.get(scheduled_for=at).outcome == "fired"


def test_the_stock_loop_sweeps_every_five_seconds() -> None:
    make_schedule(make_user())
    entry = stock_beat_with_our_entries().schedule["sweep"]
    assert (entry.task, entry.schedule.seconds) == ("schedules.sweep", 5.0)


def clocked() -> list[datetime]:
    return sorted(ClockedSchedule.objects.values_list("clocked_time", flat=True))


def once(day: int) -> dict[str, Any]:
    return {"kind": "once", "rule": {"at": f"2026-06-{day:02}T09:00:00"}}


def at(day: int) -> datetime:
    return NOON.replace(day=day, hour=9)


def move(schedule: Schedule, day: int) -> None:
    edit_schedule(fresh(schedule), **once(day))


@pytest.mark.parametrize("part", [1, 10_000])
def test_an_instant_that_no_reminder_has_any_more_is_deleted_in_the_second_round(
    monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    monkeypatch.setattr(tasks, "_PART", part)
    first, second = make_schedule(make_user(), **once(2)), make_schedule(make_user(), **once(2))
    assert clocked() == [at(2)]
    move(first, 3)
    move(first, 4)
    assert clocked() == [at(2), at(3), at(4)]
    assert tasks.prune() == 0  # an operator may have just made one of them
    assert tasks.prune() == 1
    assert clocked() == [at(2), at(4)]  # the second still has the first instant
    Schedule.objects.get(id=second.id).delete()
    assert (tasks.prune(), clocked()) == (1, [at(4)])


def test_an_account_that_is_deleted_leaves_no_row_of_an_instant() -> None:
    schedule = make_schedule(make_user(), **once(2))
    deletion.request(schedule.user)
    deletion.delete_requested()
    assert tasks.prune() + tasks.prune() == 1
    assert (clocked(), PeriodicTask.objects.count()) == ([], 0)


def test_an_instant_that_another_edit_has_just_found_is_not_deleted_under_it() -> None:
    schedule = make_schedule(make_user(), **once(2))
    found, pruned = threading.Event(), threading.Event()

    def insert() -> None:
        with closing(connection), transaction.atomic():
            make_schedule(make_user(), **once(2))
            found.set()
            pruned.wait(10)

    other = threading.Thread(target=insert)
    other.start()
    assert found.wait(10)
    Schedule.objects.filter(id=schedule.id).update(periodic_task=None)
    PeriodicTask.objects.filter(id=schedule.periodic_task_id).delete()
    assert tasks.prune() + tasks.prune() == 0
    pruned.set()
    other.join(10)
    assert clocked() == [at(2)]
