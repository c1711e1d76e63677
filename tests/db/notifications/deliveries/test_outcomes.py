"""The outcome of a notification follows from its deliveries, also when several end at once."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import transaction

from common.uuid7 import uuid7
from notifications.channels import changes
from notifications.deliveries import acknowledge, fallback, outbox, withdrawal
from notifications.deliveries.kind import DELIVERY, DeliveryClaim
from notifications.messages.message import Rejected
from notifications.models import Attempt, Channel, Delivery, Notification
from notifications.reasons import DeliveryCode
from tests.db.locks import locked, wait_for_a_lock
from tests.db.notifications.dead_letters.test_races import together
from tests.make import NOON, deliver_first, make_channel, make_fired, make_user, noted, settle, take, taken
from work import dead_letters
from work.dead_letters import Which, Who
from work.engine import manual, recovery

OPERATOR = Who(None, "operator")


def make_notification(count: int = 3, **fields: Any) -> Notification:
    """One that goes to `count` channels, all of them pending."""
    user = make_user()
    to = [make_channel(user, "webhook", label=f"Hook {number}") for number in range(1, count + 1)]
    batch_id = uuid7()
    saying: dict[str, Any] = {
        "user_id": user.id,
        "channels": [(channel.id, channel.provider) for channel in to],
        "subject": "Water the plants",
        "body": "All of them.",
        "origin": Notification.Origin.SCHEDULE,
        "batch_id": batch_id,
    }
    outbox.record([outbox.NewNotification(**(saying | fields))])
    return Notification.objects.get(batch_id=batch_id)


def end(delivery: Delivery, state: str) -> None:
    """End a pending delivery by the verb that leads to `state`."""
    match state:
        case "delivered":
            assert settle(taken(delivery.id), "delivered")
        case "dead":
            assert settle(taken(delivery.id), "dead", "404")
        case "unknown":
            assert settle(taken(delivery.id), "unknown", "No answer came.")
        case "cancelled":
            assert manual.cancel(Delivery, [delivery.id], noted("Not wanted."))
        case "expired":
            Delivery.objects.filter(id=delivery.id).update(expires_at=NOON)
            assert recovery.expire(DELIVERY, 10)


def ended(*states: str) -> Notification:
    notification = make_notification(len(states))
    for delivery, state in zip(notification.deliveries.order_by("id"), states, strict=True):
        end(delivery, state)
    return notification


def outcome(notification: Notification) -> str:
    return Notification.objects.values_list("outcome", flat=True).get(id=notification.id)


OUTCOMES = [
    ("delivered delivered", "full"),
    ("delivered pending", "open"),
    ("dead pending", "open"),
    ("delivered dead", "partial"),
    ("delivered unknown delivered", "partial"),
    ("delivered expired", "partial"),
    ("dead delivered", "partial"),
    ("dead unknown", "failed"),
    ("dead expired cancelled", "failed"),
    ("cancelled cancelled", "dropped"),
    ("expired cancelled", "dropped"),
    ("delivered cancelled", "full"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("states", "expected"), OUTCOMES)
def test_the_outcome_follows_from_the_states_of_all_deliveries(states: str, expected: str) -> None:
    assert outcome(ended(*states.split())) == expected


@pytest.mark.django_db
def test_a_try_that_will_be_repeated_leaves_it_open() -> None:
    notification = make_notification(1)
    claim = taken(notification.deliveries.get().id)
    assert outcome(notification) == "open"
    settle(claim, "pending", "503", wait=5.0)
    assert outcome(notification) == "open"


@pytest.mark.django_db
def test_what_a_dead_worker_left_counts_once_its_lease_has_expired() -> None:
    notification = make_notification(2)
    first, second = notification.deliveries.order_by("id")
    end(first, "delivered")
    Channel.objects.update(on_unknown="hold")
    taken(second.id)
    Delivery.objects.filter(id=second.id).update(lease_until=NOON)
    assert recovery.recover(DELIVERY, 10)["held"] == 1
    assert outcome(notification) == "partial"


@pytest.mark.django_db
def test_a_dead_letter_that_is_sent_again_opens_it_and_its_success_makes_it_full() -> None:
    notification = ended("delivered", "dead")
    [letter] = dead_letters.replay(Which(DELIVERY).rows(), "all", OPERATOR).changed
    assert outcome(notification) == "open"
    end(Delivery.objects.get(id=letter), "delivered")
    assert outcome(notification) == "full"


@pytest.mark.django_db
@pytest.mark.parametrize(("others", "expected"), [("delivered", "full"), ("dead", "failed"), ("cancelled", "dropped")])
def test_a_dead_letter_that_is_discarded_counts_no_more(others: str, expected: str) -> None:
    notification = ended(others, "unknown")
    dead_letters.discard(Which(DELIVERY).rows().filter(state="unknown"), "all", OPERATOR, "Old.")
    assert outcome(notification) == expected


@pytest.mark.django_db
def test_in_order_one_that_arrived_is_enough_and_each_next_channel_opens_it_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notification, _ = make_fired()
    first = notification.deliveries.get()
    end(first, "dead")
    assert outcome(notification) == "failed"
    assert fallback.advance() == 1
    assert outcome(notification) == "open"
    end(notification.deliveries.get(state="pending"), "delivered")
    assert outcome(notification) == "full"


@pytest.mark.django_db
def test_in_order_it_has_failed_when_every_channel_has() -> None:
    notification, order = make_fired()
    for _ in order:
        end(notification.deliveries.get(state="pending"), "dead")
        fallback.advance()
    assert outcome(notification) == "failed"
    assert notification.deliveries.count() == 3


@pytest.mark.django_db
def test_in_order_an_acknowledgement_that_cancels_the_next_channel_is_no_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notification, _ = make_fired(escalate_after=10)
    deliver_first(notification, monkeypatch)
    Notification.objects.filter(id=notification.id).update(advance_at=NOON)
    assert fallback.advance() == 1
    assert outcome(notification) == "open"
    acknowledge.acknowledge(notification.id)
    assert outcome(notification) == "full"


@pytest.mark.django_db(transaction=True)
def test_of_two_that_settle_at_once_the_second_counts_what_the_first_has_committed() -> None:
    """The second waits for the first; were both to count before either commits, it would stay open for ever."""
    notification = make_notification(2)
    one, other = [taken(delivery.id) for delivery in notification.deliveries.order_by("id")]
    settled = threading.Event()

    def first() -> None:
        with transaction.atomic():
            settle(one, "delivered")
            settled.set()
            wait_for_a_lock()

    def second() -> None:
        assert settled.wait(60)
        settle(other, "dead", "404")

    together(first, second)
    assert outcome(notification) == "partial"


@pytest.mark.django_db(transaction=True)
def test_a_pause_at_the_moment_of_a_claim_leaves_what_is_being_sent_alone() -> None:
    origin_id = uuid7()
    notification = make_notification(1, origin_id=origin_id)
    claimed = threading.Event()

    def send() -> None:
        with transaction.atomic():
            taken(notification.deliveries.get().id)
            claimed.set()
            wait_for_a_lock()

    def pause() -> int:
        assert claimed.wait(60)
        return withdrawal.drop(Notification.objects.filter(origin_id=origin_id), DeliveryCode.PAUSED)

    _, cancelled = together(send, pause)
    assert cancelled == 0
    assert notification.deliveries.get().state == "sending"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("locked_first", ["notifications_channel", "notifications_notification"])
def test_a_settlement_locks_its_delivery_last(locked_first: str) -> None:
    """As a withdrawal does, so that neither holds what the other waits for."""
    delivery = make_notification(1).deliveries.get()
    claim, is_locked = taken(delivery.id), threading.Event()
    keys = {"notifications_channel": delivery.channel_id, "notifications_notification": delivery.notification_id}

    def wait() -> None:
        assert is_locked.wait(60)
        settle(claim, "dead", Rejected(noted("404"), gone=True))

    def hold() -> bool:
        with locked(locked_first, keys[locked_first]) as other:
            is_locked.set()
            wait_for_a_lock()
            other.execute("SELECT FROM notifications_delivery FOR NO KEY UPDATE NOWAIT")
        return True

    assert together(wait, hold) == [None, True]
    assert Delivery.objects.values_list("state", flat=True).get() == "dead"


@pytest.mark.django_db(transaction=True)
def test_a_damaged_delivery_whose_notification_is_locked_ends_at_its_next_claim() -> None:
    delivery = make_notification(1).deliveries.get()
    Attempt.objects.create(delivery=delivery, replay=0, number=1, token=uuid7(), started_at=NOON)
    with locked("notifications_notification", delivery.notification_id):
        assert take(delivery.id) is None
    delivery.refresh_from_db()
    assert delivery.state == "pending"
    assert take(delivery.id) is None
    delivery.refresh_from_db()
    assert (delivery.state, delivery.reason_code) == ("dead", "damaged-row")


@pytest.mark.django_db(transaction=True)
def test_in_a_hundred_races_no_outcome_is_wrong() -> None:
    for expected, verbs in [
        ("full", [lambda claim: settle(claim, "delivered")] * 3),
        ("failed", [lambda claim: settle(claim, "dead", "404")] * 3),
        ("partial", [lambda claim: settle(claim, "delivered"), lambda claim: settle(claim, "unknown", "?")]),
    ]:
        notifications = [make_notification(len(verbs)) for _ in range(35)]
        rows = [[taken(delivery.id) for delivery in one.deliveries.order_by("id")] for one in notifications]

        def run(place: int, verb: Any, claims: list[list[DeliveryClaim]] = rows) -> None:
            for row in claims:
                verb(row[place])

        together(*[lambda place=place, verb=verb: run(place, verb) for place, verb in enumerate(verbs)])  # type: ignore[misc]
        assert {outcome(one) for one in notifications} == {expected}


@pytest.mark.django_db(transaction=True)
def test_people_workers_and_rescue_at_once_neither_deadlock_nor_leave_a_wrong_outcome() -> None:
    """Many notifications with the same three channels, ended from all sides, some as single rows, some as batches."""
    user = make_user()
    to = [make_channel(user, "webhook", label=f"Hook {number}") for number in range(3)]
    pairs = [(channel.id, channel.provider) for channel in to]
    origin_id = uuid7()
    outbox.record(
        outbox.NewNotification(
            user_id=user.id,
            channels=pairs,
            subject=f"{number}",
            body="",
            origin=Notification.Origin.SCHEDULE,
            batch_id=uuid7(),
            origin_id=origin_id,
        )
        for number in range(60)
    )
    rows = list(Delivery.objects.order_by("id"))
    for delivery in rows[::4]:
        settle(taken(delivery.id), "dead", "404")
    Delivery.objects.filter(id__in=[row.id for row in rows[1::4]]).update(expires_at=NOON)
    failures: list[BaseException] = []

    def guarded(act: Any) -> Any:
        def run() -> None:
            try:
                act()
            except BaseException as error:
                failures.append(error)

        return run

    def work() -> None:
        for delivery in rows[2::4]:
            if claim := take(delivery.id, "worker"):
                settle(claim, "delivered")

    def answer() -> None:
        for notification in reversed(Notification.objects.order_by("id")):
            acknowledge.acknowledge(notification.id)

    together(
        guarded(work),
        guarded(lambda: [recovery.expire(DELIVERY, 7) for _ in range(20)]),
        guarded(answer),
        guarded(lambda: dead_letters.replay(Which(DELIVERY).rows(), "all", OPERATOR)),
        guarded(lambda: withdrawal.drop(Notification.objects.filter(origin_id=origin_id), DeliveryCode.PAUSED)),
        guarded(lambda: changes.remove(to[2])),
    )
    assert failures == []
    for notification in Notification.objects.prefetch_related("deliveries"):
        assert notification.outcome == expected_of([row.state for row in notification.deliveries.all()])


def expected_of(states: list[str]) -> str:
    """The outcome with all channels at once, said a second time."""
    found = set(states)
    if found & {"pending", "sending"}:
        return "open"
    if "delivered" in found:
        return "partial" if found & {"dead", "unknown", "expired"} else "full"
    return "failed" if found & {"dead", "unknown"} else "dropped"
