"""The beat fires in time, shares its work and leaves a sign of life."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock
from uuid import uuid4

import pytest
from celery import Celery
from django.db import OperationalError
from django.utils import timezone
from django_celery_beat.models import IntervalSchedule, PeriodicTask
from kombu import Producer

from config.celery import app as celery_app
from notifications.models import Notification
from schedules.beat import heartbeat, scheduler, stock_entries, zone_updates
from schedules.beat.scheduler import Scheduler
from schedules.beat.zone_updates import Moved
from schedules.firing import fire
from schedules.models import Heartbeat, Occurrence, Schedule
from tests.make import make_channel, make_schedule, make_user

pytestmark = pytest.mark.django_db(transaction=True)


def due_in(seconds: float) -> Schedule:
    """A one-off so many seconds from now."""
    now = fire.read_clock().now
    at = now + timedelta(seconds=seconds)
    return make_schedule(
        make_user(), now=now - timedelta(days=1), kind="once", rule={"at": f"{at:%Y-%m-%dT%H:%M:%S.%f}"}
    )


def make_stock_entry(**overrides: Any) -> PeriodicTask:
    every = IntervalSchedule.objects.get_or_create(every=1, period="hours")[0]
    # Not one that rests while it has nothing to do.
    fields = {"name": "hourly", "task": "work.count_tries", "interval": every, "queue": "test-stock"} | overrides
    return PeriodicTask.objects.create(**fields)


def hours_ago(hours: int) -> Any:
    return timezone.now() - timedelta(hours=hours)


def make_beat(app: Celery = celery_app) -> Scheduler:
    beat = Scheduler(app=app)
    PeriodicTask.objects.exclude(name="hourly").filter(queue=None).exclude(task="schedules.fire").update(enabled=False)
    beat._reload()
    return beat


def ticks(beat: Scheduler, count: int = 6) -> None:
    for _ in range(count):
        beat.tick()


def test_a_tick_fires_what_is_due_and_sleeps_until_the_next_slot(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(scheduler, "LONGEST_SLEEP", 60.0)
    monkeypatch.setattr(scheduler, "LOG_SECONDS", 0.0)
    caplog.set_level(logging.INFO)
    due = due_in(-1)
    beat = make_beat()
    beat.tick()
    assert due.occurrences.count() == 1
    [late] = re.findall(r"1 schedules fired, at most ([\d.]+) s late", caplog.text)
    assert float(late) >= 1.0
    next_one = due_in(30)
    before = fire.read_clock().seconds_to_next
    wait = beat.tick()
    after = fire.read_clock().seconds_to_next
    assert before is not None
    assert after is not None
    assert after <= wait <= before
    assert not next_one.occurrences.exists()


def test_a_tick_sends_an_early_message_that_is_due_and_sleeps_until_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scheduler, "LONGEST_SLEEP", 60.0)
    user, now = make_user(), fire.read_clock().now
    at = f"{now + timedelta(minutes=30):%Y-%m-%dT%H:%M:%S.%f}"
    schedule = make_schedule(user, [make_channel(user)], now=now, kind="once", rule={"at": at}, early=[10, 30])
    Schedule.objects.update(next_early_at=now)
    beat = make_beat()
    assert beat.tick() == 0
    assert Notification.objects.get(origin_id=schedule.id).early == 30
    assert not schedule.occurrences.exists()
    Schedule.objects.update(next_early_at=fire.read_clock().now + timedelta(seconds=30))
    assert 0 < beat.tick() <= 30


def test_a_beat_with_nothing_to_do_checks_again_after_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    beat = make_beat()
    ticks(beat)
    monkeypatch.setattr(scheduler, "time", SimpleNamespace(monotonic=lambda: 0.0))  # the tick takes no time
    assert beat.tick() == 1.0


def test_stock_entries_are_not_starved_by_due_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(8):
        due_in(-1)
    entry = make_stock_entry(last_run_at=hours_ago(2))
    beat = make_beat()
    monkeypatch.setattr(fire.fire_due, "__defaults__", (None, 2, None))  # so that four ticks are needed
    ticks(beat, 3)
    entry.refresh_from_db()
    assert (entry.total_run_count, Occurrence.objects.count()) == (1, 6)


def test_entries_that_are_due_are_sent_without_a_sleep_and_one_due_soon_ends_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scheduler, "_STOCK", 0.0)
    monkeypatch.setattr(scheduler, "LONGEST_SLEEP", 60.0)
    for name in ("hourly", "other"):
        make_stock_entry(name=name, last_run_at=hours_ago(2))
    beat = make_beat()
    assert [beat.tick() == 0 for _ in range(3)] == [True, True, False]
    PeriodicTask.objects.filter(name="other").update(last_run_at=hours_ago(1) + timedelta(seconds=30))
    beat._reload()
    assert beat.tick() > 30


def test_two_beats_send_a_stock_entry_once_and_record_its_run_at_once() -> None:
    entry = make_stock_entry(last_run_at=hours_ago(2))
    beats = [make_beat(), make_beat()]
    for beat in beats:
        beat.tick()  # reads the entries
    for beat in beats:
        ticks(beat)
    entry.refresh_from_db()
    assert entry.total_run_count == 1
    assert entry.last_run_at is not None
    assert entry.last_run_at > hours_ago(1)
    for beat in beats:
        beat.sync()
    entry.refresh_from_db()
    assert entry.total_run_count == 1


def test_an_entry_that_no_broker_took_is_due_again() -> None:
    before = hours_ago(2)
    entry = make_stock_entry(last_run_at=before)
    nowhere = Celery("nowhere", broker="redis://127.0.0.1:1/0", set_as_current=False)
    nowhere.conf.update(beat_schedule={}, result_expires=None, timezone="UTC")
    beat = make_beat(nowhere)
    due = due_in(-1)
    ticks(beat)
    entry.refresh_from_db()
    assert (entry.total_run_count, entry.last_run_at) == (0, before)
    assert due.occurrences.count() == 1
    ticks(make_beat())
    entry.refresh_from_db()
    assert entry.total_run_count == 1


@pytest.mark.parametrize("at", [(Scheduler, "_claim_and_send"), (stock_entries, "read")], ids=["send", "read"])
def test_a_database_that_is_away_in_the_stock_loop_delays_no_later_tick_and_disables_no_entry(
    monkeypatch: pytest.MonkeyPatch, at: tuple[object, str]
) -> None:
    entry = make_stock_entry(last_run_at=hours_ago(2))
    beat = make_beat()

    with monkeypatch.context() as patch:
        patch.setattr(*at, Mock(side_effect=OperationalError("gone")))
        ticks(beat)
    ticks(beat)
    entry.refresh_from_db()
    assert entry.total_run_count == 1


def test_a_beat_that_starts_without_a_database_says_so_and_reads_its_entries_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    entry = make_stock_entry(last_run_at=hours_ago(2))
    with monkeypatch.context() as patch:
        patch.setattr(fire, "read_clock", Mock(side_effect=OperationalError("gone")))
        beat = make_beat()
        assert "Schedules cannot be read or written: gone" in caplog.messages
        assert beat.tick() == scheduler.LONGEST_SLEEP
    ticks(beat)
    entry.refresh_from_db()
    assert entry.total_run_count == 1


def test_zones_are_recomputed_though_the_database_was_away(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away() -> Iterator[list[Moved]]:
        raise OperationalError("gone")
        yield

    batches = [away(), iter([[(uuid4(), timezone.now(), None)]])]
    monkeypatch.setattr(zone_updates, "recompute_changed", lambda: batches.pop(0))
    ticks(make_beat(), 2)
    assert "The zone database moves schedule" in caplog.text


def test_what_the_broker_refuses_is_sent_again_but_not_within_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    entry, beat = make_stock_entry(last_run_at=hours_ago(2)), make_beat()
    publish = Mock(side_effect=ConnectionResetError, __name__="publish")
    with monkeypatch.context() as patch:
        patch.setattr(Producer, "_publish", publish)
        ticks(beat)
    publish.assert_called_once()
    beat._broker_retry_at = 0.0  # five seconds later
    ticks(beat)
    entry.refresh_from_db()
    assert entry.total_run_count == 1


def test_the_stock_loop_does_not_see_mirror_rows() -> None:
    due_in(60)
    assert PeriodicTask.objects.filter(task="schedules.fire").exists()
    assert not make_beat().enabled_models_qs().filter(task="schedules.fire").exists()


def test_a_beat_leaves_one_row_that_says_when_it_was_seen_and_what_it_did(monkeypatch: pytest.MonkeyPatch) -> None:
    assert heartbeat.beat_last_seen() is None
    beat = make_beat()
    beat.tick()
    due_in(-1)
    ticks(beat)
    monkeypatch.setattr(beat._heartbeat, "_next", 0.0)  # five seconds later
    beat.tick()
    [row] = Heartbeat.objects.all()
    assert (row.process, row.work, row.total) == (beat._heartbeat.process, 1, 1)
    assert heartbeat.beat_last_seen() == row.last_seen_at
    assert row.last_seen_at > row.started_at


def test_an_outage_is_the_time_in_which_no_beat_was_seen() -> None:
    now = fire.read_clock().now

    def seen(start: int, end: int) -> None:
        Heartbeat.objects.create(
            process="host:1", started_at=now - timedelta(minutes=start), last_seen_at=now - timedelta(minutes=end)
        )

    seen(100, 60)
    seen(90, 70)  # a second beat within the first one's time
    seen(40, 5)
    assert [(outage.began, outage.ended) for outage in heartbeat.outages(now - timedelta(days=1), now)] == [
        (now - timedelta(minutes=60), now - timedelta(minutes=40)),
        (now - timedelta(minutes=5), None),
    ]
    assert [outage.ended for outage in heartbeat.outages(now - timedelta(minutes=30), now)] == [None]


def test_a_beat_that_was_silent_for_long_begins_a_new_row(monkeypatch: pytest.MonkeyPatch) -> None:
    beat = make_beat()
    beat.tick()
    Heartbeat.objects.update(started_at=hours_ago(3), last_seen_at=hours_ago(2))
    monkeypatch.setattr(beat._heartbeat, "_next", 0.0)
    beat.tick()
    assert Heartbeat.objects.count() == 2
