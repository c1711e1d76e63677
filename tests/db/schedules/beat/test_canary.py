"""The canary: a reminder of Carillon's own on the whole path, and the ping while it arrives."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.test import Client
from django_celery_beat.models import PeriodicTask

from demo.receivers import HTTPReceiver, Reply, Reset
from notifications.models import Attempt, Delivery, Notification
from people.account import deletion
from people.models import User
from schedules.beat import canary
from schedules.firing import fire
from schedules.models import Occurrence, Schedule
from tests.make import make_channel, make_delivery, make_user, send_now

pytestmark = pytest.mark.django_db


@pytest.fixture
def watcher(settings: Any) -> Iterator[HTTPReceiver]:
    """An address elsewhere that waits for pings."""
    with HTTPReceiver(lambda _: Reply()) as receiver:
        settings.CANARY, settings.CANARY_PING_URL = True, f"{receiver.origin}/ping/secret"
        settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
        yield receiver


def minutes_pass(minutes: int) -> None:
    """Move the canary and all that it left so much into the past."""
    ago = timedelta(minutes=minutes)
    Schedule.objects.update(created_at=F("created_at") - ago, next_fire_at=F("next_fire_at") - ago)
    Occurrence.objects.update(scheduled_for=F("scheduled_for") - ago)
    Notification.objects.update(created_at=F("created_at") - ago)


def arrive() -> None:
    """Have the next slot fire and arrive."""
    before = canary.age()
    assert fire.fire_due(fire.read_clock().now) == 1
    assert canary.age() == before
    Delivery.objects.update(available_at=F("available_at") - timedelta(minutes=1))  # now() is that of the test's begin
    send_now(Delivery.objects.get(state="pending").id)


def test_it_is_pinged_while_the_canary_arrives_and_not_once_it_is_late(watcher: HTTPReceiver) -> None:
    canary.run()
    canary.run()
    assert Schedule.objects.count() == 1
    minutes_pass(3)
    pings = len(watcher.requests)
    canary.run()
    assert len(watcher.requests) == pings
    assert canary.age() == pytest.approx(180, abs=5)
    arrive()
    age = canary.age()
    assert age is not None and age < 62
    canary.run()
    assert watcher.requests[pings].path == "/ping/secret"


def test_what_it_leaves_is_deleted_after_an_hour(watcher: HTTPReceiver) -> None:
    canary.run()
    minutes_pass(3)
    arrive()
    minutes_pass(58)
    canary.run()
    assert [model.objects.count() for model in (Notification, Delivery, Attempt)] == [1, 1, 1]
    other = make_delivery(make_channel(make_user()))
    minutes_pass(3)
    canary.run()
    assert list(Delivery.objects.all()) == [other]
    assert (Notification.objects.count(), Attempt.objects.count()) == (1, 0)
    assert not Occurrence.objects.filter(outcome="fired").exists()


def test_a_ping_that_fails_says_so_without_the_address(watcher: HTTPReceiver, caplog: pytest.LogCaptureFixture) -> None:
    watcher.answer = Reply(400)
    canary.run()
    assert caplog.messages == ["CANARY_PING_URL answered with status 400"]
    watcher.answer = Reset()
    canary.run()
    assert caplog.messages[1].startswith("CANARY_PING_URL was not reached: ")
    assert "secret" not in caplog.text


def test_its_age_is_a_metric_and_it_is_removed_where_it_is_off(
    watcher: HTTPReceiver, client: Client, settings: Any
) -> None:
    settings.METRICS_TOKEN = "a-token"
    canary.run()
    headers = {"Authorization": "Bearer a-token"}
    assert b"\ncarillon_canary_age_seconds " in client.get("/metrics", headers=headers).content
    PeriodicTask.objects.bulk_create([PeriodicTask(name=canary.ENTRY, task="schedules.canary")])
    settings.CANARY = False
    assert b"canary" not in client.get("/metrics", headers=headers).content
    canary.run()
    deletion.delete_requested()
    assert not User.objects.filter(email=canary.ADDRESS).exists()
    assert not PeriodicTask.objects.filter(name=canary.ENTRY).exists()
