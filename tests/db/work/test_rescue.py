"""Rescue publishes what nobody has claimed, within seconds, and never floods the broker."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from functools import partial
from uuid import UUID

import pytest
import redis
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from common.uuid7 import uuid7
from config.celery import app
from events.intake import ledger
from events.models import Event
from events.pure.envelope import Envelope
from jobs.models import Job
from notifications.deliveries import outbox
from notifications.deliveries.kind import DELIVERY
from notifications.models import Channel, Delivery, Notification
from schedules.firing import fire
from tests.make import NINE, NOON, make_channel, make_delivery, make_job_schedule, make_user, taken
from work.broker import backlog as broker_module, fair_queue, wakes
from work.engine import rescue

pytestmark = pytest.mark.django_db

QUEUE = "carillon:deliveries"


@pytest.fixture
def channel() -> Channel:
    return make_channel(make_user())


def published(broker: redis.Redis, queue: str = QUEUE) -> set[UUID]:
    messages = broker.lrange(queue, 0, -1)
    assert isinstance(messages, list)
    return {UUID(json.loads(message)["headers"]["argsrepr"].strip("()[]',")) for message in messages}


def test_only_what_is_due_and_unclaimed_is_published(broker: redis.Redis, channel: Channel) -> None:
    broker_module.mark()
    unclaimed = make_delivery(channel, wake_at=NOON - timedelta(days=365))
    make_delivery(channel)
    assert rescue.rescue()["published"] == 1
    assert published(broker) == {unclaimed.id}


def test_what_is_due_at_one_time_is_published_in_the_order_of_its_ids(channel: Channel) -> None:
    due = timezone.now() + timedelta(seconds=5)
    made = [make_delivery(channel, available_at=due, wake_at=NOON - timedelta(days=365)).id for _ in range(50)]
    for key in reversed(made):  # the rows lie the other way round
        Delivery.objects.filter(id=key).update(tries=1)
    assert [wake.id for wake in wakes.take_due(DELIVERY, 100)] == made


def test_a_deep_queue_is_not_made_deeper(
    broker: redis.Redis, channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rescue, "ENOUGH", 5)
    monkeypatch.setattr(rescue, "BATCH", 2)
    broker_module.mark()
    for _ in range(9):
        make_delivery(channel, wake_at=timezone.now() - timedelta(seconds=1))
    assert [rescue.rescue()["published"] for _ in range(3)] == [5, 0, 0]
    assert broker.llen(QUEUE) == 5
    broker.ltrim(QUEUE, 0, 2)
    assert rescue.rescue()["published"] == 2


def test_what_waits_in_bulk_counts_too(broker: redis.Redis, channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rescue, "ENOUGH", 30)
    monkeypatch.setattr(rescue, "BATCH", 25)
    broker_module.mark()
    for _ in range(40):
        make_delivery(channel, wake_at=timezone.now() - timedelta(hours=1))
    assert [rescue.rescue()["published"] for _ in range(3)] == [30, 10, 0]
    assert (broker.llen(QUEUE), broker.llen("carillon:bulk")) == (20, 20)


def fill(broker: redis.Redis, queue: str, count: int) -> None:
    broker.lpush(f"carillon:{queue}", *["{}"] * count)


def test_a_full_queue_stops_rescue_for_its_own_kind_only(
    broker: redis.Redis, channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rescue, "ENOUGH", 30)
    broker_module.mark()
    fill(broker, "events", 30)
    for _ in range(5):
        make_delivery(channel, wake_at=timezone.now() - timedelta(hours=1))
    assert rescue.rescue()["published"] == 5
    fill(broker, "bulk", 100)
    ledger.record(channel.user_id, [Envelope(type="order.paid", source="shop", data={})])
    lost = Event.objects.get()
    Event.objects.update(wake_at=timezone.now() - timedelta(hours=1))
    broker.delete("carillon:events")
    assert rescue.rescue()["published"] == 1
    assert published(broker, "carillon:events") == {lost.id}


def test_a_kind_whose_messages_wait_is_not_published_again(broker: redis.Redis, channel: Channel) -> None:
    broker_module.mark()
    for _ in range(50):
        make_delivery(channel, wake_at=timezone.now() - timedelta(hours=1))
    assert rescue.rescue()["published"] == 50
    for _ in range(3):
        Delivery.objects.update(wake_at=timezone.now() - timedelta(hours=1))
        assert rescue.rescue()["published"] == 0
    broker.rpop(QUEUE)
    assert rescue.rescue()["published"] == 50


def test_messages_of_jobs_are_counted_in_all_their_queues_and_those_of_others_are_not(
    broker: redis.Redis, channel: Channel, settings: Settings
) -> None:
    settings.JOB_QUEUES = {"feed": "slow", "sample": "large"}
    broker_module.mark()
    make_job_schedule(channel.user, payload={"value": "seven"}, channels=[channel])
    fire.fire_due(NINE)
    for queue, published in (("jobs", 0), ("slow", 0), ("large", 0), ("deliveries", 1)):
        Job.objects.update(wake_at=timezone.now() - timedelta(hours=1))
        fill(broker, queue, 1)
        assert rescue.rescue()["published"] == published
        broker.delete(f"carillon:{queue}")
    make_delivery(channel, wake_at=timezone.now() - timedelta(hours=1))
    fill(broker, "slow", 1)
    assert rescue.rescue()["published"] == 1


@pytest.mark.parametrize(("due", "published"), [(20, 20), (21, 0)])
def test_a_few_are_published_again_though_their_messages_may_wait_in_bulk(
    broker: redis.Redis, channel: Channel, due: int, published: int
) -> None:
    broker_module.mark()
    fill(broker, "bulk", due)
    for _ in range(due):
        make_delivery(channel, wake_at=timezone.now() - timedelta(hours=1))
    assert rescue.rescue()["published"] == published


def test_a_full_bulk_queue_is_made_no_deeper_and_nobody_waits_behind_what_belongs_there(
    broker: redis.Redis, channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rescue, "ENOUGH", 60)
    broker_module.mark()
    fill(broker, "bulk", 60)
    for _ in range(100):
        make_delivery(channel, wake_at=timezone.now() - timedelta(hours=1))
    other = make_delivery(make_channel(make_user()), wake_at=timezone.now() - timedelta(hours=2))
    assert rescue.rescue()["published"] == fair_queue.FEW + 1
    assert (broker.llen(QUEUE), broker.llen("carillon:bulk")) == (fair_queue.FEW + 1, 60)
    assert other.id in published(broker, QUEUE)
    broker.delete("carillon:bulk")
    fair_queue._Lately.since = -fair_queue.WITHIN
    Delivery.objects.update(wake_at=timezone.now() - timedelta(hours=1))
    assert rescue.rescue()["published"] == 60 - fair_queue.FEW - 1


def test_bulk_work_of_all_kinds_together_leaves_room_in_its_queue(
    broker: redis.Redis, channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rescue, "ENOUGH", 5)
    monkeypatch.setattr(rescue, "RESERVED", 2)
    broker_module.mark()
    due = {"is_bulk": True, "wake_at": timezone.now() - timedelta(hours=1)}
    for _ in range(2):
        make_delivery(channel, **due)
        ledger.record(channel.user_id, [Envelope(type="order.paid", source="shop", data={})])
    Event.objects.update(**due)
    assert [rescue.rescue()["published"] for _ in range(2)] == [3, 0]
    assert broker.llen("carillon:bulk") == 3


def test_what_a_broker_forgot_is_rung_again_at_once(broker: redis.Redis, channel: Channel) -> None:
    broker_module.mark()
    deliveries = {make_delivery(channel).id for _ in range(3)}
    later = make_delivery(channel, available_at=timezone.now() + timedelta(seconds=60))
    wakes.publish([wakes.Wake(outbox.DELIVER, delivery_id) for delivery_id in deliveries])
    assert rescue.rescue()["published"] == 0
    broker.flushdb()
    assert rescue.rescue()["published"] == 3
    assert published(broker) == deliveries
    later.refresh_from_db()
    assert later.wakes == 0
    assert rescue.rescue()["published"] == 0


def test_only_pending_work_is_published_again(channel: Channel) -> None:
    make_delivery(channel)
    taken(make_delivery(channel).id)
    assert wakes.wake_all(DELIVERY) == 1


def test_a_broker_that_is_away_leaves_the_rows_due(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    delivery = make_delivery(channel, wake_at=timezone.now() - timedelta(seconds=1))
    monkeypatch.setattr(app, "connection_for_write", partial(app.connection_for_write, "redis://127.0.0.1:1/0"))
    started = time.monotonic()
    assert rescue.rescue()["published"] == 0
    assert time.monotonic() - started < 20
    delivery.refresh_from_db()
    assert (delivery.wakes, delivery.wake_at <= timezone.now()) == (0, True)


def test_an_unknown_wish_of_a_channel_is_held_for_a_person(channel: Channel) -> None:
    Channel.objects.filter(id=channel.id).update(on_unknown="maybe")
    delivery = make_delivery(channel)
    Delivery.objects.filter(id=delivery.id).update(state="sending", lease_token=delivery.id, lease_until=NOON, tries=1)
    Delivery.objects.filter(id=delivery.id).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert rescue.rescue()["held"] == 1
    delivery.refresh_from_db()
    assert delivery.reason == "The worker was lost in the middle of it. It may have arrived; send it again?"


def test_what_was_lost_again_is_published_at_different_times(broker: redis.Redis, channel: Channel) -> None:
    broker_module.mark()
    once, again = ({make_delivery(channel).id for _ in range(20)} for _ in range(2))
    for tries, ids in ((1, once), (2, again)):
        leased = {
            "state": "sending",
            "lease_token": uuid7(),
            "lease_until": timezone.now() - timedelta(hours=1),
            "tries": tries,
        }
        Delivery.objects.filter(id__in=ids).update(**leased)
    assert rescue.rescue()["again"] == 40
    assert once <= published(broker)
    wake_at = Delivery.objects.filter(id__in=again, state="pending", wakes=0).values_list("wake_at", flat=True)
    assert len(set(wake_at)) > 10


def plan_of(statement: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {statement}")
        return "\n".join(row[0] for row in cursor.fetchall())


_CONDITIONS = [
    ("state = 'pending' AND is_bulk = false AND wake_at <= now() ORDER BY wake_at LIMIT 2000", "delivery_to_wake"),
    ("state = 'sending' AND lease_until <= now() ORDER BY lease_until LIMIT 2000", "delivery_leased"),
    (
        "state = 'pending' AND expires_at IS NOT NULL AND expires_at <= now() ORDER BY expires_at LIMIT 2000",
        "delivery_to_expire",
    ),
    (
        "state = 'pending' AND is_bulk = ANY('{f,t}') AND wake_at > now()"
        " AND wake_at <= now() + interval '6 minutes' AND available_at <= now()",
        "delivery_to_wake",
    ),
]


def test_rescue_reads_by_partial_indexes(channel: Channel) -> None:
    outbox.record(saying(channel, timezone.now() + timedelta(days=1)) for _ in range(20_000))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE notifications_delivery")
    for condition, index in _CONDITIONS:
        assert f"using {index}" in plan_of(f"SELECT id FROM notifications_delivery WHERE {condition}")  # noqa: S608


def saying(channel: Channel, available_at: object) -> outbox.NewNotification:
    return outbox.NewNotification(
        user_id=channel.user_id,
        channels=[(channel.id, channel.provider)],
        subject="Water the plants",
        body="",
        origin=Notification.Origin.SCHEDULE,
        batch_id=uuid7(),
        available_at=available_at,  # type: ignore[arg-type]
    )


@pytest.mark.django_db(transaction=True)
def test_a_notice_is_published_at_its_commit_without_rescue(broker: redis.Redis, channel: Channel) -> None:
    outbox.notify(channel.user_id, [channel], "Subject", "Body", Notification.Origin.NOTICE)
    assert published(broker) == {Delivery.objects.get().id}
