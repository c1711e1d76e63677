"""Queues in use that no worker serves: health, admin, beat's log and the operators' email say so."""

from __future__ import annotations

import logging
import os
import time
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from celery import current_app
from django.core import mail
from django.core.cache import cache
from django.test import Client
from kombu.asynchronous.timer import Timer
from pytest_django import Settings

from common import probe
from common.redis import served_queues
from schedules.beat.scheduler import BeatLog
from tests.make import NOON, make_user
from work.broker import fair_queue
from work.kinds import KINDS
from work.operators import summary as operator_summary

pytestmark = pytest.mark.django_db


def test_every_queue_to_which_messages_go_is_known_to_be_in_use(settings: Settings) -> None:
    routed = {kind.queue for kind in KINDS.values()}
    assert routed | {current_app.conf.task_default_queue, fair_queue.QUEUE} == set(settings.QUEUES)


def test_health_names_the_queues_that_nobody_serves(client: Client, settings: Settings) -> None:
    served_queues.announce(["deliveries", "events", "jobs", "maintenance"])
    answer = client.get("/healthz/queues")
    assert (answer.status_code, "bulk" in answer.content.decode()) == (503, True)
    served_queues.announce(["bulk"])
    assert client.get("/healthz/queues").status_code == 200


def test_without_redis_nobody_knows_and_health_says_so(client: Client, settings: Settings) -> None:
    settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": "redis://127.0.0.1:1/0"}}
    assert served_queues.unserved() == []
    assert cache.seconds_left(["one", "another"]) == [None, None]  # type: ignore[attr-defined]
    assert client.get("/healthz/queues").status_code == 503


def test_the_admin_names_them(operator: Client) -> None:
    served_queues.announce(["deliveries", "events", "jobs", "maintenance"])
    assert "-Q bulk" in operator.get("/admin/").content.decode()
    served_queues.announce(["bulk"])
    assert "-Q" not in operator.get("/admin/").content.decode()


def test_beat_logs_them_once_a_minute(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedules.beat.scheduler.LOG_SECONDS", 0.0)
    log = BeatLog(logging.getLogger("beat"))
    log.write_summary()
    assert [record.levelname for record in caplog.records if "-Q deliveries,events,jobs,bulk" in record.message] == [
        "ERROR"
    ]
    served_queues.announce(["deliveries", "events", "jobs", "bulk", "maintenance"])
    caplog.clear()
    log.write_summary()
    assert "-Q" not in caplog.text


def test_operators_get_an_email_about_them_even_without_dead_letters(settings: Settings) -> None:
    make_user(email="operator@example.org", is_staff=True)
    served_queues.announce(settings.QUEUES)
    assert operator_summary.send(NOON) == 0
    cache.delete("served-queue:bulk")
    assert operator_summary.send(NOON) == 1
    assert "-Q bulk" in mail.outbox[0].body
    assert operator_summary.send(NOON) == 0
    cache.delete("served-queue:deliveries")
    assert operator_summary.send(NOON + timedelta(days=1)) == 1


class Worker(SimpleNamespace):
    """A consumer of Celery's, as far as the step sees it."""

    def __init__(self, *queues: str) -> None:
        super().__init__(timer=Timer(), task_consumer=SimpleNamespace(queues=[]))
        self.serves(*queues)

    def serves(self, *queues: str) -> None:
        self.task_consumer.queues = [SimpleNamespace(name=name) for name in queues]


def test_a_worker_names_its_queues_at_once_and_every_ten_seconds_until_it_stops(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "_FOLDER", tmp_path)
    alive = tmp_path / f"worker.{os.getpid()}"
    worker = Worker("bulk")
    step = served_queues.Announcement(worker)
    step.stop(worker)  # before it has started
    step.start(worker)
    assert served_queues.unserved() == [queue for queue in settings.QUEUES if queue != "bulk"]
    assert alive.read_text() == ""
    worker.serves("jobs")
    [due] = worker.timer.queue
    assert due.eta - time.monotonic() == pytest.approx(10.0, abs=1.0)
    due.entry()
    assert "jobs" not in served_queues.unserved()
    step.stop(worker)
    assert (due.entry.canceled, alive.read_text()) == (True, "the broker")


def test_a_queue_is_served_for_a_minute_and_remembered_for_a_day() -> None:
    served_queues.announce(["bulk"])
    assert served_queues.last_seen()["bulk"] == pytest.approx(0.0, abs=5.0)
    assert cache.seconds_left(["served-queue:bulk"])[0] == pytest.approx(86_400.0, abs=5.0)  # type: ignore[attr-defined]
    cache.set("served-queue:bulk", 1, 86_400 - 90)
    assert served_queues.last_seen()["bulk"] == pytest.approx(90.0, abs=5.0)
    assert "bulk" in served_queues.unserved()
    assert [served_queues.is_served(seen) for seen in (59.9, 60.0, None)] == [True, False, False]


def test_the_warning_names_queues_and_remedy() -> None:
    assert served_queues.warning(["bulk", "jobs"]) == (
        "No worker serves bulk, jobs: its messages wait. Start a worker with -Q bulk,jobs."
    )
