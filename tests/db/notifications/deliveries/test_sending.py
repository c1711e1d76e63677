"""A delivery is claimed by one worker at a time, settled once, retried by its policy, and never sent twice."""

from __future__ import annotations

import threading
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, connections, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from common.uuid7 import uuid7
from notifications.deliveries.kind import DELIVERY
from notifications.messages.links import LEAVE, STOP, UNSUBSCRIBE, SignedLink
from notifications.messages.message import Delivered, Destination, Message, Rejected
from notifications.models import Attempt, Channel, Delivery
from notifications.providers import inbox, webhook
from tests.make import NOON, disabled, make_channel, make_delivery, make_user, noted, send_now, settle, taken, try_once
from work.answers import Ambiguous, Answer, Retryable
from work.broker import wakes
from work.engine import manual, rescue

pytestmark = pytest.mark.django_db


@pytest.fixture
def channel() -> Channel:
    return make_channel(make_user())


def answering(monkeypatch: pytest.MonkeyPatch, *answers: Answer | Exception) -> list[Message]:
    """Have the inbox provider give these answers in turn; returns the messages that it was asked to send."""
    sent: list[Message] = []
    remaining = list(answers)

    def send(self: object, message: Message, destination: Destination) -> Answer:
        sent.append(message)
        answer = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(inbox.Inbox, "send", send)
    return sent


def outcomes(delivery: Delivery) -> list[str]:
    return list(delivery.history.values_list("outcome", flat=True))


def test_a_delivery_is_sent_once_and_its_attempt_is_closed(channel: Channel) -> None:
    delivery = make_delivery(channel)
    try_once(delivery)
    assert (delivery.state, delivery.tries, delivery.lease_token) == ("delivered", 1, None)
    [attempt] = delivery.history.all()
    assert (attempt.outcome, attempt.number, attempt.worker) == ("delivered", 1, "worker")
    assert attempt.finished_at is not None


def test_a_message_is_neither_urgent_nor_repeated_nor_in_order_unless_it_is_recorded_so(channel: Channel) -> None:
    delivery = make_delivery(channel)
    one = delivery.notification
    assert (one.urgent, one.channel_order, one.advance_at, one.nagged, one.nag_at) == (False, [], None, 0, None)
    assert (one.category, one.data, one.hops, one.early, delivery.is_bulk) == ("", None, 0, None, False)


@pytest.mark.parametrize(
    ("origin", "provider", "link"),
    [
        ("schedule", "email", UNSUBSCRIBE),
        ("schedule", "inbox", None),
        ("topic", "inbox", LEAVE),
        ("announcement", "inbox", STOP),
    ],
)
def test_a_message_has_the_link_that_ends_what_sends_it(origin: str, provider: str, link: SignedLink | None) -> None:
    delivery = make_delivery(make_channel(make_user(), provider), origin=origin, origin_id=uuid7())
    ids = {UNSUBSCRIBE: delivery.channel_id, LEAVE: delivery.notification.origin_id, STOP: delivery.notification_id}
    assert taken(delivery.id).message.unsubscribe_url == (link.address(ids[link]) if link else "")


