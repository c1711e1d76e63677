"""An idle installation sends few periodic tasks, and work is found as soon as before."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
import redis
from django.db.models.functions import Now
from django.utils import timezone
from django_celery_beat.models import PeriodicTask

from common.uuid7 import uuid7
from config.celery import app
from events.models import Subscription, Topic
from jobs.models import Batch, Job
from notifications.models import Channel, FeedPosition, Notification
from people import tokens
from schedules.beat import scheduler
from tests.db.schedules.beat.test_beat import hours_ago, make_beat, make_stock_entry, ticks
from tests.make import NOON, make_channel, make_delivery, make_user
from work.broker import periodic

pytestmark = pytest.mark.django_db(transaction=True)

LONG_AGO = NOON - timedelta(days=365)


@pytest.fixture(autouse=True)
def empty_broker(broker: redis.Redis) -> None:
    """What tasks publish here is not for other tests. As in a beat, all tasks are known."""
    app.loader.import_default_modules()


@pytest.fixture
def channel() -> Channel:
    return make_channel(make_user())


def expired(channel: Channel) -> None:
    make_delivery(channel, expires_at=LONG_AGO, available_at=timezone.now() + timedelta(days=1), wake_at=None)


def lost(channel: Channel) -> None:
    make_delivery(channel, state="sending", lease_token=uuid7(), lease_until=LONG_AGO, wake_at=None)


def to_advance(channel: Channel) -> None:
    make_delivery(channel, state="delivered")
    Notification.objects.update(advance_at=LONG_AGO)


def failed_job(channel: Channel) -> None:
    Job.objects.create(user=channel.user, kind="feed", slot=NOON)
    Job.objects.update(state="expired", tries=1, settled_at=Now())


def subscription(channel: Channel) -> None:
    topic = Topic.objects.create(user=channel.user, name="News", slug="news")
    Subscription.objects.create(topic=topic, address="eva@example.net", asked_at=Now())


def open_batch(channel: Channel) -> None:
    Batch.objects.create(user=channel.user, audience="everybody", message={"title": "News"}, state="pending")


def test_without_work_nothing_is_needed_and_each_task_has_found_nothing(channel: Channel) -> None:
    make_delivery(channel, state="delivered")
    for task in periodic.NEEDED:
        app.tasks[task].run()
    assert periodic.needed() == set()


@pytest.mark.parametrize(
    ("make", "task"),
    [
        (make_delivery, "work.rescue"),
        (expired, "work.rescue"),
        (lost, "work.rescue"),
        (to_advance, "work.rescue"),
        (failed_job, "work.rescue"),
        (subscription, "work.rescue"),
        (open_batch, "jobs.count"),
    ],
)
def test_work_makes_its_task_needed(make: Callable[[Channel], object], task: str, channel: Channel) -> None:
    assert task not in periodic.needed()
    make(channel)
    assert task in periodic.needed()


@pytest.mark.parametrize(
    ("task", "reader"), [("notifications.send_changes", "status"), ("events.record_changes", "events")]
)
def test_a_change_is_needed_by_those_that_have_not_read_it(task: str, reader: str, channel: Channel) -> None:
    assert task in periodic.needed()  # it has no position
    app.tasks[task].run()
    assert task not in periodic.needed()
    tokens.create(channel.user, "Test", ["read"], None)  # else nobody reads its changes
    make_channel(channel.user, "webhook")
    assert task in periodic.needed()
    app.tasks[task].run()
    assert task not in periodic.needed()
    assert FeedPosition.objects.filter(reader=reader).exists()


def test_an_idle_task_is_sent_now_and_then_and_at_once_when_there_is_work(
    monkeypatch: pytest.MonkeyPatch, channel: Channel
) -> None:
    entry = make_stock_entry(task="jobs.count")
    beat = make_beat()
    monkeypatch.setattr(scheduler, "_FRESH", 0.0)

    def runs_when_due_again() -> int:
        PeriodicTask.objects.update(last_run_at=hours_ago(2))
        beat._reload()
        ticks(beat)
        entry.refresh_from_db()
        return entry.total_run_count

    assert runs_when_due_again() == 1  # the first always is
    assert runs_when_due_again() == 1
    open_batch(channel)
    assert runs_when_due_again() == 2
    Batch.objects.update(ended_at=Now())
    assert runs_when_due_again() == 2
    monkeypatch.setattr(scheduler, "_AT_LEAST", 0.0)  # a pause later
    assert runs_when_due_again() == 3
