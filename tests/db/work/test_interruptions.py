"""A worker that is stopped gives back what it holds; a database that goes away for a moment costs a moment."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

import pytest
import redis
from django.db import OperationalError, connection, transaction

from common.database.postgres import query
from notifications import providers
from notifications.deliveries.kind import DELIVERY
from notifications.messages.message import Delivered, Destination, Message
from notifications.models import Attempt, Channel, Delivery
from notifications.providers import inbox
from tests.make import NOON, make_channel, make_delivery, make_user, noted, send_now, settle, take, taken
from work.answers import Retryable
from work.engine import claim as claiming, recovery, runner, settlement
from work.reasons import WorkCode


@pytest.fixture
def channel(db: None) -> Channel:
    return make_channel(make_user())


def stopped(*_: object) -> None:
    raise SystemExit(-241)  # what the handler of a pool's process does on SIGTERM


def once_then_broken(work: Callable[..., object]) -> Callable[..., object]:
    """`work`, whose first answer is lost after it has been committed."""
    lost: list[object] = []

    def run(*args: object) -> object:
        answer = work(*args)
        if not lost:
            lost.append(answer)
            raise OperationalError("server closed the connection unexpectedly")
        return answer

    return run


def attempts(delivery: Delivery) -> list[tuple[int, str]]:
    return list(delivery.history.values_list("number", "outcome"))


def test_a_worker_stopped_before_it_sent_gives_the_delivery_back_uncounted(
    channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivery = make_delivery(channel)
    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(providers, "get", stopped)
        send_now(delivery.id)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.tries, delivery.released) == ("pending", 0, 1)
    send_now(delivery.id)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.tries) == ("delivered", 1)
    assert attempts(delivery) == [(1, "released"), (2, "delivered")]


def test_a_database_that_goes_away_before_it_sent_costs_no_try(
    channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    delivery = make_delivery(channel)
    monkeypatch.setattr(providers, "get", away)
    with pytest.raises(OperationalError):
        send_now(delivery.id)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.tries, delivery.released) == ("pending", 0, 1)
    assert (delivery.reason_code, attempts(delivery)) == (WorkCode.DATABASE_AWAY, [(1, "released")])


def test_a_message_before_its_time_is_published_again_with_what_is_left(channel: Channel, broker: redis.Redis) -> None:
    soon = make_delivery(channel, available_at=query("SELECT now() + interval '5 seconds' AS at", [])[0].at)
    send_now(soon.id)
    [message] = broker.lrange("carillon:deliveries", 0, -1)  # type: ignore[misc]
    eta = datetime.fromisoformat(json.loads(message)["headers"]["eta"])
    assert timedelta(0) <= eta - soon.available_at < timedelta(seconds=60)  # the database's clock stands still here
    send_now(make_delivery(channel, state="delivered").id)
    assert broker.llen("carillon:deliveries") == 1


@pytest.mark.parametrize(("repeatable", "state"), [(True, "pending"), (False, "unknown")])
def test_a_worker_stopped_while_sending_says_that_nobody_knows(
    channel: Channel, monkeypatch: pytest.MonkeyPatch, repeatable: bool, state: str
) -> None:
    monkeypatch.setattr(inbox.Inbox, "recognises_repeats", repeatable)
    monkeypatch.setattr(inbox.Inbox, "send", stopped)
    delivery = make_delivery(channel)
    with pytest.raises(SystemExit):
        send_now(delivery.id)
    delivery.refresh_from_db()
    assert (delivery.state, attempts(delivery)) == (state, [(1, "ambiguous")])
    assert delivery.reason_code == WorkCode.STOPPED


def test_no_connection_is_kept_while_a_receiver_is_called_and_then_its_person_is_told(
    channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[object] = []
    monkeypatch.setattr(runner, "lend_connection", lambda: done.append("lent"))
    monkeypatch.setattr(inbox.Inbox, "send", lambda *_: done.append("sent") or Delivered())
    monkeypatch.setattr(runner.live_wakes, "wake", done.append)
    send_now(make_delivery(channel).id)
    assert done == ["lent", "sent", channel.user_id]


def test_a_release_under_a_lost_lease_changes_nothing(channel: Channel) -> None:
    claim = taken(make_delivery(channel).id)
    assert settlement.release(DELIVERY, replace(claim, token=UUID(int=7)), noted("no")) is False
    assert Delivery.objects.get().state == "sending"


def test_a_deferred_delivery_waits_and_no_try_is_counted(channel: Channel) -> None:
    delivery = make_delivery(channel, wakes=3)
    claim = taken(delivery.id)
    assert settlement.release(DELIVERY, claim, noted("It waits."), 60.0) is True
    assert take(delivery.id, "worker") is None
    delivery.refresh_from_db()
    assert (delivery.state, delivery.tries, attempts(delivery)) == ("pending", 0, [(1, "released")])
    assert delivery.wakes == 0
    assert delivery.reason == delivery.history.get().reason == "It waits."
    assert delivery.available_at - delivery.wake_at == timedelta(seconds=6)
    wait = claiming.seconds_until_available(DELIVERY, delivery.id)
    assert wait is not None and 55 < wait <= 60


def test_under_a_lost_lease_nothing_is_deferred(channel: Channel) -> None:
    claim = taken(make_delivery(channel).id)
    assert settlement.release(DELIVERY, replace(claim, token=UUID(int=7)), noted("no"), 60.0) is False
    assert Delivery.objects.get().state == "sending"


def test_under_a_lost_lease_no_further_try_is_asked_for(channel: Channel) -> None:
    claim = replace(taken(make_delivery(channel).id), token=UUID(int=7))
    runner.finish(DELIVERY, claim, Retryable(noted("Busy.")))  # would raise TryAgain
    assert Delivery.objects.get().state == "sending"


def test_a_connection_that_ends_between_claim_and_settle_costs_nothing(
    end_connection: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[UUID] = []

    def send(self: object, message: Message, destination: Destination) -> Delivered:
        sent.append(message.key)
        end_connection()
        return Delivered()

    monkeypatch.setattr(inbox.Inbox, "send", send)
    first, second = (make_delivery(make_channel(make_user())) for _ in range(2))
    end_connection()
    send_now(first.id)
    send_now(second.id)
    assert sent == [first.id, second.id]
    assert set(Delivery.objects.values_list("state", flat=True)) == {"delivered"}
    assert set(Attempt.objects.values_list("outcome", flat=True)) == {"delivered"}


@pytest.mark.django_db(transaction=True)
def test_a_claim_committed_by_a_connection_that_broke_is_released_and_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    delivery = make_delivery(make_channel(make_user()))
    monkeypatch.setattr(claiming, "_claim_alone", once_then_broken(claiming._claim_alone))
    send_now(delivery.id)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.tries) == ("delivered", 1)
    assert attempts(delivery) == [(1, "released"), (2, "delivered")]


@pytest.mark.django_db(transaction=True)
def test_a_settling_committed_by_a_connection_that_broke_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    delivery = make_delivery(make_channel(make_user()))
    claim = taken(delivery.id)
    monkeypatch.setattr(settlement, "_settle", once_then_broken(settlement._settle))
    assert settle(claim, "delivered") is True


@pytest.mark.django_db(transaction=True)
def test_a_settling_that_came_after_the_lease_was_recovered_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = taken(make_delivery(make_channel(make_user())).id)
    real = settlement._settle

    def break_off(*_: object) -> None:
        monkeypatch.setattr(settlement, "_settle", real)
        Delivery.objects.update(lease_until=NOON)
        recovery.recover(DELIVERY, 1)
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(settlement, "_settle", break_off)
    assert settle(claim, "delivered") is False


@pytest.mark.django_db(transaction=True)
def test_within_a_transaction_nothing_is_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    delivery = make_delivery(make_channel(make_user()))
    monkeypatch.setattr(claiming, "_claim_alone", once_then_broken(claiming._claim_alone))
    with pytest.raises(OperationalError), transaction.atomic():
        take(delivery.id, "worker")
    delivery.refresh_from_db()
    assert (delivery.state, connection.in_atomic_block) == ("pending", False)
