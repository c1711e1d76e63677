"""Schedules and their rows in celery-beat: each follows the other, under our beat, the stock one, and both at once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from celery import Celery
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.backends.signals import connection_created
from django.utils import timezone
from django_celery_beat.models import PeriodicTask
from django_celery_beat.schedulers import DatabaseScheduler

from config.celery import app as celery_app
from notifications.models import Delivery
from schedules import drift, editing, following, mirror, tasks
from schedules.beat.scheduler import Scheduler
from schedules.firing import fire
from schedules.models import MirrorChange, Occurrence, Schedule
from tests.make import NOON, make_schedule, make_user

pytestmark = pytest.mark.django_db(transaction=True)


def row(schedule: Schedule) -> PeriodicTask:
    return PeriodicTask.objects.get(id=schedule.periodic_task_id)


def fresh(schedule: Schedule) -> Schedule:
    return Schedule.objects.get(id=schedule.id)


def by_save(schedule: Schedule, enabled: bool) -> None:
    task = row(schedule)
    task.enabled = enabled
    task.save()


def by_queryset(schedule: Schedule, enabled: bool) -> None:
    PeriodicTask.objects.filter(id=schedule.periodic_task_id).update(enabled=enabled)


def by_sql(schedule: Schedule, enabled: bool) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE django_celery_beat_periodictask SET enabled = %s WHERE id = %s",
            [enabled, schedule.periodic_task_id],
        )


def as_beat(disable: Any, schedule: Schedule) -> None:
    """As the stock scheduler does in its own process."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW application_name")
        before = cursor.fetchone()[0]
        mirror.sign_as_beat(connection)
        disable(schedule, False)
        cursor.execute("SELECT set_config('application_name', %s, false)", [before])


WAYS: list[Any] = [by_save, by_queryset, by_sql]


@pytest.mark.parametrize("change", WAYS)
def test_disabling_the_row_pauses_the_schedule_and_enabling_it_resumes(change: Any) -> None:
    schedule = make_schedule(make_user(), now=fire.read_clock().now)
    change(schedule, False)
    following.follow()
    assert (fresh(schedule).state, fresh(schedule).next_fire_at) == ("paused", None)
    change(schedule, True)
    following.follow()
    assert fresh(schedule).state == "active"
    assert row(schedule).enabled
    assert list(schedule.events.values_list("what", flat=True)) == ["created", "paused", "resumed"]


def test_what_we_do_to_a_row_ourselves_is_not_followed() -> None:
    schedule = make_schedule(make_user())
    editing.pause(schedule.id, NOON)
    editing.resume(schedule.id, NOON)
    fire.fire_due(NOON + timedelta(days=1))
    assert not MirrorChange.objects.exists()


def test_a_slot_between_the_enabling_and_our_noticing_it_is_fired() -> None:
    now = fire.read_clock().now.replace(microsecond=0)
    rule = {"every": 1, "unit": "minutes", "anchor": (now - timedelta(minutes=9)).isoformat()}
    schedule = make_schedule(make_user(), now=now - timedelta(minutes=5), kind="interval", rule=rule)
    editing.pause(schedule.id, now - timedelta(minutes=5))
    by_queryset(schedule, True)
    MirrorChange.objects.update(at=now - timedelta(seconds=70))  # the worker was busy for so long
    tasks.fire_one(str(schedule.id))
    assert [slot for (slot,) in schedule.occurrences.order_by("scheduled_for").values_list("scheduled_for")] == [
        now - timedelta(minutes=1),
        now,
    ]
    assert fresh(schedule).next_fire_at == now + timedelta(minutes=1)


def test_a_finished_schedule_that_is_enabled_says_that_nothing_is_left() -> None:
    schedule = make_schedule(make_user(), kind="once", rule={"at": "2020-01-01T09:00:00"})
    by_queryset(schedule, True)
    following.follow()
    assert (fresh(schedule).state, row(schedule).enabled) == ("finished", False)


def test_enabling_the_row_of_a_deleted_schedule_does_not_bring_it_back() -> None:
    schedule = make_schedule(make_user())
    editing.delete(schedule.id, NOON)
    by_queryset(schedule, True)
    following.follow()
    assert (fresh(schedule).next_fire_at, row(schedule).enabled) == (None, False)


