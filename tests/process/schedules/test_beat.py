"""A beat, as a process, survives the loss and the silence of its engines; what one that stands still holds is fired."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings
from django.db import connection, transaction
from django_celery_beat.models import PeriodicTask

from bench import exact
from demo.child import Child
from schedules.firing import fire
from schedules.models import Occurrence
from tests.broken_line import Line
from tests.db.schedules.beat.test_beat import due_in
from tests.make import make_schedule, make_user
from tests.process.conftest import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

BEAT = "the-beat-of-a-test"


def test_a_beat_survives_the_loss_of_postgresql_and_of_redis(tmp_path: Path) -> None:
    with lines() as (database, broker), beat_without_database(database, broker, tmp_path / "log") as beat:
        database.mend()
        early = due_in(-0.1)
        wait_until(early.occurrences.exists)
        database.cut()
        broker.cut()
        missed = due_in(-0.1)
        wait_until(lambda: not sessions())
        assert not missed.occurrences.exists()
        database.mend()
        wait_until(missed.occurrences.exists)  # recorded while the broker is still away
        broker.mend()
        rescues = PeriodicTask.objects.filter(name="rescue")
        before = rescues.get().total_run_count
        wait_until(lambda: rescues.get().total_run_count > before)
        assert beat.exit_status() is None
    assert Occurrence.objects.count() == 2


def test_a_beat_gives_up_a_database_that_has_fallen_silent_and_goes_on_with_a_new_connection(tmp_path: Path) -> None:
    options = "&connect_timeout=2&tcp_user_timeout=1500&keepalives_idle=1&keepalives_interval=1"
    with lines() as (database, broker), running_beat(database, broker, tmp_path / "log", options) as beat:
        early = due_in(-0.1)
        wait_until(early.occurrences.exists)
        complaints = (tmp_path / "log").read_text().count("cannot be read")
        database.silence()
        missed = due_in(-0.1)
        wait_until(lambda: (tmp_path / "log").read_text().count("cannot be read") > complaints)
        assert not missed.occurrences.exists()
        database.let_in_again()
        wait_until(missed.occurrences.exists)
        assert beat.exit_status() is None


def test_what_a_beat_holds_that_stands_still_is_fired_by_another(tmp_path: Path) -> None:
    (tmp_path / "recorded").write_text("stop-group")
    held = due_in(-0.1)
    options = "&options=-c%20idle_in_transaction_session_timeout%3D2s"
    with (
        lines() as (database, broker),
        running_beat(database, broker, tmp_path / "log", options, CARILLON_FAULT_POINTS=str(tmp_path)) as beat,
    ):
        wait_until(lambda: not (tmp_path / "recorded").exists())
        now = fire.read_clock().now
        wait_until(lambda: fire.fire_due(now) == 1)
        os.kill(beat.pid, signal.SIGCONT)
        later = due_in(-0.1)
        wait_until(later.occurrences.exists)
        assert held.occurrences.count() == 1
        # Its row was free for the other one because its own transaction was over, and not before.
        assert "idle-in-transaction timeout" in (tmp_path / "log").read_text()


def test_the_machines_own_time_zone_changes_nothing(tmp_path: Path) -> None:
    now = fire.read_clock().now
    local = (now + timedelta(seconds=1)).astimezone(ZoneInfo("Asia/Kolkata"))
    once = {"kind": "once", "rule": {"at": f"{local:%Y-%m-%dT%H:%M:%S}"}, "time_zone": "Asia/Kolkata", "grace": 3600}
    due = make_schedule(make_user(), now=now - timedelta(days=1), **once)
    with lines() as (database, broker), running_beat(database, broker, tmp_path / "log", TZ="Pacific/Apia"):
        wait_until(due.occurrences.exists)
        rescues = PeriodicTask.objects.filter(name="rescue")
        wait_until(lambda: rescues.exists() and rescues.get().total_run_count > 0)
    assert due.occurrences.get().reason == ""


def test_a_beat_that_waits_for_its_database_stops_when_told_to(tmp_path: Path) -> None:
    with lines() as (database, broker), beat_without_database(database, broker, tmp_path / "log") as beat:
        beat.ask_to_stop()
        wait_until(lambda: beat.exit_status() is not None)
        assert beat.exit_status() == 0


def test_a_beat_whose_first_statements_wait_stops_when_told_to(tmp_path: Path) -> None:
    waiting = "SELECT FROM pg_locks WHERE relation = 'django_celery_beat_periodictask'::regclass AND NOT granted"
    with lines() as (database, broker), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE django_celery_beat_periodictask")
        with running_beat(database, broker, tmp_path / "log") as beat:
            wait_until(lambda: cursor.execute(waiting).fetchone() is not None)
            beat.ask_to_stop()
            wait_until(lambda: beat.exit_status() is not None)


def test_each_slot_has_one_occurrence_whatever_is_killed_edited_or_set_back() -> None:
    """A small run of the crash proof; the full one is `script/bench exact`."""
    verdict = exact.run(schedules=30, slots=500, seed=1)
    assert verdict.exact, verdict


@contextmanager
def lines() -> Iterator[tuple[Line, Line]]:
    """Lines to the database and to the broker."""
    host, port = connection.settings_dict["HOST"], int(connection.settings_dict["PORT"] or 5432)
    database = Line(f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, port))
    database.mend()
    url = urlsplit(settings.REDIS_URL)
    broker = Line(url.path if url.scheme == "unix" else (url.hostname or "127.0.0.1", url.port or 6379))
    broker.mend()
    try:
        yield database, broker
    finally:
        database.cut()
        broker.cut()


def sessions() -> int:
    """How many connections the beat holds."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", [BEAT])
        return int(cursor.fetchone()[0])


@contextmanager
def running_beat(database: Line, broker: Line, log: Path, options: str = "", **more: str) -> Iterator[Child]:
    """A beat with `options` added to its database's URL and `more` in its environment."""
    held, url = connection.settings_dict, urlsplit(settings.REDIS_URL)
    login = url.netloc.rpartition("@")[0]
    number = "/0" if url.scheme == "unix" else url.path
    environment = {
        "DATABASE_URL": f"postgresql://{held['USER']}:{held['PASSWORD']}@127.0.0.1:{database.port}/{held['NAME']}"
        f"?application_name={BEAT}{options}",
        "REDIS_URL": f"redis://{login + '@' if login else ''}127.0.0.1:{broker.port}{number}",
        "SECRET_KEY": settings.SECRET_KEY,
        "ENCRYPTION_KEYS": ",".join(settings.ENCRYPTION_KEYS),
        **more,
    }
    command = [sys.executable, "-m", "celery", "-A", "config", "beat"]
    with log.open("w", buffering=1) as file:
        beat = Child("beat", command, environment=environment, on_line=lambda line, _: print(line, file=file))
        beat.start()
        try:
            yield beat
        except BaseException:
            print(log.read_text()[-4000:])  # noqa: T201 - what pytest shows beside the failure
            raise
        finally:
            # Whatever happens: one that is left behind fires the schedules of later tests.
            beat.stop(0.0)


@contextmanager
def beat_without_database(database: Line, broker: Line, log: Path) -> Iterator[Child]:
    """A beat whose database was away at its start, and still is."""
    database.cut()
    with running_beat(database, broker, log) as beat:
        wait_until(lambda: "cannot be read" in log.read_text())
        yield beat
