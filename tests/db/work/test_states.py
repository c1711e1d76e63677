"""No delivery moves but along an edge, whoever writes: the verbs, the triggers and the diagram say the same edges."""

from __future__ import annotations

import inspect
import re
import time
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from common.database import postgres
from notifications.deliveries import withdrawal
from notifications.deliveries.kind import DELIVERY
from notifications.models import Attempt, Channel, Delivery
from notifications.providers import webhook
from tests.db.locks import impatient, locked
from tests.make import NOON, drop_check, make_channel, make_delivery, make_user, send_now, settle, take, taken
from work.engine import claim as claiming, manual, recovery, settlement

pytestmark = pytest.mark.django_db

Edge = tuple[str, str]
STATES = [str(state) for state in Delivery.State]


@pytest.fixture
def channel() -> Channel:
    return make_channel(make_user())


def fields_of(state: str) -> dict[str, object]:
    """What the CHECK constraints want beside the state, so that only the edge can be refused."""
    sender = state == "sending"
    return {
        "state": state,
        "lease_token": uuid4() if sender else None,
        "lease_until": NOON if sender else None,
        "settled_at": None if state in {"pending", "sending"} else NOON,
        "cause": "inbox-lost" if state in {"dead", "unknown"} else "",
    }


def permitted_by_the_database(channel: Channel) -> set[Edge]:
    edges = set()
    for before in STATES:
        delivery = make_delivery(channel, **fields_of(before))
        for after in STATES:
            try:
                with transaction.atomic():
                    manual.lock_parents(Delivery, Delivery.objects.filter(id=delivery.id))
                    Delivery.objects.filter(id=delivery.id).update(**fields_of(after))
                    if before != after:
                        edges.add((before, after))
                    transaction.set_rollback(True)
            except IntegrityError:
                pass
    return edges


def edges_of_the_verbs() -> set[Edge]:
    edges = set()
    words = {"working": "sending", "done": "delivered"}
    for module in (claiming, settlement, recovery, manual, withdrawal):
        for _, verb in inspect.getmembers(module, inspect.isfunction):
            said = re.match(r"([a-z, ]+) -> ([a-z, ]+?)(:| for )", inspect.getdoc(verb) or "")
            if said:
                before, after = ([words.get(state, state) for state in part.split(", ")] for part in said.group(1, 2))
                edges |= {(a, b) for a in before for b in after}
    return edges


def drawn_edges() -> set[Edge]:
    page = Path(__file__).parents[3] / "docs" / "life-of-a-delivery.md"
    drawn = set(re.findall(r"^ +([a-z]+|\[\*\]) --> ([a-z]+) : [A-Z]$", page.read_text(), re.MULTILINE))
    assert ("[*]", "pending") in drawn
    return drawn - {("[*]", "pending")}


def test_the_database_the_verbs_and_the_diagram_agree_on_every_edge(channel: Channel) -> None:
    assert permitted_by_the_database(channel) == edges_of_the_verbs() == drawn_edges()
    assert len(drawn_edges()) == 11


def test_a_delivery_begins_as_pending(channel: Channel) -> None:
    other = make_delivery(channel)
    with pytest.raises(IntegrityError, match="begins as pending, not as delivered"):
        Delivery.objects.create(
            notification=other.notification,
            channel=make_channel(make_user()),
            provider="inbox",
            **fields_of("delivered"),
        )


def test_a_row_edited_by_hand_into_nonsense_is_refused_with_words(channel: Channel) -> None:
    delivery = make_delivery(channel, state="delivered")
    with connection.cursor() as cursor, pytest.raises(IntegrityError, match="does not go from delivered to pending"):
        cursor.execute(
            "UPDATE notifications_delivery SET state = 'pending', settled_at = NULL WHERE id = %s", [delivery.id]
        )


@pytest.mark.parametrize(
    "nonsense", ["tries = 0", "replays = 0, tries = 0", "wake_at = 'infinity'", "created_at = '-infinity'"]
)
def test_counts_do_not_fall_and_instants_are_of_this_world(channel: Channel, nonsense: str) -> None:
    delivery = make_delivery(channel, tries=3, replays=1)
    with connection.cursor() as cursor, pytest.raises(IntegrityError):
        cursor.execute(f"UPDATE notifications_delivery SET {nonsense} WHERE id = %s", [delivery.id])  # noqa: S608