def test_the_stock_scheduler_cannot_overwrite_last_run_and_run_count() -> None:
    schedule = make_schedule(make_user())
    fire.fire_due(NOON + timedelta(days=1))
    stale = row(schedule)
    stale.last_run_at, stale.total_run_count = timezone.now() + timedelta(hours=1), 77
    stale.save()
    assert row(schedule).total_run_count == 1
    assert row(schedule).last_run_at != stale.last_run_at


def test_a_stale_write_of_the_stock_scheduler_does_not_resume_a_paused_schedule() -> None:
    schedule = make_schedule(make_user())
    stale = row(schedule)
    editing.pause(schedule.id, NOON)
    stale.last_run_at = timezone.now()
    stale.save()
    following.follow()
    assert (fresh(schedule).state, row(schedule).enabled) == ("paused", False)


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


@pytest.fixture
def signed() -> Iterator[None]:
    """This process's connection is that of a beat."""
    tasks.sign()
    yield
    connection_created.disconnect(mirror.sign_as_beat)
    connection.close()


def test_a_beat_signs_each_connection_that_it_opens(signed: None) -> None:
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("SHOW application_name")
        assert cursor.fetchone() == ("carillon beat",)


@pytest.mark.parametrize("beats", ["ours", "stock", "both"])
def test_a_one_off_is_said_once_and_its_row_is_true(beats: str, signed: None) -> None:
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
    while following.follow():
        pass
    assert Occurrence.objects.count() == Delivery.objects.filter(state="pending").count() == 1
    assert fresh(schedule).state == "finished"
    assert (row(schedule).enabled, row(schedule).total_run_count) == (False, 1)
    assert row(schedule).last_run_at is not None


def test_a_row_that_the_stock_scheduler_disabled_before_the_worker_came_loses_nothing() -> None:
    schedule = one_off_due()
    as_beat(by_save, schedule)
    following.follow()
    assert fresh(schedule).state == "active"
    tasks.sweep()
    assert schedule.occurrences.count() == Delivery.objects.filter(state="pending").count() == 1
    assert fresh(schedule).state == "finished"


@pytest.mark.parametrize("change", WAYS)
def test_a_one_off_that_somebody_disables_just_before_it_is_due_does_not_fire(change: Any) -> None:
    now = fire.read_clock().now
    at = now + timedelta(seconds=2)
    schedule = make_schedule(make_user(), now=now, kind="once", rule={"at": f"{at:%Y-%m-%dT%H:%M:%S.%f}"})
    change(schedule, False)
    following.follow()
    assert fresh(schedule).state == "paused"
    assert fire.fire_due(at) == 0


def test_a_row_that_has_expired_before_its_last_slot_was_fired_loses_nothing() -> None:
    now = fire.read_clock().now.replace(microsecond=0)
    rule = {"every": 1, "unit": "minutes", "anchor": (now - timedelta(minutes=1)).isoformat()}
    schedule = make_schedule(
        make_user(), now=now - timedelta(seconds=90), kind="interval", rule=rule, ends_at=now - timedelta(seconds=1)
    )
    as_beat(by_save, schedule)
    following.follow()
    tasks.sweep()
    assert [slot for (slot,) in schedule.occurrences.values_list("scheduled_for")] == [now - timedelta(minutes=1)]
    assert (fresh(schedule).state, row(schedule).enabled) == ("finished", False)


BERLIN = {"time_zone": "Europe/Berlin"}
# Rules at an instant at which their mirrored crontab rings on another day, at another time, or not at all.
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


def test_drift_is_found_and_mended() -> None:
    changed, deleted, sound = (make_schedule(make_user()) for _ in range(3))
    with mirror._own():
        PeriodicTask.objects.filter(id=changed.periodic_task_id).update(enabled=False, args="[]")
    PeriodicTask.objects.filter(id=deleted.periodic_task_id).delete()
    orphan = PeriodicTask.objects.bulk_create(
        [PeriodicTask(name="orphan", task=mirror.FIRE, crontab=row(sound).crontab)]
    )
    assert {(one.schedule_id, one.wrong) for one in drift.find()} == {
        (changed.id, "differs in args, enabled"),
        (deleted.id, "has no mirror row"),
        (None, "mirrors no schedule"),
    }
    with pytest.raises(CommandError):
        call_command("mirror", "--check")
    call_command("mirror", "--repair")
    call_command("mirror", "--check")
    assert row(changed).enabled
    assert row(fresh(deleted)).enabled
    assert not PeriodicTask.objects.filter(id=orphan[0].id).exists()
