"""One person's thousand events with many rules leave room for others."""

from __future__ import annotations

import json
from collections import Counter
from math import inf
from types import SimpleNamespace

import pytest
import redis
from celery.concurrency import prefork, thread
from django.db import transaction

from events.intake import ledger
from events.intake.ledger import HANDLE
from events.kinds import event
from events.kinds.event import EVENT
from events.models import Event
from events.pure.envelope import MOST_AT_ONCE, Envelope
from people.models import User
from tests.make import make_channel, make_rule, make_user
from work.broker import backlog as broker_module, fair_queue, load
from work.engine import rescue

pytestmark = pytest.mark.django_db(transaction=True)
RULES = 50


@pytest.fixture
def busy(ada: User) -> User:
    inbox = make_channel(ada)
    for _ in range(RULES):
        make_rule(ada, channels=[inbox])
    make_rule(ada, channels=[inbox], enabled=False)
    return ada


def publish(user: User, count: int) -> None:
    with transaction.atomic():
        ledger.record(user.pk, [Envelope("order.paid") for _ in range(count)])


def waiting(broker: redis.Redis) -> tuple[int, int]:
    return broker.llen("carillon:events"), broker.llen("carillon:bulk")


def test_events_wait_beside_those_of_others_by_what_their_rules_cost(
    busy: User, broker: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its two seconds do not end meanwhile.
    monkeypatch.setattr(fair_queue._Lately, "since", inf)
    monkeypatch.setattr(fair_queue._Lately, "published", Counter())
    for _ in range(1_000 // MOST_AT_ONCE):
        publish(busy, MOST_AT_ONCE)
    share = fair_queue.FEW * 10 // RULES
    assert waiting(broker) == (share, 1_000 - share)
    other = make_user()
    make_rule(other)
    publish(other, fair_queue.FEW)
    assert waiting(broker) == (share + fair_queue.FEW, 1_000 - share)


def test_rescue_publishes_them_by_their_cost_too(busy: User, broker: redis.Redis) -> None:
    publish(busy, MOST_AT_ONCE)
    broker.delete("carillon:events", "carillon:bulk")
    fair_queue._Lately.since = -fair_queue.WITHIN
    Event.objects.update(wake_at="2026-01-01T00:00Z")
    broker_module.mark()
    assert rescue.rescue()["published"] == MOST_AT_ONCE
    assert waiting(broker)[0] == fair_queue.FEW * 10 // RULES


def test_a_worker_holds_few_events_that_cost_much_and_takes_other_work_beside_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(load, "_limits", {})
    held = [SimpleNamespace(name=HANDLE, request_dict={"cost": 10}) for _ in range(event.COSTLY_AT_ONCE)]
    monkeypatch.setattr(load.state, "reserved_requests", held)
    event._limit(SimpleNamespace(pool_cls=prefork.TaskPool))
    assert load.room(fair_queue.QUEUE, 16) == 16, "a process has one"
    event._limit(SimpleNamespace(pool_cls=thread.TaskPool))
    assert load.room(fair_queue.QUEUE, 16) == 0
    assert {load.room(queue, 16) for queue in ("deliveries", EVENT.queue, "maintenance")} == {16}
    held[:] = [SimpleNamespace(name="notifications.deliver") for _ in range(4)]
    assert load.room(fair_queue.QUEUE, 16) == event.COSTLY_AT_ONCE
    held[:] = [SimpleNamespace(name=HANDLE, request_dict={}) for _ in range(event.AT_ONCE - 1)]
    assert load.room(fair_queue.QUEUE, 16) == 1


def test_a_message_says_what_its_event_costs(busy: User, broker: redis.Redis) -> None:
    publish(busy, 1)
    [message] = broker.lrange("carillon:events", 0, -1)
    assert json.loads(message)["headers"]["cost"] == RULES // 10
