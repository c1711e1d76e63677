"""The beat fires in time, shares its work, and survives the loss of either engine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pytest
from celery import Celery
from django.conf import settings
from django.db import connection
from django.utils import timezone
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from config.celery import app as celery_app
from schedules import firing, heartbeat
from schedules.beat import Scheduler
from schedules.models import Heartbeat, Occurrence, Schedule
from tests.clock.line import Line
from tests.make import make_schedule, make_user

pytestmark = pytest.mark.django_db(transaction=True)


def due_in(seconds: float) -> Schedule:
    """A one-off so many seconds from now."""
    now = firing.read_clock().now
    at = now + timedelta(seconds=seconds)
    return make_schedule(
        make_user(), now=now - timedelta(days=1), kind="once", rule={"at": f"{at:%Y-%m-%dT%H:%M:%S.%f}"}
    )


def make_stock_entry(**overrides: Any) -> PeriodicTask:
    every = IntervalSchedule.objects.get_or_create(every=1, period="hours")[0]
    fields = {"name": "hourly", "task": "notifications.rescue", "interval": every, "queue": "test-stock"} | overrides
    return PeriodicTask.objects.create(**fields)


def hours_ago(hours: int) -> Any:
    return timezone.now() - timedelta(hours=hours)


def make_beat(app: Celery = celery_app) -> Scheduler:
    beat = Scheduler(app=app)
    PeriodicTask.objects.exclude(name="hourly").filter(queue=None).exclude(task="schedules.fire").update(enabled=False)
    beat._read_afresh()
    return beat


def ticks(beat: Scheduler, count: int = 6) -> None:
    for _ in range(count):
        beat.tick()


def test_a_tick_fires_what_is_due_and_sleeps_until_the_next_slot() -> None:
    due = due_in(-1)
    beat = make_beat()
    beat.tick()
    assert due.occurrences.count() == 1
    next_one = due_in(0.9)
    before = firing.read_clock().seconds_to_next
    wait = beat.tick()
    after = firing.read_clock().seconds_to_next
    assert before is not None
    assert after is not None
    assert after <= wait <= before
    assert not next_one.occurrences.exists()


def test_a_beat_with_nothing_to_do_looks_again_within_a_second() -> None:
    beat = make_beat()
    ticks(beat)
    assert 0.5 < beat.tick() <= 1.0


def test_stock_entries_are_not_starved_by_due_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(8):
        due_in(-1)
    entry = make_stock_entry(last_run_at=hours_ago(2))
    beat = make_beat()
    monkeypatch.setattr(firing.fire_due, "__defaults__", (None, 2, None))  # so that four ticks are needed
    ticks(beat, 3)
    entry.refresh_from_db()
    assert (entry.total_run_count, Occurrence.objects.count()) == (1, 6)


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
    monkeypatch.setattr(beat._pulse, "_next", 0.0)  # five seconds later
    beat.tick()
    [row] = Heartbeat.objects.all()
    assert (row.process, row.work, row.total) == (beat._pulse.process, 1, 1)
    assert heartbeat.beat_last_seen() == row.last_seen_at
    assert row.last_seen_at > row.started_at


def test_an_outage_is_the_time_in_which_no_beat_was_seen() -> None:
    now = firing.read_clock().now

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
    monkeypatch.setattr(beat._pulse, "_next", 0.0)
    beat.tick()
    assert Heartbeat.objects.count() == 2


def test_a_beat_survives_the_loss_of_postgresql_and_of_redis(tmp_path: Path) -> None:
    database, broker = lines()
    with running_beat(database, broker, tmp_path / "log") as beat:
        wait_for(lambda: "cannot be read" in (tmp_path / "log").read_text())  # the database was away at its start
        database.mend()
        early = due_in(-0.1)
        wait_for(early.occurrences.exists)
        database.cut()
        broker.cut()
        missed = due_in(0.1)
        time.sleep(0.5)
        assert not missed.occurrences.exists()
        database.mend()
        wait_for(missed.occurrences.exists)  # recorded while the broker is still away
        broker.mend()
        rescues = PeriodicTask.objects.filter(name="rescue")
        before = rescues.get().total_run_count
        wait_for(lambda: rescues.get().total_run_count > before, within=12)
        assert beat.poll() is None
    database.cut()
    broker.cut()
    assert Occurrence.objects.count() == 2


def test_a_beat_gives_up_a_database_that_has_fallen_silent_and_goes_on_with_a_new_connection(tmp_path: Path) -> None:
    database, broker = lines()
    database.mend()
    options = "?connect_timeout=2&tcp_user_timeout=1500&keepalives_idle=1&keepalives_interval=1"
    with running_beat(database, broker, tmp_path / "log", options) as beat:
        early = due_in(-0.1)
        wait_for(early.occurrences.exists)
        database.silence()
        missed = due_in(0.1)
        wait_for(lambda: "cannot be read" in (tmp_path / "log").read_text(), within=15)
        assert not missed.occurrences.exists()
        database.let_in_again()
        wait_for(missed.occurrences.exists, within=15)
        assert beat.poll() is None
    database.cut()
    broker.cut()


def test_what_a_beat_holds_that_stands_still_is_fired_by_another(tmp_path: Path) -> None:
    database, broker = lines()
    database.mend()
    (tmp_path / "recorded").write_text("stop-group")
    held = due_in(-0.1)
    options = "?options=-c%20idle_in_transaction_session_timeout%3D2s"
    with running_beat(database, broker, tmp_path / "log", options, CARILLON_BARRIERS=str(tmp_path)) as beat:
        wait_for(lambda: not (tmp_path / "recorded").exists())
        now = firing.read_clock().now
        assert firing.fire_due(now) == 0  # its row is locked
        wait_for(lambda: firing.fire_due(now) == 1)
        os.kill(beat.pid, signal.SIGCONT)
        later = due_in(0.1)
        wait_for(later.occurrences.exists)
        assert held.occurrences.count() == 1
    database.cut()
    broker.cut()


def test_the_machines_own_time_zone_changes_nothing(tmp_path: Path) -> None:
    database, broker = lines()
    database.mend()
    now = firing.read_clock().now
    local = (now + timedelta(seconds=1)).astimezone(ZoneInfo("Europe/Berlin"))
    once = {"kind": "once", "rule": {"at": f"{local:%Y-%m-%dT%H:%M:%S}"}, "time_zone": "Europe/Berlin"}
    due = make_schedule(make_user(), now=now - timedelta(days=1), **once)
    with running_beat(database, broker, tmp_path / "log", TZ="Pacific/Apia"):
        wait_for(due.occurrences.exists)
        rescues = PeriodicTask.objects.filter(name="rescue")
        wait_for(lambda: rescues.exists() and rescues.get().total_run_count > 0)
    assert due.occurrences.get().reason == ""
    database.cut()
    broker.cut()


def test_a_beat_that_waits_for_its_database_stops_when_told_to(tmp_path: Path) -> None:
    database, broker = lines()
    with running_beat(database, broker, tmp_path / "log") as beat:
        wait_for(lambda: "cannot be read" in (tmp_path / "log").read_text())
        beat.send_signal(signal.SIGTERM)
        assert beat.wait(timeout=5) == 0
    broker.cut()


def lines() -> tuple[Line, Line]:
    """Lines to the database (cut) and to the broker (mended)."""
    host, port = connection.settings_dict["HOST"], int(connection.settings_dict["PORT"] or 5432)
    database = Line(f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, port))
    database.mend()
    database.cut()
    url = urlsplit(settings.CELERY_BROKER_URL)
    broker = Line((url.hostname or "127.0.0.1", url.port or 6379))
    broker.mend()
    return database, broker


@contextmanager
def running_beat(
    database: Line, broker: Line, log: Path, options: str = "", **more: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A beat in a process group of its own, with `options` to its database's URL and `more` in its environment."""
    held, url = connection.settings_dict, urlsplit(settings.CELERY_BROKER_URL)
    login = url.netloc.rpartition("@")[0]
    environment = os.environ | {
        "DATABASE_URL": f"postgresql://{held['USER']}:{held['PASSWORD']}@127.0.0.1:{database.port}/{held['NAME']}"
        + options,
        "REDIS_URL": f"redis://{login + '@' if login else ''}127.0.0.1:{broker.port}{url.path}",
        "SECRET_KEY": settings.SECRET_KEY,
        "ENCRYPTION_KEYS": ",".join(settings.ENCRYPTION_KEYS),
        **more,
    }
    with log.open("wb") as file:
        beat = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "config", "beat", f"--pidfile={log.parent / 'pid'}"],
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=settings.BASE_DIR,
            start_new_session=True,
        )
        try:
            yield beat
        except BaseException:
            print(log.read_text()[-4000:])  # noqa: T201 - what pytest shows beside the failure
            raise
        finally:
            beat.send_signal(signal.SIGCONT)
            beat.send_signal(signal.SIGTERM)
            beat.wait(timeout=10)


def wait_for(condition: Any, within: float = 10.0) -> None:
    end = time.monotonic() + within
    while not condition():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.05)
