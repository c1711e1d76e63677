"""A limited delivery waits its turn: no try counted, no worker held, and its history says why."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import redis
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from common.redis import rate_limiter
from common.redis.rate_limiter import Reservation, Slots
from common.times import dates
from notifications import providers
from notifications.deliveries import limits, permits
from notifications.deliveries.kind import DELIVERY
from notifications.deliveries.send import send as send_own
from notifications.messages.message import Delivered
from notifications.models import Channel, Delivery, Notification
from notifications.providers.base import Rate
from notifications.providers.telegram import Telegram
from people.models import User
from tests.make import NOON, make_channel, make_delivery, make_user, noted, send_now, taken, try_once
from work.answers import Answer, Retryable
from work.broker import wakes
from work.engine import rescue, settlement

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Answer]:
    """What all providers say, in order; without anything left, that it was delivered."""
    said: list[Answer] = []
    for provider in providers.all():
        monkeypatch.setattr(type(provider), "send", lambda *_: said.pop(0) if said else Delivered())
    return said


def take(monkeypatch: pytest.MonkeyPatch, *rates: Rate) -> None:
    """Have Telegram declare these rates."""
    monkeypatch.setattr(Telegram, "rates", property(lambda self: rates))


def make_chat(user: User, **overrides: Any) -> Channel:
    return make_channel(user, "telegram", {"token": "123:x"}, **{"address": {"chat": "1"}} | overrides)


def send(*delivery: Delivery) -> list[str]:
    """Try each once; the states that they are in then."""
    for one in delivery:
        send_now(one.id)
        one.refresh_from_db()
    return [str(one.state) for one in delivery]


def test_what_comes_too_soon_waits_its_turn_and_counts_no_try(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    take(monkeypatch, Rate("telegram-chat", 1, 30.0, "channel"))
    chat = make_chat(ada)
    first, second = make_delivery(chat), make_delivery(chat)
    assert send(first, second) == ["delivered", "pending"]
    assert (second.tries, second.released, second.lease_token) == (0, 1, None)
    assert second.reason == "Telegram takes 1 message in 30 seconds to one channel; this one waits."
    [attempt] = second.history.all()
    assert (attempt.outcome, attempt.reason) == ("released", second.reason)
    assert timedelta(seconds=25) < second.available_at - timezone.now() < timedelta(seconds=31)
    assert second.available_at - second.wake_at == timedelta(seconds=wakes.EARLY)


def test_a_near_turn_is_published_at_once_and_a_far_one_by_rescue_in_time(
    ada: User, broker: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(monkeypatch, Rate("telegram-chat", 1, 5.0, "channel"))
    chat = make_chat(ada)
    first, near, far = (make_delivery(chat) for _ in range(3))
    assert send(first, near, far) == ["delivered", "pending", "pending"]
    assert broker.llen("carillon:deliveries") == 1  # near
    assert near.wake_at - near.available_at == timedelta(seconds=wakes.CLAIM_WITHIN)
    assert far.wake_at < far.available_at
    Delivery.objects.filter(id=far.id).update(wake_at=NOON)
    [(_, delivery_id, wait, person_id, *_)] = wakes.take_due(DELIVERY, 10)
    assert (delivery_id, person_id) == (far.id, ada.id)
    assert 0 < wait < 12
    far.refresh_from_db()
    assert far.wake_at > far.available_at


def test_its_turn_survives_a_broker_that_forgets_everything(
    ada: User, broker: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(monkeypatch, Rate("telegram-chat", 1, 3.0, "channel"))
    chat = make_chat(ada)
    first, second = make_delivery(chat), make_delivery(chat)
    send(first, second)
    assert broker.llen("carillon:deliveries") == 1
    broker.flushdb()
    Delivery.objects.filter(id=second.id).update(available_at=NOON, wake_at=NOON)
    assert rescue.rescue()["published"] == 1
    assert broker.llen("carillon:deliveries") == 1
    assert send(second) == ["delivered"]


def test_deferring_is_one_statement_more(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    take(monkeypatch, Rate("telegram-chat", 1, 30.0, "channel"))
    chat = make_chat(ada)
    send(make_delivery(chat))
    delivery = make_delivery(chat)
    with CaptureQueriesContext(connection) as queries:
        send_now(delivery.id)
    assert len(queries) == 2


@pytest.mark.django_db(transaction=True)
def test_each_delivery_is_claimed_a_bounded_number_of_times(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    take(monkeypatch, Rate("telegram-chat", 10, 0.3, "channel"))
    chat = make_chat(ada)
    waiting = {make_delivery(chat).id for _ in range(100)}
    while waiting:
        for delivery_id in due_among(waiting):
            send_now(delivery_id)
        waiting -= set(Delivery.objects.filter(state="delivered").values_list("id", flat=True))
    claims = [delivery.history.count() for delivery in Delivery.objects.all()]
    assert sum(claims) < 4 * len(claims)  # 5.5 if all came back whenever ten may pass


def due_among(waiting: set[Any]) -> list[Any]:
    due = Delivery.objects.filter(id__in=waiting, state="pending", available_at__lte=timezone.now())
    return list(due.order_by("available_at").values_list("id", flat=True))


@pytest.mark.parametrize(
    ("rate", "note"),
    [
        (Rate("telegram", 30, 1.0, "service"), "Telegram takes 30 messages a second; this one waits."),
        (Rate("telegram", 1, 2.0, "host"), "Telegram takes 1 message in 2 seconds to one host; this one waits."),
        (Rate("telegram", 1_000, 60.0, "service"), "Telegram takes 1,000 messages a minute; this one waits until "),
        (Rate("telegram", 60, 300.0, "channel"), "Telegram takes 60 messages in 5 minutes to one channel; this one"),
    ],
)
def test_the_history_says_what_it_waits_for(ada: User, monkeypatch: pytest.MonkeyPatch, rate: Rate, note: str) -> None:
    take(monkeypatch, rate)
    monkeypatch.setattr(
        rate_limiter, "take", lambda windows, *_: Reservation(rate.per_seconds, windows[0], resting=False)
    )
    delivery = make_delivery(make_chat(ada))
    send(delivery)
    assert delivery.reason.startswith(note)


def test_what_is_stale_before_its_turn_takes_no_place_from_what_comes_later(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(monkeypatch, Rate("telegram-chat", 1, 30.0, "channel"))
    chat = make_chat(ada)
    soon = timezone.now() + timedelta(seconds=45)
    send(make_delivery(chat))
    *_, late = crowd = [make_delivery(chat, expires_at=soon) for _ in range(10)]
    send(*crowd)
    assert late.reason == "Telegram takes 1 message in 30 seconds to one channel; before its turn it will be stale."
    assert abs(late.available_at - soon) < timedelta(seconds=1)
    following = make_delivery(chat)
    send(following)
    assert following.available_at - timezone.now() < timedelta(seconds=70)
    Delivery.objects.filter(id=late.id).update(expires_at=NOON)
    rescue.rescue()
    late.refresh_from_db()
    assert late.state == "expired"


def test_a_person_is_sent_so_many_messages_a_day_and_told_until_when_the_next_one_waits(
    browser: Client, ada: User, settings: Settings
) -> None:
    settings.SENDS_PER_PERSON_PER_DAY = 2
    mails = make_channel(ada, "email")
    first, second, third, fourth = (make_delivery(mails) for _ in range(4))
    other = make_delivery(make_channel(make_user(), "email"))
    assert send(first, second, third, fourth, other) == ["delivered", "delivered", "pending", "pending", "delivered"]
    until = timezone.localtime(third.available_at, ZoneInfo("Europe/Berlin"))
    shown = dates.short(until, until.year != timezone.localdate().year)
    assert third.reason == f"You may be sent 2 messages a day; this one waits until {shown}."
    assert fourth.available_at - third.available_at > timedelta(hours=12)
    page = browser.get(f"/history/{third.notification_id}/").content.decode()
    assert page.count(third.reason) == 2  # its state, and its attempt


def test_an_inbox_and_a_test_count_nothing_of_the_day(ada: User, settings: Settings) -> None:
    settings.SENDS_PER_PERSON_PER_DAY = 1
    inbox, mails = make_channel(ada), make_channel(ada, "email")
    free = [make_delivery(inbox), make_delivery(inbox), make_delivery(mails, origin=Notification.Origin.TEST)]
    assert send(*free) == ["delivered"] * 3
    assert send(make_delivery(mails), make_delivery(mails)) == ["delivered", "pending"]


def test_a_status_webhook_gets_every_change_of_a_day(ada: User) -> None:
    hook = make_channel(ada, "status", address={"url": "https://example.org/hook", "types": ["delivery.*"]})
    assert taken(make_delivery(make_channel(ada, "email")).id).daily_rates() != []
    assert taken(make_delivery(hook).id).daily_rates() == []


def test_without_a_limit_a_day_has_none(ada: User, settings: Settings) -> None:
    settings.SENDS_PER_PERSON_PER_DAY = 0
    mails = make_channel(ada, "email")
    assert send(*(make_delivery(mails) for _ in range(3))) == ["delivered"] * 3
    assert send_own(ada, NOON, "Hi", "", [mails]).deliveries


def test_the_mail_server_and_the_hosts_of_webhooks_get_what_the_operator_says(ada: User, settings: Settings) -> None:
    settings.EMAILS_PER_MINUTE = settings.WEBHOOKS_PER_SECOND = 1
    mails, other_mails = make_channel(ada, "email"), make_channel(make_user(), "email")
    assert send(make_delivery(mails), make_delivery(other_mails)) == ["delivered", "pending"]
    hooks = [make_channel(ada, "webhook", address={"url": f"https://{host}/x"}) for host in ("a.example", "b.example")]
    assert send(*(make_delivery(hook) for hook in hooks), make_delivery(hooks[0])) == [
        "delivered",
        "delivered",
        "pending",
    ]
    settings.EMAILS_PER_MINUTE = settings.WEBHOOKS_PER_SECOND = 0
    assert send(make_delivery(mails), make_delivery(hooks[0])) == ["delivered", "delivered"]


def test_what_cannot_be_sent_is_told_at_once_and_takes_nobodys_turn(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    take(monkeypatch, Rate("telegram", 1, 30.0, "service"))
    gone, chat = make_chat(ada, removed_at=timezone.now()), make_chat(ada)
    assert send(make_delivery(gone), make_delivery(chat)) == ["dead", "delivered"]


def test_a_retry_waits_its_turn_like_a_first_try(
    ada: User, answers: list[Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    take(monkeypatch, Rate("telegram-chat", 1, 30.0, "channel"))
    answers.append(Retryable(noted("Telegram said later.")))
    delivery = make_delivery(make_chat(ada))
    assert try_once(delivery, random=0.0) == 0.0
    assert send(delivery) == ["pending"]
    assert (delivery.tries, delivery.released) == (1, 1)
    assert list(delivery.history.values_list("number", "outcome")) == [(1, "retryable"), (2, "released")]


def test_while_redis_is_away_it_goes_out_all_the_same(
    ada: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(monkeypatch, Rate("telegram-chat", 1, 30.0, "channel"))
    settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": "redis://127.0.0.1:1/0"}}
    chat = make_chat(ada)
    assert send(make_delivery(chat), make_delivery(chat)) == ["delivered", "delivered"]


def test_a_permit_is_returned_where_the_limit_cannot_be_read(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError

    claim = taken(make_delivery(make_channel(ada, "webhook")).id)
    monkeypatch.setattr(rate_limiter, "take", fail)
    with pytest.raises(RuntimeError):
        limits.limited(claim)
    assert not [host for host in permits._hosts.values() if claim.token in host.holders]


@pytest.mark.parametrize(("permitted", "waits"), [(True, [0.1]), (False, [])])
def test_without_a_permit_nobody_waits_for_a_slot_of_the_host(
    permitted: bool, waits: list[float], ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = taken(make_delivery(make_channel(ada, "webhook")).id)
    answers = [Reservation(0.1, Slots("host", 1, 60.0), False), None]
    waited: list[float] = []
    monkeypatch.setattr(permits, "acquire", lambda *_: (permitted, None))
    monkeypatch.setattr(rate_limiter, "take", lambda *_: answers.pop(0))
    monkeypatch.setattr(limits.time, "sleep", waited.append)
    assert (limits.limited(claim) is None, waited) == (permitted, waits)


def test_a_database_that_goes_away_while_it_defers_does_not_let_the_lease_expire(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(monkeypatch, Rate("telegram-chat", 1, 30.0, "channel"))
    chat = make_chat(ada)
    send(make_delivery(chat))
    delivery = make_delivery(chat)
    give_back, failed = settlement._settle, []

    def breaking(*args: Any) -> bool:
        if not failed:
            failed.append(args)
            raise OperationalError("server closed the connection unexpectedly")
        return give_back(*args)

    monkeypatch.setattr(settlement, "_settle", breaking)
    monkeypatch.setattr(
        "common.database.postgres.connection",
        SimpleNamespace(in_atomic_block=False, close=int, cursor=connection.cursor),
    )
    assert send(delivery) == ["pending"]
    assert (delivery.tries, delivery.history.get().outcome) == (0, "released")
