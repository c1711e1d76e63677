"""A beat, as a process, survives the loss and the silence of its engines; what one that stands still holds is fired."""

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
from django.conf import settings
from django.db import connection
from django_celery_beat.models import PeriodicTask

from schedules.firing import fire
from schedules.models import Occurrence
from tests.clock.line import Line
from tests.clock.test_beat import due_in
from tests.make import make_schedule, make_user

pytestmark = pytest.mark.django_db(transaction=True)


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
        now = fire.read_clock().now
        assert fire.fire_due(now) == 0  # its row is locked
        wait_for(lambda: fire.fire_due(now) == 1)
        os.kill(beat.pid, signal.SIGCONT)
        later = due_in(0.1)
        wait_for(later.occurrences.exists)
        assert held.occurrences.count() == 1
    database.cut()
    broker.cut()


def test_the_machines_own_time_zone_changes_nothing(tmp_path: Path) -> None:
    database, broker = lines()
    database.mend()
    now = fire.read_clock().now
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
    url = urlsplit(settings.REDIS_URL)
    broker = Line(url.path if url.scheme == "unix" else (url.hostname or "127.0.0.1", url.port or 6379))
    broker.mend()
    return database, broker


@contextmanager
def running_beat(
    database: Line, broker: Line, log: Path, options: str = "", **more: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A beat in a process group of its own, with `options` to its database's URL and `more` in its environment."""
    held, url = connection.settings_dict, urlsplit(settings.REDIS_URL)
    login = url.netloc.rpartition("@")[0]
    number = "/0" if url.scheme == "unix" else url.path
    environment = os.environ | {
        "DATABASE_URL": f"postgresql://{held['USER']}:{held['PASSWORD']}@127.0.0.1:{database.port}/{held['NAME']}"
        + options,
        "REDIS_URL": f"redis://{login + '@' if login else ''}127.0.0.1:{broker.port}{number}",
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
