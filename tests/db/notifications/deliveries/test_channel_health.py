"""A channel that is gone, or on which nothing but failures came for days, is disabled; a success clears the record."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from demo.receivers import HTTPReceiver, Reply
from notifications import providers
from notifications.channels import changes
from notifications.deliveries.kind import DELIVERY
from notifications.messages.message import Delivered, Destination, Message, Rejected
from notifications.models import Attempt, Channel, Delivery
from notifications.providers import inbox, webhook
from people.models import User
from tests.db.notifications.conftest import state_after_a_try
from tests.make import NOON, make_channel, make_delivery, noted, send_now, settle, taken
from work.answers import Answer, Retryable
from work.engine import settlement
from work.engine.decision import decide

pytestmark = pytest.mark.django_db

TRIES = providers.get("webhook").policy.tries


def failing_for(channel: Channel, length: timedelta) -> None:
    Channel.objects.filter(id=channel.id).update(failing_since=timezone.now() - length)


def test_410_disables_the_channel_at_once_with_the_reason(hook: Channel, receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(410)
    assert state_after_a_try(make_delivery(hook)) == "dead"
    hook.refresh_from_db()
    assert hook.disabled_at is not None
    assert hook.disabled_reason.startswith("Its service says that it is gone. The receiver answered 410 Gone")
    assert state_after_a_try(make_delivery(hook)) == "dead"
    assert len(receiver.requests) == 1


def test_the_first_failure_starts_the_record_and_the_next_leave_it(hook: Channel, receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(500)
    assert state_after_a_try(make_delivery(hook)) == "pending"
    hook.refresh_from_db()
    began = hook.failing_since
    assert began is not None
    receiver.answer = Reply(404)
    assert state_after_a_try(make_delivery(hook)) == "dead"
    hook.refresh_from_db()
    assert (hook.failing_since, hook.disabled_at) == (began, None)


@pytest.mark.parametrize(
    ("days", "status", "tries", "state", "reason"),
    [
        (4.99, 404, 0, "dead", ""),
        (5.01, 404, 0, "dead", "Nothing has arrived for 5 days. The receiver answered 404 Not Found."),
        (6, 503, TRIES - 1, "dead", "Nothing has arrived for 5 days. The receiver answered 503 Service Unavailable."),
        (30, 200, 0, "delivered", ""),
    ],
)
def test_five_days_of_nothing_but_failures_disable_it_and_a_success_clears_the_record(
    hook: Channel, receiver: HTTPReceiver, days: float, status: int, tries: int, state: str, reason: str
) -> None:
    failing_for(hook, timedelta(days=days))
    receiver.answer = Reply(status)
    assert state_after_a_try(make_delivery(hook, tries=tries)) == state
    hook.refresh_from_db()
    assert (hook.disabled_at is not None, hook.disabled_reason) == (reason != "", reason)
    assert (hook.failing_since is None) is (state == "delivered")


def test_a_try_that_will_be_repeated_disables_nothing_yet(hook: Channel, receiver: HTTPReceiver) -> None:
    """A monthly reminder whose first try fails, a month after the last one did, may still arrive at the second."""
    failing_for(hook, timedelta(days=30))
    receiver.answers.append(Reply(503))
    delivery = make_delivery(hook)
    assert state_after_a_try(delivery) == "pending"
    Delivery.objects.update(available_at=NOON)
    assert state_after_a_try(delivery) == "delivered"
    hook.refresh_from_db()
    assert (hook.failing_since, hook.disabled_at) == (None, None)


@pytest.mark.parametrize("first", [0, 1])
def test_of_tries_that_end_at_the_same_moment_a_success_clears_the_record_and_gone_is_the_reason(
    hook: Channel, first: int
) -> None:
    failing_for(hook, timedelta(days=30))
    settle_at_once(hook, [Delivered(), Retryable(noted("Not now."))], first)
    hook.refresh_from_db()
    assert (hook.failing_since, hook.disabled_at) == (None, None)
    failing_for(hook, timedelta(days=30))
    settle_at_once(hook, [Rejected(noted("410 Gone"), gone=True), Rejected(noted("404"))], first)
    hook.refresh_from_db()
    assert hook.disabled_reason.startswith("Its service says that it is gone.")


def settle_at_once(channel: Channel, answers: list[Answer], first: int) -> None:
    """As threads do that settle together; `first`: which of them comes first."""
    rows = []
    for answer in [*answers[first:], *answers[:first]]:
        claim = taken(make_delivery(channel).id)
        decision = decide(DELIVERY, claim, answer, 0.5)
        follow = DELIVERY.follow_row(claim, answer, decision.state)
        rows.append(settlement.settlement(DELIVERY, claim, decision, follow))
    assert settlement.write(DELIVERY, rows) == len(rows)


def test_what_keeps_us_from_asking_is_not_held_against_the_channel(hook: Channel, receiver: HTTPReceiver) -> None:
    changes.disable([hook.id], "By an operator.")
    assert state_after_a_try(make_delivery(hook)) == "dead"
    changes.enable([hook.id])
    Channel.objects.filter(id=hook.id).update(sealed_secrets="written under a key that is not here")
    assert state_after_a_try(make_delivery(hook)) == "pending"
    hook.refresh_from_db()
    assert (hook.failing_since, hook.disabled_at) == (None, None)
    assert receiver.requests == []


@pytest.mark.parametrize("failing", [True, False])
@pytest.mark.parametrize(
    ("on_unknown", "tries", "state"), [("hold", 0, "unknown"), ("retry", 0, "pending"), ("retry", 6, "dead")]
)
def test_a_providers_bug_is_not_held_against_the_channel(
    hook: Channel, monkeypatch: pytest.MonkeyPatch, on_unknown: str, tries: int, state: str, failing: bool
) -> None:
    if failing:
        failing_for(hook, timedelta(days=6))
    Channel.objects.filter(id=hook.id).update(on_unknown=on_unknown)
    monkeypatch.setattr(webhook.Webhook, "send", lambda *_: 1 / 0)
    before = Channel.objects.values_list("failing_since", flat=True).get(id=hook.id)
    assert state_after_a_try(make_delivery(hook, tries=tries)) == state
    hook.refresh_from_db()
    assert (hook.failing_since, hook.disabled_at) == (before, None)


def test_an_operators_reason_is_not_overwritten(hook: Channel, receiver: HTTPReceiver) -> None:
    claim = taken(make_delivery(hook).id)
    changes.disable([hook.id], "By an operator.")
    settle(claim, "dead", Rejected(noted("410 Gone"), gone=True))
    hook.refresh_from_db()
    assert hook.disabled_reason == "By an operator."


def test_enabling_begins_anew(hook: Channel, receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(410)
    state_after_a_try(make_delivery(hook))
    changes.enable([hook.id])
    hook.refresh_from_db()
    assert (hook.failing_since, hook.disabled_at, hook.disabled_reason) == (None, None, "")


def test_a_late_writer_says_nothing_about_the_channel(hook: Channel) -> None:
    claim = taken(make_delivery(hook).id)
    Delivery.objects.update(state="pending", lease_token=None, lease_until=None)
    assert not settle(claim, "dead", Rejected(noted("410 Gone"), gone=True))
    hook.refresh_from_db()
    assert (hook.failing_since, hook.disabled_at) == (None, None)


def test_a_delivery_costs_two_statements_whatever_the_channels_record(ada: User) -> None:
    box = make_channel(ada)
    for length in (None, timedelta(days=1)):
        if length is not None:
            failing_for(box, length)
        delivery = make_delivery(box)
        with CaptureQueriesContext(connection) as captured:
            send_now(delivery.id)
        assert len(captured) == 2
        assert ("notifications_channel c\n       SET failing_since" in captured[1]["sql"]) is (length is not None)


def answering_after(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object], answer: Answer) -> None:
    def send(self: object, message: Message, destination: Destination) -> Answer:
        act()
        return answer

    monkeypatch.setattr(inbox.Inbox, "send", send)


@pytest.mark.parametrize(
    ("answer", "state"), [(Rejected(noted("Gone."), gone=True), "dead"), (Retryable(noted("Not now.")), "pending")]
)
def test_a_channel_removed_while_its_delivery_is_being_sent(
    ada: User, monkeypatch: pytest.MonkeyPatch, answer: Answer, state: str
) -> None:
    box, other = make_channel(ada), make_channel(ada, "webhook")
    delivery, beside = make_delivery(box), make_delivery(other)
    answering_after(monkeypatch, lambda: changes.remove(box), answer)
    assert state_after_a_try(delivery) == state
    Delivery.objects.filter(id=delivery.id).update(available_at=NOON)
    state_after_a_try(delivery)
    assert (delivery.state, delivery.reason) == (
        "dead",
        "The channel was removed." if state == "pending" else "Gone.",
    )
    beside.refresh_from_db()
    assert beside.state == "pending"


def test_a_row_deleted_while_it_is_being_sent_harms_nobody(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    box = make_channel(ada)
    delivery = make_delivery(box)
    answering_after(monkeypatch, box.delete, Rejected(noted("Gone."), gone=True))
    send_now(delivery.id)
    assert not Delivery.objects.exists()
    assert not Attempt.objects.exists()