def test_a_settled_delivery_is_never_sent_again(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = answering(monkeypatch, Delivered())
    delivery = make_delivery(channel)
    for _ in range(4):
        try_once(delivery)
    assert len(sent) == 1


def test_one_statement_claims_and_one_settles(channel: Channel) -> None:
    delivery = make_delivery(channel)
    with CaptureQueriesContext(connection) as queries:
        send_now(delivery.id)
    assert len(queries) == 2


def test_a_failure_goes_back_to_pending_with_the_wait_of_the_policy(
    channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, Retryable(noted("The receiver answered 503.")))
    delivery = make_delivery(channel)
    assert try_once(delivery, random=0.125) == 7.5
    assert (delivery.state, delivery.reason) == ("pending", "The receiver answered 503.")
    wait = (delivery.available_at - timezone.now()).total_seconds()
    assert 6 < wait <= 7.5
    assert delivery.wake_at > delivery.available_at
    assert outcomes(delivery) == ["retryable"]


def test_the_same_key_goes_out_at_every_try(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = answering(monkeypatch, Retryable(noted("later")), Delivered())
    delivery = make_delivery(channel)
    try_once(delivery, random=0.0)
    try_once(delivery)
    assert [message.key for message in sent] == [delivery.id, delivery.id]
    assert delivery.state == "delivered"


def test_a_delivery_whose_tries_are_used_up_is_dead(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = answering(monkeypatch, Retryable(noted("The receiver answered 503.")))
    delivery = make_delivery(channel)
    for _ in range(9):
        try_once(delivery, random=0.0)
    assert (delivery.state, delivery.reason, len(sent)) == ("dead", "The receiver answered 503.", 5)


def test_a_rejected_delivery_is_dead_at_once(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, Rejected(noted("The address is gone.")))
    delivery = make_delivery(channel)
    assert try_once(delivery) is None
    assert (delivery.state, delivery.reason, outcomes(delivery)) == ("dead", "The address is gone.", ["rejected"])


def test_a_partial_failure_sends_nothing_again_that_succeeded(monkeypatch: pytest.MonkeyPatch) -> None:
    user = make_user()
    good, bad = make_channel(user), make_channel(user, "webhook", secrets={"secret": "broken"})
    delivered, dead = make_delivery(good), make_delivery(bad)
    try_once(delivered)
    try_once(dead)
    assert (delivered.state, dead.state) == ("delivered", "dead")
    assert manual.replay(Delivery, [delivered.id, dead.id]) == [dead.id]


HELD = "No answer came. It may have arrived; send it again?"


@pytest.mark.parametrize(
    ("choice", "state", "reason"),
    [("", "unknown", HELD), ("hold", "unknown", HELD), ("retry", "pending", "No answer came.")],
)
def test_an_ambiguous_end_is_held_unless_the_channel_chose_otherwise(
    channel: Channel, monkeypatch: pytest.MonkeyPatch, choice: str, state: str, reason: str
) -> None:
    monkeypatch.setattr(inbox.Inbox, "recognises_repeats", False)
    answering(monkeypatch, Ambiguous(noted("No answer came.")))
    channel.on_unknown = choice
    channel.save()
    delivery = make_delivery(channel)
    try_once(delivery)
    assert (delivery.state, delivery.reason) == (state, reason)


def test_a_provider_that_raises_settles_without_its_words(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox.Inbox, "recognises_repeats", False)
    answering(monkeypatch, RuntimeError("token=hunter2"))
    delivery = make_delivery(channel)
    try_once(delivery)
    assert delivery.state == "unknown"
    assert "RuntimeError" in delivery.reason
    assert "hunter2" not in delivery.reason


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"removed_at": timezone.now()}, "removed"),
        (
            {"disabled_at": timezone.now(), **disabled("gone")},
            "disabled: gone",
        ),
        ({"verified_at": None}, "not confirmed yet"),
    ],
)
def test_an_unusable_channel_gets_nothing_and_the_row_says_why(
    channel: Channel, monkeypatch: pytest.MonkeyPatch, fields: dict[str, object], reason: str
) -> None:
    sent = answering(monkeypatch, Delivered())
    delivery = make_delivery(channel)
    Channel.objects.filter(id=channel.id).update(**fields)
    try_once(delivery)
    assert (sent, delivery.state) == ([], "dead")
    assert reason in delivery.reason


