"""The row is settled first; then Celery's autoretry publishes the next try with the wait that the row has."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest
import redis
from celery.exceptions import Retry

from common.uuid7 import uuid7
from notifications import tasks
from notifications.models import Delivery
from notifications.providers.webhook import Webhook
from tests.make import make_channel, make_delivery, make_user, noted
from work.answers import Retryable
from work.retry import Policy

pytestmark = pytest.mark.django_db


def run(delivery: Delivery) -> None:
    """Run the task as a worker does."""
    given = [str(delivery.id)]
    tasks.deliver.push_request(id=str(uuid7()), args=given, kwargs={}, called_directly=False, delivery_info={})
    try:
        tasks.deliver.run(*given)
    finally:
        tasks.deliver.pop_request()
        delivery.refresh_from_db()


@pytest.fixture
def delivery(monkeypatch: pytest.MonkeyPatch) -> Delivery:
    monkeypatch.setattr(Webhook, "send", lambda *_: Retryable(noted("Busy.")))
    return make_delivery(make_channel(make_user(), "webhook"))


def test_a_near_retry_is_published_with_the_wait_of_the_row(broker: redis.Redis, delivery: Delivery) -> None:
    with pytest.raises(Retry):
        run(delivery)
    [message] = broker.lrange("carillon:deliveries", 0, -1)  # type: ignore[misc]
    headers = json.loads(message)["headers"]
    assert str(delivery.id) in headers["argsrepr"]
    assert abs(datetime.fromisoformat(headers["eta"]) - delivery.available_at) < timedelta(seconds=1)
    assert (delivery.state, delivery.tries) == ("pending", 1)


def test_a_far_retry_is_not_published(broker: redis.Redis, delivery: Delivery, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Webhook, "policy", Policy(tries=2, waits=(600,)))
    with pytest.raises(Retry):
        run(delivery)
    assert broker.llen("carillon:deliveries") == 0
    assert (delivery.state, delivery.tries) == ("pending", 1)


def test_after_the_last_try_nothing_is_published(
    broker: redis.Redis, delivery: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Webhook, "policy", Policy(tries=1))
    run(delivery)
    assert broker.llen("carillon:deliveries") == 0
    assert delivery.state == "dead"
