"""When work is woken: which rows are taken, counted and woken again, and what is published.

`now()` stands still within the transaction of a test, so limits of time can be met exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
import redis
from django.db import connection, transaction

from common.database.postgres import query
from common.uuid7 import uuid7
from notifications.deliveries import outbox
from notifications.deliveries.kind import DELIVERY
from notifications.models import Channel, Delivery
from tests.make import make_channel, make_delivery, make_user
from work.broker import publisher, wakes
from work.broker.wakes import Wake

GAPS = [(0, 10), (1, 20), (4, 160), (5, 300), (30, 300)]


@pytest.fixture
def channel(db: None) -> Channel:
    return make_channel(make_user())


@pytest.fixture
def now(db: None) -> datetime:
    return query("SELECT now() AS at", [])[0].at


def pending(channel: Channel, wake_at: datetime, **fields: Any) -> Delivery:
    return make_delivery(channel, **{"available_at": wake_at, "wake_at": wake_at} | fields)


def working(channel: Channel, at: datetime) -> Delivery:
    leased = {"state": "sending", "lease_token": uuid7(), "lease_until": at + timedelta(minutes=1)}
    return pending(channel, at, **leased)


def woken_in(wait: float, **given: bool) -> float:
    """By the SQL of a statement that records work."""
    statement = f"SELECT extract(epoch FROM {wakes.wake_at('%(wait)s::float')} - now())::float AS seconds"  # noqa: S608
    return float(query(statement, wakes.parameters(**given) | {"wait": wait})[0].seconds)


@pytest.mark.parametrize(("wait", "is_published", "wake_in"), [(0, True, 10), (10, True, 20), (10.5, False, 4.5)])
def test_work_due_within_ten_seconds_is_published_and_other_work_woken_just_before(
    db: None, wait: float, is_published: bool, wake_in: float
) -> None:
    assert (wakes.is_published(wait), wakes.wake_in(wait)) == (is_published, wake_in)
    assert woken_in(wait) == wake_in


def test_bulk_work_is_due_for_rescue_at_once(db: None) -> None:
    assert (woken_in(0.0, is_bulk=True), woken_in(0.0)) == (0.0, 10.0)
    assert [wakes.parameters(*given)["is_bulk"] for given in ([True], [])] == [True, False]


def test_of_pending_work_what_is_to_be_woken_longest_is_taken_first(channel: Channel, now: datetime) -> None:
    second, minute = timedelta(seconds=1), timedelta(minutes=1)
    exactly, later = pending(channel, now), pending(channel, now + second)
    earlier, bulk = pending(channel, now - second), pending(channel, now - minute, is_bulk=True)
    working(channel, now - minute)
    assert [wake.id for wake in wakes.take_due(DELIVERY, 1)] == [earlier.id]
    assert [wake.id for wake in wakes.take_due(DELIVERY, 10)] == [exactly.id]
    assert wakes.take_due(DELIVERY, 10) == []
    assert [(wake.id, wake.is_bulk) for wake in wakes.take_due(DELIVERY, 10, is_bulk=True)] == [(bulk.id, True)]
    later.refresh_from_db()
    assert (later.wakes, later.wake_at) == (0, now + second)


def test_what_is_taken_says_what_is_published(channel: Channel, now: datetime) -> None:
    soon = pending(channel, now - timedelta(hours=1), available_at=now + timedelta(seconds=5))
    past = pending(channel, now - timedelta(hours=1))
    task, user_id = DELIVERY.task, channel.user_id
    assert wakes.take_due(DELIVERY, 10) == [
        Wake(task, past.id, 0.0, user_id),
        Wake(task, soon.id, 5.0, user_id),
    ]


def test_the_gaps_between_wakes_grow_to_five_minutes(channel: Channel, now: datetime) -> None:
    hour = timedelta(hours=1)
    made = [(pending(channel, now - hour, wakes=before), before, gap) for before, gap in GAPS]
    soon = pending(channel, now - hour, available_at=now + timedelta(seconds=5))
    wakes.take_due(DELIVERY, 10)
    for delivery, before, gap in [*made, (soon, 0, 15)]:
        delivery.refresh_from_db()
        assert (delivery.wakes, delivery.wake_at - now) == (min(before + 1, 30), timedelta(seconds=gap))


def test_work_that_should_have_a_message_is_counted(channel: Channel, now: datetime) -> None:
    working(channel, now)
    minutes, seconds = timedelta(minutes=6), timedelta(seconds=10)
    pending(channel, now + minutes + timedelta(seconds=1), available_at=now)
    pending(channel, now, available_at=now + seconds + timedelta(seconds=1))
    assert wakes.count_due(DELIVERY, 10) == 0
    pending(channel, now + minutes, available_at=now + seconds)
    pending(channel, now, available_at=now, is_bulk=True)
    assert [wakes.count_due(DELIVERY, most) for most in (10, 1)] == [2, 1]


def test_all_that_is_due_is_woken_when_the_broker_lost_its_messages(channel: Channel, now: datetime) -> None:
    minutes, second = timedelta(minutes=6), timedelta(seconds=1)
    working(channel, now)
    others = [
        pending(channel, now, wakes=3),  # rescue takes it anyway
        pending(channel, now + minutes + second, available_at=now, wakes=3),
        pending(channel, now + second, available_at=now + second, wakes=3),
    ]
    woken = [
        pending(channel, now + second, available_at=now, wakes=3),
        pending(channel, now + minutes, available_at=now, wakes=3, is_bulk=True),
    ]
    before = [one.wake_at for one in others]
    assert wakes.wake_all(DELIVERY) == 2
    for delivery, wake_at in zip(others, before, strict=True):
        delivery.refresh_from_db()
        assert (delivery.wakes, delivery.wake_at) == (3, wake_at)
    for delivery in woken:
        delivery.refresh_from_db()
        assert (delivery.wakes, delivery.wake_at) == (0, now)


@pytest.fixture
def messages(broker: redis.Redis) -> Iterator[Any]:
    yield lambda: {
        name: broker.llen(f"carillon:{name}")
        for name in ("deliveries", "bulk", "jobs")
        if broker.llen(f"carillon:{name}")
    }


def wake(**fields: Any) -> Wake:
    return Wake(**{"task": outbox.DELIVER, "id": uuid7()} | fields)


def test_each_message_goes_to_its_own_queue_and_far_work_has_none(messages: Any) -> None:
    assert wakes.publish([]) is True
    assert wakes.publish([wake(wait=10.5)]) is True
    assert messages() == {}
    assert wakes.publish([wake(), wake(wait=10.0), wake(is_bulk=True), wake(queue="jobs", is_bulk=True)]) is True
    assert messages() == {"deliveries": 2, "bulk": 1, "jobs": 1}


def test_a_broker_that_is_away_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> None:
        raise publisher.Unreachable("no route")

    monkeypatch.setattr(publisher, "publish", away)
    assert wakes.publish([wake()]) is False


def test_what_threads_published_in_vain_together_each_publishes_alone(
    messages: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, failed = publisher.publish, []

    def once_broken(*given: Any) -> None:
        if not failed:
            failed.append(given)
            raise RuntimeError
        real(*given)

    monkeypatch.setattr(publisher, "publish", once_broken)
    monkeypatch.setattr(wakes, "has_threads", lambda: True)
    assert wakes.publish([wake()]) is True
    assert messages() == {"deliveries": 1}


@pytest.mark.django_db(transaction=True)
def test_messages_are_published_after_the_commit_and_their_error_harms_nothing(
    messages: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with transaction.atomic():
        wakes.publish_after_commit(wake() for _ in range(2))
        assert messages() == {}
    assert messages() == {"deliveries": 2}

    def broken(*_: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(publisher, "publish", broken)
    with transaction.atomic():
        wakes.publish_after_commit([wake()])
    assert not connection.in_atomic_block
