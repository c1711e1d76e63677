"""A host gets a few sends at a time, and rests after timeouts; its deliveries wait, and no try counts."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock, patch

import pytest
import redis
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from common.redis.rate_limiter import Reservation, Slots
from notifications import providers
from notifications.deliveries import limits, permits
from notifications.deliveries.kind import DELIVERY, DeliveryClaim
from notifications.messages.message import Delivered
from notifications.models import Channel, Delivery
from notifications.providers.webhook import Webhook
from notifications.reasons import DeliveryCode
from people.models import User
from tests.make import finish, make_channel, make_delivery, make_user, taken, try_once
from work.answers import Ambiguous, Answer, Retryable
from work.engine import manual, settlement
from work.engine.claim import LEASE
from work.reasons import Reason

TIMEOUT = Ambiguous(Reason(DeliveryCode.TIMEOUT, service="the receiver", seconds=20.0))


@pytest.fixture(autouse=True)
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Answer]]:
    """What all providers say, in order; without anything left, that it was delivered."""
    said: list[Answer] = []
    for provider in providers.all():
        monkeypatch.setattr(type(provider), "send", lambda *_: said.pop(0) if said else Delivered())
    yield said
    permits._hosts.clear()


def make_hook(user: User, host: str = "a.example", **overrides: Any) -> Channel:
    return make_channel(user, "webhook", address={"url": f"https://{host}"}, **overrides)


def begin(channel: Channel) -> DeliveryClaim:
    """A delivery to the channel whose send has begun, at another worker."""
    claim = taken(make_delivery(channel).id, "other")
    assert limits.limited(claim) is None
    permits._hosts.clear()
    return claim


def end(claim: DeliveryClaim, answer: Answer | BaseException) -> None:
    """End a send that has begun; its provider answers, or raises."""
    provider = providers.get(claim.handler)
    with patch.object(type(provider), "send", Mock(side_effect=[answer])):
        limits.send(claim, provider, claim.destination())


def send(channel: Channel) -> Delivery:
    """A new delivery to the channel, after one try."""
    delivery = make_delivery(channel)
    try_once(delivery)
    return delivery


def time_out(channel: Channel, times: int) -> None:
    for _ in range(times):
        end(begin(channel), TIMEOUT)


def end_rest(settings: Settings) -> None:
    client = redis.Redis.from_url(settings.REDIS_URL)
    [state] = client.scan_iter(f"{settings.CACHES['default']['KEY_PREFIX']}:*:state")
    client.hset(state, "rests", time.time() - 0.001)
    client.close()


def test_a_host_gets_so_many_sends_at_a_time_over_all_channels_and_workers(ada: User, settings: Settings) -> None:
    settings.SENDS_AT_ONCE = {"": 2, "strict.example": 1}
    first, _ = begin(make_hook(ada)), begin(make_hook(make_user()))
    waiting = send(make_hook(ada))
    assert (waiting.state, waiting.tries, waiting.reason_code) == ("pending", 0, DeliveryCode.HOST_BUSY)
    assert waiting.history.get().outcome == "released"
    assert send(make_hook(ada, "b.example")).state == "delivered"
    end(first, Delivered())
    assert send(make_hook(ada)).state == "delivered"
    begin(make_hook(ada, "strict.example"))
    assert send(make_hook(ada, "strict.example")).state == "pending"


def test_a_provider_may_take_one_send_at_a_time(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Webhook, "one_at_a_time", True)
    begin(make_hook(ada))
    assert send(make_hook(ada)).state == "pending"


def test_a_delivery_asks_for_a_slot_again_and_again_within_its_patience(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = taken(make_delivery(make_hook(ada)).id)
    busy = Reservation(0.01, Slots("sends:a.example", 1, 1.0), resting=False)
    left = [busy, busy, busy, None]
    monkeypatch.setattr(limits, "_SLEEP", 30.0)
    monkeypatch.setattr(limits.rate_limiter, "take", lambda *_: left.pop(0))
    assert (limits.limited(claim), left) == (None, [])


def test_a_host_gets_at_most_half_of_one_worker(ada: User, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.setattr(limits._Worker, "share", 2)
    monkeypatch.setattr(limits._Worker, "name", "small")
    claim = begin(make_hook(ada))
    begin(make_hook(ada))
    waiting = send(make_hook(ada))
    assert (waiting.state, waiting.reason_params["amount"]) == ("pending", 2)
    monkeypatch.setattr(limits._Worker, "name", "other")
    assert send(make_hook(ada)).state == "delivered"
    settings.SENDS_AT_ONCE = {"": 2}
    assert len(limits._slots(providers.get(claim.handler), claim)) == 1  # Redis is not asked for more


@pytest.mark.parametrize(("concurrency", "share"), [(1, 1), (2, 1), (5, 2), (8, 4)])
def test_a_worker_knows_its_half_before_its_pool_is_made(
    monkeypatch: pytest.MonkeyPatch, concurrency: int, share: int
) -> None:
    monkeypatch.setattr(limits._Worker, "name", "")
    monkeypatch.setattr(limits._Worker, "share", None)
    limits._know_worker(SimpleNamespace(concurrency=concurrency))
    assert (limits._Worker.name, limits._Worker.share) == (f"{socket.gethostname()}:{os.getpid()}", share)


def test_the_slot_is_freed_whatever_becomes_of_the_send(ada: User, answers: list[Answer], settings: Settings) -> None:
    settings.SENDS_AT_ONCE = {"": 1}
    hook = make_hook(ada)
    answers += [TIMEOUT, Retryable(Reason(DeliveryCode.NOTE, said="Later."))]
    send(hook)
    send(hook)
    with pytest.raises(SystemExit):
        end(begin(hook), SystemExit())
    assert send(hook).state == "delivered"


def test_the_slot_of_a_killed_worker_is_free_before_its_lease_ends(
    ada: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SENDS_AT_ONCE = {"": 1}
    monkeypatch.setattr(Webhook, "deadline", 0.2)
    monkeypatch.setattr(limits, "_MARGIN", 0.1)
    hook = make_hook(ada)
    begin(hook)
    delivery, until = make_delivery(hook), time.monotonic() + 60
    while delivery.state != "delivered":
        assert time.monotonic() < until
        Delivery.objects.filter(id=delivery.id).update(available_at=timezone.now() - timedelta(seconds=1))
        try_once(delivery)
    assert max(provider.deadline for provider in providers.all()) + 5 < LEASE


def test_a_host_that_timed_out_five_times_rests_and_uses_up_no_tries(ada: User) -> None:
    hook = make_hook(ada)
    time_out(hook, 5)
    waiting = send(hook)
    assert (waiting.state, waiting.tries, waiting.reason_code) == ("pending", 0, DeliveryCode.HOST_RESTS)
    assert waiting.reason_params["host"] == "a.example"
    assert timedelta(seconds=20) < waiting.available_at - timezone.now() < timedelta(seconds=31)
    assert send(make_hook(ada, "b.example")).state == "delivered"


@pytest.mark.parametrize("answer", [Delivered(), Retryable(Reason(DeliveryCode.HTTP, service="x", status=503))])
def test_any_answer_ends_the_rest(answer: Answer, ada: User, settings: Settings) -> None:
    hook = make_hook(ada)
    time_out(hook, 5)
    end_rest(settings)
    probe = begin(hook)
    assert send(hook).reason_code == DeliveryCode.HOST_RESTS
    end(probe, answer)
    assert send(make_hook(make_user())).state == "delivered"


def test_our_own_fault_is_not_the_hosts(ada: User) -> None:
    hook = make_hook(ada)
    time_out(hook, 4)
    with pytest.raises(KeyError):
        end(begin(hook), KeyError())
    time_out(hook, 1)
    assert send(hook).reason_code == DeliveryCode.HOST_RESTS


def test_channels_without_a_known_host_do_not_share_a_rest(ada: User) -> None:
    service = {"address": {"service": "Gotify"}, "secrets": {"url": "gotify://x"}}
    one, other = (make_channel(ada, "apprise", **service) for _ in range(2))  # type: ignore[arg-type]
    time_out(one, 5)
    assert send(one).reason_code == DeliveryCode.HOST_RESTS
    assert send(other).state == "delivered"


def test_an_inbox_knows_no_host(ada: User, settings: Settings) -> None:
    settings.SENDS_AT_ONCE = {"": 1}
    inbox = make_channel(ada)
    begin(inbox)
    assert send(inbox).state == "delivered"


def test_while_redis_is_away_no_host_is_full(ada: User, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SENDS_AT_ONCE = {"": 1}
    begin(make_hook(ada))
    settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": "redis://127.0.0.1:1/0"}}
    assert send(make_hook(ada)).state == "delivered"


def test_a_delivery_waits_for_a_host_that_rests_for_a_day_at_most(ada: User) -> None:
    hook = make_hook(ada)
    time_out(hook, 5)
    delivery = send(hook)
    again(delivery, hours=23)
    assert (delivery.state, delivery.reason_code) == ("pending", DeliveryCode.HOST_RESTS)
    again(delivery, hours=2)
    assert (delivery.state, delivery.reason_code) == ("dead", DeliveryCode.GIVEN_UP)
    hook.refresh_from_db()
    assert hook.failing_since is not None


def again(delivery: Delivery, hours: float) -> None:
    """Try it again, so many hours later: what was before is moved into the past."""
    # Not just a second ago: the database's clock stands still within the transaction of a test.
    Delivery.objects.filter(id=delivery.id).update(available_at=timezone.now() - timedelta(minutes=5))
    move_back(delivery, timedelta(hours=hours))
    try_once(delivery)


def move_back(delivery: Delivery, by: timedelta) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # closed attempts do not change
        cursor.execute(
            "UPDATE notifications_attempt SET started_at = started_at - %s WHERE delivery_id = %s", [by, delivery.id]
        )
        cursor.execute("SET LOCAL session_replication_role = origin")


LATER = Retryable(Reason(DeliveryCode.HTTP, service="the receiver", status=503))


def test_a_channel_gives_up_when_the_next_try_would_be_too_late(ada: User, answers: list[Answer]) -> None:
    hook = make_hook(ada, give_up_after=600)
    answers += [LATER] * 3
    delivery = send(hook)
    assert delivery.state == "pending"
    again(delivery, hours=0.05)
    assert delivery.state == "pending"
    again(delivery, hours=0.05)
    assert (delivery.state, delivery.reason_code, delivery.reason_params["seconds"]) == (
        "dead",
        DeliveryCode.GIVEN_UP,
        600,
    )
    assert delivery.cause == "webhook-given-up"
    assert delivery.tries == 3


def test_time_in_which_nothing_was_tried_does_not_count(
    ada: User, answers: list[Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = make_hook(ada, give_up_after=600)
    delivery = make_delivery(hook)
    claim = taken(delivery.id)
    settlement.release(DELIVERY, claim, Reason(DeliveryCode.QUIET_HOURS, until="07:00"), 0.0)
    answers.append(LATER)
    again(delivery, hours=8)
    assert delivery.state == "pending"


def test_a_replay_has_the_whole_time_again(ada: User, answers: list[Answer]) -> None:
    hook = make_hook(ada, give_up_after=7200)
    answers += [LATER] * 4
    delivery = send(hook)
    again(delivery, hours=2)
    assert delivery.state == "dead"
    manual.replay(Delivery, [delivery.id])
    try_once(delivery)
    assert delivery.state == "pending"
    again(delivery, hours=0.01)
    assert delivery.state == "pending"


def test_an_operators_waits_give_the_tries(ada: User, answers: list[Answer], settings: Settings) -> None:
    settings.RETRY_WAITS = {"webhook": (60.0, 300.0)}
    answers += [LATER] * 3
    delivery = make_delivery(make_hook(ada))
    assert try_once(delivery, random=0.5) == 60.0
    assert retry(delivery) == 300.0
    assert retry(delivery) is None
    assert (delivery.state, delivery.tries) == ("dead", 3)


def retry(delivery: Delivery) -> float | None:
    Delivery.objects.filter(id=delivery.id).update(available_at=timezone.now() - timedelta(seconds=1))
    return try_once(delivery, random=0.5)


@pytest.mark.django_db(transaction=True)
def test_a_full_host_costs_a_delivery_few_claims(
    ada: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SENDS_AT_ONCE, settings.WEBHOOKS_PER_SECOND = {"": 1}, 0
    monkeypatch.setattr(limits, "_SLEEP", 0.0)
    hook = make_hook(ada)
    for _ in range(30):
        make_delivery(hook)
    provider = providers.get(hook.provider)
    monkeypatch.setattr(type(provider), "send", lambda *_: time.sleep(0.1) or Delivered())
    until, sends = time.monotonic() + 180, list[tuple[DeliveryClaim, Future[Answer]]]()
    with ThreadPoolExecutor() as pool:
        while Delivery.objects.exclude(state="delivered").exists():
            assert time.monotonic() < until
            due = Delivery.objects.filter(state="pending", available_at__lte=timezone.now()).order_by("available_at")
            for delivery_id in due.values_list("id", flat=True):
                claim = taken(delivery_id)
                if later := limits.limited(claim):
                    settlement.release(DELIVERY, claim, *reversed(later))
                else:
                    sends.append((claim, pool.submit(limits.send, claim, provider, claim.destination())))
            while sends and sends[0][1].done():
                claim, future = sends.pop(0)
                finish(claim, future.result())
    claims = [delivery.history.count() for delivery in Delivery.objects.all()]
    assert sum(claims) < 5 * len(claims)