@pytest.mark.parametrize(
    "change",
    ["outcome = 'lost'", "reason_code = 'note'", "finished_at = now()", "number = 2", "finished_at = NULL"],
)
def test_a_closed_attempt_never_changes(channel: Channel, change: str) -> None:
    attempt = closed_attempt(channel)
    with connection.cursor() as cursor, pytest.raises(IntegrityError, match="closed once"):
        cursor.execute(f"UPDATE notifications_attempt SET {change} WHERE id = %s", [attempt.id])  # noqa: S608


def test_an_open_attempt_changes_only_by_being_closed(channel: Channel) -> None:
    delivery = make_delivery(channel)
    take(delivery.id, "worker")
    with pytest.raises(IntegrityError, match="closed once"):
        delivery.history.update(worker="somebody else")


@pytest.mark.django_db(transaction=True)
def test_an_attempt_is_kept_for_as_long_as_its_delivery() -> None:
    attempt = closed_attempt(make_channel(make_user()))
    with pytest.raises(IntegrityError, match="kept for as long as its work"):
        Attempt.objects.filter(id=attempt.id).delete()
    attempt.delivery.notification.user.delete()
    assert not Attempt.objects.exists()


def closed_attempt(channel: Channel) -> Attempt:
    claim = taken(make_delivery(channel).id)
    settle(claim, "delivered")
    return Attempt.objects.get(delivery_id=claim.id)


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("provider", "pigeon", "no provider of the kind “pigeon”"),
        ("available_at", timezone.now().replace(year=2020), ""),
    ],
)
def test_a_strange_row_ends_with_a_reason_or_is_simply_sent(
    channel: Channel, column: str, value: object, reason: str
) -> None:
    delivery = make_delivery(channel, **{column: value})
    send_now(delivery.id)
    delivery.refresh_from_db()
    assert delivery.state == ("dead" if reason else "delivered")
    assert reason in delivery.reason


def test_a_channel_whose_address_was_damaged_ends_its_deliveries_with_a_reason(channel: Channel) -> None:
    delivery = make_delivery(channel)
    drop_check("notifications_channel", "channel_readable_address")
    Channel.objects.filter(id=channel.id).update(address=["not", "an", "object"])
    send_now(delivery.id)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.reason_code) == ("dead", "damaged")


def test_a_payload_that_cannot_be_rendered_ends_alone_and_says_that_the_channel_is_not_to_blame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hook, box = make_channel(make_user(), "webhook", on_unknown="hold"), make_channel(make_user())
    poisoned, fine = make_delivery(hook), make_delivery(box)
    monkeypatch.setattr(webhook.Webhook, "document", lambda *_: {"data": object()})
    for delivery in (poisoned, fine):
        send_now(delivery.id)
        delivery.refresh_from_db()
    assert (poisoned.state, fine.state) == ("unknown", "delivered")
    assert poisoned.reason == (
        "Carillon itself failed in the middle of it (webhook: TypeError). It may have arrived; send it again?"
    )


@pytest.mark.parametrize("jump", [timedelta(days=-400), timedelta(days=400)])
def test_a_workers_clock_that_jumps_moves_no_lease_and_no_due(
    channel: Channel, monkeypatch: pytest.MonkeyPatch, jump: timedelta
) -> None:
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + jump.total_seconds())
    delivery, later = make_delivery(channel), make_delivery(channel, available_at=NOON.replace(year=2090))
    claim = taken(delivery.id)
    assert take(later.id, "worker") is None
    with connection.cursor() as cursor:
        cursor.execute("SELECT lease_until - now() FROM notifications_delivery WHERE state = 'sending'")
        [left] = cursor.fetchone()
    assert left <= timedelta(seconds=claiming.LEASE)
    assert settle(claim, "delivered")
    attempt = delivery.history.get()
    assert attempt.finished_at is not None
    assert attempt.finished_at - attempt.started_at < timedelta(minutes=1)


@pytest.mark.django_db(transaction=True)
def test_a_locked_row_delays_no_other_claim_of_the_same_statement(channel: Channel) -> None:
    mine, other = make_delivery(channel, expires_at=timezone.now() + timedelta(minutes=5)), make_delivery(channel)
    values = claiming._values([(row.id, uuid4(), "worker") for row in (other, mine)])
    with locked("notifications_delivery", other.id), impatient():
        claimed = postgres.execute(DELIVERY.sql(claiming._CLAIM_MANY), values).fetchall()
    assert [row.id for row in claimed] == [mine.id]
