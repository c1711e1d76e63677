"""Whatever the clock of a beat shows or has shown, and whatever stops a task: it runs, or somebody hears of it."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import django_celery_beat.schedulers
import pytest
import redis
from celery import Celery
from django.core.cache import cache
from django.db import connection
from django.db.models import F
from django.test import Client
from django.utils import timezone
from django_celery_beat.models import ClockedSchedule, CrontabSchedule, PeriodicTask

from common.redis import served_queues
from config.celery import app as celery_app
from schedules.beat import periodic_runs, stock_entries
from schedules.beat.scheduler import BeatLog
from schedules.firing import fire
from schedules.models import Heartbeat
from tests.db.schedules.beat.test_beat import hours_ago, make_beat, make_stock_entry, ticks

pytestmark = pytest.mark.django_db(transaction=True)

QUEUE = f"{celery_app.conf.broker_transport_options.get('global_keyprefix', '')}test-stock"


def set_clock(monkeypatch: pytest.MonkeyPatch, ahead: timedelta) -> None:
    """Set the clock of this machine, as beat and the stock loop read it."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.now(tz) + ahead

    monkeypatch.setattr(stock_entries, "datetime", Clock)
    shown = SimpleNamespace(datetime=Clock, timedelta=timedelta)
    monkeypatch.setattr(django_celery_beat.schedulers, "datetime", shown)
    monkeypatch.setattr(Celery, "now", lambda self: datetime.now(UTC) + ahead)


@pytest.mark.parametrize("hours", [-30, -1, 1, 30])
def test_an_entry_runs_by_the_databases_time_whatever_the_beats_clock_shows(
    monkeypatch: pytest.MonkeyPatch, broker: redis.Redis, hours: int
) -> None:
    entry = make_stock_entry(last_run_at=hours_ago(2), expire_seconds=3_600)
    early = make_stock_entry(name="early", last_run_at=timezone.now() - timedelta(minutes=30))
    set_clock(monkeypatch, timedelta(hours=hours))
    ticks(make_beat())
    for task in (entry, early):
        task.refresh_from_db()
    assert (entry.total_run_count, early.total_run_count, broker.llen(QUEUE)) == (1, 0, 1)
    assert entry.last_run_at is not None
    assert abs(entry.last_run_at - timezone.now()) < timedelta(minutes=5)
    expires = datetime.fromisoformat(json.loads(broker.lrange(QUEUE, 0, 0)[0])["headers"]["expires"])
    assert abs(expires - timezone.now() - timedelta(hours=1)) < timedelta(minutes=5)


def test_a_beat_whose_clock_is_set_while_it_runs_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    beat = make_beat()
    entry = make_stock_entry(last_run_at=timezone.now())
    set_clock(monkeypatch, timedelta(hours=5))
    ticks(beat)
    entry.refresh_from_db()
    assert entry.total_run_count == 0
    monkeypatch.undo()
    PeriodicTask.objects.filter(pk=entry.pk).update(last_run_at=hours_ago(2))
    ticks(beat)
    entry.refresh_from_db()
    assert entry.total_run_count == 1


@pytest.mark.parametrize("future", ["timestamptz '2099-01-01Z'", "timestamptz 'infinity'"])
def test_a_run_in_the_future_counts_as_one_of_now(future: str) -> None:
    entry = make_stock_entry()
    execute(f"UPDATE django_celery_beat_periodictask SET last_run_at = {future} WHERE id = {entry.pk}")  # noqa: S608
    beats = [make_beat(), make_beat()]
    for beat in beats:
        ticks(beat)
    entry.refresh_from_db()
    assert entry.last_run_at is not None
    assert entry.last_run_at <= fire.read_clock().now
    assert entry.total_run_count == 0
    PeriodicTask.objects.filter(pk=entry.pk).update(last_run_at=F("last_run_at") - timedelta(hours=1))
    for beat in beats:
        beat._reload()
        ticks(beat)
    entry.refresh_from_db()
    assert entry.total_run_count == 1


def test_an_entry_that_never_ran_is_due_however_often_its_beat_is_started(broker: redis.Redis) -> None:
    entry = make_stock_entry()
    ticks(make_beat())
    entry.refresh_from_db()
    assert (entry.total_run_count, broker.llen(QUEUE)) == (1, 1)


