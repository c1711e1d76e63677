"""One person's thousands wait in a queue of their own, beside which another's few go through."""

from __future__ import annotations

from datetime import timedelta

import pytest
import redis

from common.uuid7 import uuid7
from notifications import tasks
from notifications.deliveries import outbox
from notifications.models import Channel, Delivery, Notification
from people.models import User
from tests.make import NOON, make_channel, make_delivery, make_user
from work.broker import backlog as broker_module, fair_queue, wakes
from work.engine import rescue

pytestmark = pytest.mark.django_db


def test_one_persons_many_are_rung_in_bulk_and_another_ones_few_beside_them(ada: User, broker: redis.Redis) -> None:
    inbox, other = make_channel(ada), make_channel(make_user())
    many, few = [make_delivery(inbox) for _ in range(50)], [make_delivery(other) for _ in range(2)]
    Delivery.objects.update(wake_at=NOON)
    Delivery.objects.filter(id__in=[one.id for one in few]).update(wake_at=NOON + timedelta(seconds=1))
    broker_module.mark()
    assert rescue.rescue()["published"] == len(many) + len(few)
    assert broker.llen("carillon:deliveries") == fair_queue.FEW + len(few)
    assert broker.llen("carillon:bulk") == len(many) - fair_queue.FEW


def test_many_are_many_in_batches_too_and_few_again_after_a_while(
    ada: User, broker: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(6):
        wakes.publish([wakes.Wake(outbox.DELIVER, uuid7(), 0.0, ada.id) for _ in range(10)])
    assert (broker.llen("carillon:deliveries"), broker.llen("carillon:bulk")) == (fair_queue.FEW, 60 - fair_queue.FEW)
    monkeypatch.setattr(fair_queue._Lately, "since", fair_queue._Lately.since - fair_queue.WITHIN)
    wakes.publish([wakes.Wake(outbox.DELIVER, uuid7(), 0.0, ada.id)])
    assert broker.llen("carillon:deliveries") == fair_queue.FEW + 1


def test_what_costs_more_fills_a_persons_share_sooner(ada: User, broker: redis.Redis) -> None:
    wakes.publish([wakes.Wake(outbox.DELIVER, uuid7(), 0.0, ada.id, cost=fair_queue.FEW // 2) for _ in range(6)])
    assert (broker.llen("carillon:deliveries"), broker.llen("carillon:bulk")) == (2, 4)


def test_what_a_schedule_records_is_rung_by_person_too(ada: User) -> None:
    inbox, other = make_channel(ada), make_channel(make_user())
    sayings = [saying(channel) for channel in (inbox, other)]
    assert [wake.person_id for wake in outbox.record(sayings)] == [ada.id, other.user_id]


def saying(channel: Channel) -> outbox.NewNotification:
    return outbox.NewNotification(
        user_id=channel.user_id,
        channels=[(channel.id, channel.provider)],
        subject="Water the plants",
        body="",
        origin=Notification.Origin.SCHEDULE,
        batch_id=uuid7(),
    )


def test_a_retry_stays_in_the_queue_it_came_from() -> None:
    request = {"args": ["x"], "kwargs": {}, "delivery_info": {"exchange": "", "routing_key": fair_queue.QUEUE}}
    tasks.deliver.push_request(**request)
    try:
        again = tasks.deliver.signature_from_request(countdown=1.0)
    finally:
        tasks.deliver.pop_request()
    assert again.options["queue"] == fair_queue.QUEUE
