"""Pages and monitors see whether the clock runs."""

from __future__ import annotations

import re
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import OperationalError, connection
from django.test import Client

from schedules.beat import heartbeat
from schedules.firing import fire
from schedules.models import Heartbeat
from tests.make import signed_in


def seen(ago: float) -> None:
    at = fire.read_clock().now - timedelta(seconds=ago)
    Heartbeat.objects.create(process="host:1", started_at=at, last_seen_at=at)


def footer() -> str:
    return signed_in().get("/reminders/").content.decode().partition("<footer")[2]


def test_a_monitor_hears_when_the_beat_was_last_seen() -> None:
    seen(2)
    seen(3_600)
    answer = Client().get("/healthz/clock")
    assert answer.status_code == 200
    assert re.fullmatch(rb"beat last seen [2-9] s ago\n", answer.content)


def test_a_clock_that_was_not_seen_for_a_minute_is_unavailable() -> None:
    assert Client().get("/healthz/clock").status_code == 503
    seen(61)
    answer = Client().get("/healthz/clock")
    assert answer.status_code == 503
    assert re.fullmatch(rb"beat last seen 6\d s ago\n", answer.content)


def test_the_web_process_is_well_without_a_clock() -> None:
    assert Client().get("/healthz").status_code == 200


def test_a_database_that_is_away_is_said_and_not_raised() -> None:
    with connection.execute_wrapper(_away):
        answer = Client().get("/healthz/clock")
    assert (answer.status_code, answer.content) == (503, b"The database does not answer.\n")


def _away(*_: object) -> object:
    raise OperationalError("gone")


def test_no_page_speaks_of_a_clock_that_runs() -> None:
    seen(5)
    assert "scheduler" not in footer()


def test_each_page_says_that_the_clock_has_stopped() -> None:
    assert "The scheduler has never run. Nothing is sent" in footer()
    seen(300)
    said = re.sub("<[^>]*>", "", footer())
    assert "The scheduler stopped 5 min ago. Nothing is sent until it runs again" in said


def test_a_new_beat_deletes_heartbeats_of_long_ago() -> None:
    seen(86_400 * (heartbeat.RETAINED_DAYS + 1))
    seen(86_400 * (heartbeat.RETAINED_DAYS - 1))
    heartbeat.HeartbeatWriter().count(1)
    assert Heartbeat.objects.count() == 2


def test_a_new_beat_deletes_the_oldest_of_many_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "RETAINED_ROWS", 3)
    for ago in (50, 40, 30, 20, 10):
        seen(ago)
    newest = list(Heartbeat.objects.order_by("id").values_list("id", flat=True))[-2:]
    heartbeat.HeartbeatWriter().count(1)
    assert list(Heartbeat.objects.order_by("id").values_list("id", flat=True))[:-1] == newest


def test_a_heartbeat_writes_to_no_index() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'schedules_heartbeat'::regclass"
        )
        indexes = " ".join(row[0] for row in cursor.fetchall())
    assert "(id)" in indexes
    assert not [name for name in ("last_seen_at", "work", "total") if name in indexes]


def test_what_is_fired_between_two_heartbeats_is_written_with_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(heartbeat, "time", SimpleNamespace(monotonic=lambda: clock.now))
    writer = heartbeat.HeartbeatWriter()
    rows = []
    for seconds, fired in ((0.0, 2), (1.0, 3), (3.9, 0), (0.1, 4), (5.0, 0)):
        clock.now += seconds
        writer.count(fired)
        rows.append(Heartbeat.objects.values_list("work", "total").get())
    assert rows == [(2, 2), (2, 2), (2, 2), (7, 9), (0, 9)]