def test_a_crontab_that_an_operator_has_just_made_begins_with_its_next_time() -> None:
    at = timezone.now() - timedelta(hours=2)
    daily = CrontabSchedule.objects.create(minute=at.minute, hour=at.hour)
    entry = make_stock_entry(interval=None, crontab=daily)
    ticks(make_beat())
    entry.refresh_from_db()
    assert entry.total_run_count == 0
    PeriodicTask.objects.filter(pk=entry.pk).update(date_changed=hours_ago(3))
    ticks(make_beat())
    entry.refresh_from_db()
    assert entry.total_run_count == 1


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_first_task_of_each_beat_is_sent_once(broker: redis.Redis, count: int) -> None:
    clocked = ClockedSchedule.objects.create(clocked_time=hours_ago(1))
    entry = make_stock_entry(interval=None, clocked=clocked, one_off=True)
    beats = [make_beat() for _ in range(count)]
    PeriodicTask.objects.filter(pk=entry.pk).update(enabled=True)
    for _ in range(6):
        for beat in beats:
            beat.tick()
    entry.refresh_from_db()
    assert (broker.llen(QUEUE), entry.enabled) == (1, False)


def test_a_one_off_task_that_is_enabled_again_runs_again(broker: redis.Redis) -> None:
    clocked = ClockedSchedule.objects.create(clocked_time=hours_ago(1))
    entry = make_stock_entry(interval=None, clocked=clocked, one_off=True)
    for _ in range(2):
        PeriodicTask.objects.filter(pk=entry.pk).update(enabled=True)
        beat = make_beat()  # reads all anew
        for _ in range(3):
            beat.tick()
    entry.refresh_from_db()
    assert (broker.llen(QUEUE), entry.enabled) == (2, False)


def test_a_one_off_crontab_that_is_enabled_again_waits_for_its_next_time(broker: redis.Redis) -> None:
    yearly = CrontabSchedule.objects.create(minute="0", hour="0", day_of_month="1", month_of_year="1")
    entry = make_stock_entry(interval=None, crontab=yearly, one_off=True, last_run_at=hours_ago(400 * 24))
    for _ in range(2):
        PeriodicTask.objects.filter(pk=entry.pk).update(enabled=True)
        ticks(make_beat())
    entry.refresh_from_db()
    assert (broker.llen(QUEUE), entry.enabled) == (1, True)


def test_a_run_is_recorded_as_of_now_where_the_beats_clock_is_ahead() -> None:
    task = make_stock_entry(last_run_at=hours_ago(2))
    beat = make_beat()
    entry = beat.schedule["hourly"]
    entry.model.last_run_at = timezone.now() + timedelta(hours=1)
    beat.apply_entry(entry)
    task.refresh_from_db()
    assert task.total_run_count == 1
    assert task.last_run_at is not None and task.last_run_at <= fire.read_clock().now


def test_a_disabled_task_of_carillons_own_is_named_in_log_health_and_admin(
    operator: Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_beat()
    PeriodicTask.objects.update(enabled=True)
    Heartbeat.objects.create(process="host:1")
    served_queues.announce(["deliveries", "events", "jobs", "bulk", "maintenance"])
    assert operator.get("/healthz/clock").status_code == 200
    PeriodicTask.objects.filter(name="rescue").update(enabled=False)
    answer = operator.get("/healthz/clock")
    assert (answer.status_code, "rescue" in answer.content.decode()) == (503, True)
    assert "The periodic task rescue does not run. It is disabled" in operator.get("/admin/").content.decode()
    monkeypatch.setattr("schedules.beat.scheduler.LOG_SECONDS", 0.0)
    monkeypatch.delattr("schedules.beat.problems.page")  # a link would load the admin and the API into a beat
    BeatLog(logging.getLogger("beat")).write_summary()
    assert [record.levelname for record in caplog.records if "rescue" in record.message] == ["ERROR"]


def test_a_task_that_beat_sends_and_that_no_worker_ends_well_is_named(client: Client) -> None:
    Heartbeat.objects.create(process="host:1")
    assert client.get("/healthz/clock").status_code == 200  # from here on it counts
    key = periodic_runs._key("work.rescue")
    assert cache.get(key)
    cache.set(key, 1, periodic_runs._REMEMBERED - 71)
    answer = client.get("/healthz/clock")
    assert (answer.status_code, "rescue" in answer.content.decode()) == (503, True)
    celery_app.loader.import_default_modules()
    celery_app.tasks["work.rescue"].apply()  # sends the signal of a task that has ended well, as in a worker
    assert client.get("/healthz/clock").status_code == 200


def test_every_periodic_task_has_an_interval_that_the_check_can_read() -> None:
    assert all(every >= 1 for _, every in periodic_runs._names().values())
    assert len(periodic_runs._names()) == len(celery_app.conf.beat_schedule)


def execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
