"""A backup under load, the machine lost, a restore on an empty one: nothing twice, and what is lost is named."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
from django.db import connection

from config import embedded
from config.embedded.postgres import Postgres
from demo.child import Child, manage_command, worker_command
from demo.receivers import HTTPReceiver
from events.intake import ledger
from events.models import Event
from events.pure.envelope import Envelope
from schedules.models import Schedule
from tests.make import make_channel, make_rule, make_schedule, make_user
from tests.process.conftest import wait_until
from tests.process.notifications.conftest import environment, manage
from work.backup import archive
from work.models import Backup
from work.tasks import back_up

_SLOTS, _SPREAD = 40, 0.3  # seconds
_NEW = "restored_machine"

pytestmark = pytest.mark.django_db(transaction=True)


def url(database: str) -> str:
    given = connection.get_connection_params()
    return f"postgresql://{given['user']}@/{database}?host={given['host']}"


@pytest.fixture
def new_machine() -> Iterator[dict[str, str]]:
    """The variables of a machine with an empty database."""
    with psycopg.connect(url("postgres"), autocommit=True) as server:
        server.execute(f"DROP DATABASE IF EXISTS {_NEW} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {_NEW}")
        yield {"DATABASE_URL": url(_NEW)}
        server.execute(f"DROP DATABASE {_NEW} WITH (FORCE)")


@pytest.fixture
def keys() -> dict[str, str]:
    programs = Postgres(embedded.var_dir()).locate().parent
    return {"BACKUP_KEY": archive.new_key(), "PATH": f"{programs}:{os.environ['PATH']}"}


def succeed(*arguments: str, **variables: str) -> str:
    """The output of a command that must succeed."""
    done = manage(*arguments, **variables)
    assert done.returncode == 0, done.stdout
    return done.stdout


def backup(to: Path, **variables: str) -> Child:
    """A backup that is being made."""
    taking = Child("backup", manage_command("backup", str(to)), environment=environment(**variables))
    taking.start()
    return taking


class Machine:
    """A worker and a beat."""

    def __init__(self, **variables: str) -> None:
        celery = [sys.executable, "-m", "celery", "-A", "config", "--quiet"]
        quiet: dict[str, Any] = {"on_line": lambda line, name: None}
        self.children = [
            Child(
                "worker",
                worker_command("restore", "INFO"),
                environment=environment(**variables),
                **quiet,
                ready_sign=" ready.",
            ),
            Child("beat", [*celery, "beat", "--loglevel", "ERROR"], environment=environment(**variables)),
        ]

    def __enter__(self) -> Machine:
        for child in self.children:
            child.start()
        wait_until(self.children[0].is_ready)
        return self

    def lose(self) -> None:
        for child in self.children:
            os.kill(child.pid, signal.SIGKILL)

    def __exit__(self, *_: object) -> None:
        for child in self.children:
            child.stop(10.0)


class Arrived:
    """What a receiver has that follows `webhook-id`: a repeated id is answered, and nothing is done for it."""

    def __init__(self, hook: HTTPReceiver) -> None:
        self._hook = hook

    def ids(self) -> dict[str, set[str]]:
        """By what it is about."""
        ids = defaultdict(set)
        for request in list(self._hook.requests):
            headers = {name.lower(): value for name, value in request.headers.items()}
            about = re.findall(r"(?:slot|event) \d+", json.dumps(json.loads(request.body)))
            ids[about[0]].add(headers["webhook-id"])
        return dict(ids)

    def posts(self) -> int:
        return len(self._hook.requests)


def once(title: str, at: datetime, channel: object) -> Schedule:
    rule = {"at": at.replace(tzinfo=None).isoformat(timespec="microseconds")}
    return make_schedule(channel.user, [channel], now=datetime.now(UTC), kind="once", rule=rule, title=title)  # type: ignore[attr-defined, list-item]


def test_nothing_is_sent_twice_and_what_is_lost_is_named(
    broker: redis.Redis, new_machine: dict[str, str], keys: dict[str, str], tmp_path: Path
) -> None:
    ada = make_user(email="ada@example.org")
    with HTTPReceiver() as hook:
        hooked = make_channel(ada, "webhook", address={"url": hook.url}, on_unknown="retry")
        make_rule(ada, channels=[hooked], conditions=[], title="event {data.number}", body="")
        arrived = Arrived(hook)
        published: dict[str, datetime] = {}

        def publish(until: float) -> None:
            while time.monotonic() < until:
                number = len(published)
                ledger.record(ada.pk, [Envelope("order.paid", {"number": number})])
                published[f"event {number}"] = datetime.now(UTC)
                time.sleep(0.05)

        with Machine() as old:
            ledger.record(ada.pk, [Envelope("order.paid", {"number": 0})])
            published["event 0"] = datetime.now(UTC)
            wait_until(arrived.posts)
            begin = datetime.now(UTC) + timedelta(seconds=3)
            for number in range(_SLOTS):
                once(f"slot {number}", begin + timedelta(seconds=number * _SPREAD), hooked)
            publish(time.monotonic() + 5)
            taking = backup(tmp_path, **keys)
            while taking.exit_status() is None:
                publish(time.monotonic() + 0.5)
            assert taking.exit_status() == 0
            publish(time.monotonic() + 4)
            old.lose()
        lost_at = datetime.now(UTC)
        before_restore = arrived.ids()
        broker.flushdb()

        [file] = tmp_path.iterdir()
        text = succeed("restore", str(file), **keys, **new_machine)
        named = re.findall(r"from (\S+ \S+) until (\S+ \S+) UTC", text)
        [(lost_from, lost_until)] = [
            tuple(datetime.fromisoformat(f"{instant}+00:00") for instant in window) for window in named
        ]
        with psycopg.connect(new_machine["DATABASE_URL"], autocommit=True) as database:
            numbers = database.execute("SELECT data->>'number' FROM events_event WHERE type = 'order.paid'").fetchall()
            # Leases of the lost worker, so that the test need not wait for their end.
            database.execute("UPDATE notifications_delivery SET lease_until = now() WHERE state = 'sending'")
            database.execute("UPDATE events_event SET lease_until = now() WHERE state = 'working'")
        restored = {f"event {number}" for (number,) in numbers}
        expected = restored | {f"slot {number}" for number in range(_SLOTS)}

        with Machine(**new_machine):
            rounds = "SELECT total_run_count FROM django_celery_beat_periodictask WHERE name = 'rescue'"
            with psycopg.connect(new_machine["DATABASE_URL"], autocommit=True) as database:
                [(before,)] = database.execute(rounds).fetchall()
                wait_until(lambda: database.execute(rounds).fetchall()[0][0] > before + 1)
            assert arrived.ids() == before_restore
            posts = arrived.posts()
            succeed("release", "send", **new_machine)
            wait_until(lambda: expected <= arrived.ids().keys())
            with psycopg.connect(new_machine["DATABASE_URL"], autocommit=True) as database:
                left = "SELECT count(*) FROM notifications_delivery WHERE state IN ('pending', 'sending')"
                wait_until(lambda: database.execute(left).fetchall()[0][0] == 0)

    ids = arrived.ids()
    assert {about: found for about, found in ids.items() if len(found) > 1} == {}
    assert arrived.posts() > posts > 0  # some came again, under the same ids
    assert arrived.posts() > sum(map(len, ids.values()))
    lost = published.keys() - ids.keys()
    assert published.keys() - restored  # some were published after the backup
    assert not lost & restored
    assert all(lost_from - timedelta(seconds=1) <= published[about] <= lost_until for about in lost)
    assert lost_at < lost_until + timedelta(seconds=1)
    assert Event.objects.filter(type="order.paid").count() == len(published)


def test_a_worker_starts_a_backup_that_is_due_once(broker: redis.Redis, keys: dict[str, str], tmp_path: Path) -> None:
    make_user(email="ada@example.org")
    with Machine(**keys, BACKUP_TO=str(tmp_path)):
        for _ in range(2):  # as two beats would
            back_up.delay()
        wait_until(Backup.objects.exists)
        wait_until(lambda: broker.llen("carillon:maintenance") == 0)
    [name] = Backup.objects.values_list("name", flat=True)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_backup_that_is_killed_leaves_no_file_and_no_lock(keys: dict[str, str], tmp_path: Path) -> None:
    hangs, to = tmp_path / "bin" / "pg_dump", tmp_path / "backups"
    hangs.parent.mkdir()
    hangs.write_text("#!/bin/sh\n[ $1 = --version ] && exec echo 'x (PostgreSQL) 18.0'\nseq 100000\nexec sleep 60\n")
    hangs.chmod(0o755)
    taking = backup(to, **keys | {"PATH": f"{hangs.parent}:{keys['PATH']}"})
    wait_until(lambda: to.exists() and any(part.stat().st_size for part in to.iterdir()))
    os.kill(taking.pid, signal.SIGKILL)
    wait_until(lambda: taking.exit_status() is not None)
    assert [path.name[0] for path in to.iterdir()] == ["."]
    succeed("backup", str(to), **keys)
    assert len(list(to.iterdir())) == 1