@pytest.mark.parametrize("seconds", [15, 3600])
def test_a_long_wait_stays_in_the_table_and_is_woken_just_before_it_is_over(
    monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    channel = make_channel(make_user(), "webhook")
    monkeypatch.setattr(webhook.Webhook, "send", lambda *_: Retryable(noted("busy"), retry_after=seconds))
    delivery = make_delivery(channel)
    assert try_once(delivery) == pytest.approx(seconds * 1.05)
    assert delivery.state == "pending"
    assert delivery.available_at > timezone.now() + timedelta(seconds=seconds - 5)
    assert delivery.available_at - delivery.wake_at == timedelta(seconds=wakes.EARLY)


def test_a_worker_whose_lease_was_taken_over_writes_nothing(channel: Channel) -> None:
    delivery = make_delivery(channel)
    claim = taken(delivery.id, "slow")
    Delivery.objects.filter(id=delivery.id).update(lease_token=uuid4())
    assert settle(claim, "delivered") is False
    delivery.refresh_from_db()
    assert (delivery.state, outcomes(delivery)) == ("sending", [""])


@pytest.mark.parametrize(
    ("repeatable", "tries", "state"), [(True, 1, "pending"), (False, 1, "unknown"), (True, 5, "dead")]
)
def test_an_expired_lease_is_settled_by_the_rule_for_an_unknown_outcome(
    channel: Channel, monkeypatch: pytest.MonkeyPatch, repeatable: bool, tries: int, state: str
) -> None:
    monkeypatch.setattr(inbox.Inbox, "recognises_repeats", repeatable)
    delivery = make_delivery(channel, tries=tries - 1)
    taken(delivery.id, "dies")
    assert not any(rescue.rescue().values())  # the lease still holds
    Delivery.objects.filter(id=delivery.id).update(lease_until=timezone.now() - timedelta(hours=1))
    rescue.rescue()
    delivery.refresh_from_db()
    assert (delivery.state, outcomes(delivery)) == (state, ["lost"])


def test_what_is_stale_expires_and_is_not_sent(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = answering(monkeypatch, Delivered())
    delivery = make_delivery(channel, expires_at=timezone.now() - timedelta(seconds=1))
    try_once(delivery)
    assert (delivery.state, sent) == ("pending", [])
    assert rescue.rescue()["expired"] == 1
    delivery.refresh_from_db()
    assert delivery.state == "expired"


def test_rescue_publishes_what_nobody_claimed_with_growing_gaps(channel: Channel) -> None:
    delivery = make_delivery(channel)
    gaps = []
    for _ in range(7):
        Delivery.objects.filter(id=delivery.id).update(wake_at=NOON)
        assert wakes.take_due(DELIVERY, 10) == [wakes.Wake(DELIVERY.task, delivery.id, 0.0, channel.user_id)]
        delivery.refresh_from_db()
        gaps.append(round((delivery.wake_at - timezone.now()).total_seconds(), -1))  # a busy machine needs seconds
    assert gaps == [10, 20, 40, 80, 160, 300, 300]
    assert wakes.take_due(DELIVERY, 10) == []


def test_a_replay_tries_afresh_under_the_same_key(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = answering(monkeypatch, Rejected(noted("no")), Delivered())
    delivery = make_delivery(channel)
    try_once(delivery)
    assert manual.replay(Delivery, [delivery.id]) == [delivery.id]
    try_once(delivery)
    assert (delivery.state, delivery.replays, delivery.tries) == ("delivered", 1, 1)
    assert [message.key for message in sent] == [delivery.id] * 2
    assert list(delivery.history.values_list("replay", "number", "outcome")) == [
        (0, 1, "rejected"),
        (1, 1, "delivered"),
    ]


def test_a_discarded_dead_letter_says_why(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, Rejected(noted("no")))
    delivery, fine = make_delivery(channel), make_delivery(channel)
    try_once(delivery)
    assert manual.discard(Delivery, [delivery.id, fine.id], noted("The event has passed.")) == 1
    delivery.refresh_from_db()
    assert (delivery.state, delivery.reason) == ("cancelled", "The event has passed.")


@pytest.mark.parametrize(
    "fields",
    [
        {"state": "lost"},
        {"state": "sending"},
        {"state": "delivered"},
        {"lease_token": uuid4()},
        {"settled_at": timezone.now()},
    ],
)
def test_the_database_refuses_a_row_that_makes_no_sense(channel: Channel, fields: dict[str, object]) -> None:
    delivery = make_delivery(channel)
    with pytest.raises(IntegrityError), transaction.atomic():
        manual.lock_parents(Delivery, Delivery.objects.filter(id=delivery.id))
        Delivery.objects.filter(id=delivery.id).update(**fields)


@pytest.mark.django_db(transaction=True)
def test_eight_workers_at_once_send_a_delivery_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = answering(monkeypatch, Delivered())
    delivery = make_delivery(make_channel(make_user()))
    start = threading.Barrier(8)

    def work() -> None:
        try:
            start.wait()
            send_now(delivery.id)
        finally:
            connections.close_all()

    workers = [threading.Thread(target=work) for _ in range(8)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    assert len(sent) == Attempt.objects.count() == 1
