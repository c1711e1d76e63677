"""Carillon's own events: changes of states for which somebody has a rule."""

from __future__ import annotations

import json
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from events.intake import ledger
from events.kinds.digest import DIGEST
from events.kinds.event import EVENT
from events.models import Digest, Event, Rule
from events.pure import types
from events.pure.envelope import Envelope
from events.reasons import EventCode
from notifications.channels import changes
from notifications.deliveries import outbox
from notifications.deliveries.kind import DELIVERY
from notifications.models import Change, Channel, Delivery, FeedPosition, Follower, Notification
from people import tokens
from people.models import User
from schedules.firing import fire
from schedules.models import Schedule
from tests.make import (
    NINE,
    NOON,
    make_channel,
    make_delivery,
    make_rule,
    make_schedule,
    make_user,
    send_now,
    settle,
    take,
    taken,
)
from work.engine import manual, recovery, runner

pytestmark = pytest.mark.django_db(transaction=True)


def follow(user: User, pattern: str, **overrides: Any) -> Rule:
    return make_rule(
        user,
        **{"type_pattern": pattern, "conditions": [], "title": "{type}", "body": "", "channels": [inbox(user)]}
        | overrides,
    )


def inbox(user: User) -> Channel:
    return Channel.objects.filter(user=user, provider="inbox").first() or make_channel(user)


def finish(user: User, state: str = "delivered", **overrides: Any) -> Delivery:
    delivery = make_delivery(make_channel(user, "email"), **overrides)
    settle_as(delivery.id, state)
    return delivery


def settle_as(delivery_id: UUID, state: str) -> None:
    claim = take(delivery_id)
    assert claim is not None
    settle(claim, state)


def record_until_current() -> None:
    """Record what has changed so far; a transaction of another test may hold it back."""
    last, deadline = Change.objects.order_by("xact", "id").last(), time.monotonic() + 60
    while last is not None and time.monotonic() < deadline:
        ledger.record_changes()
        position = FeedPosition.objects.get(reader="events")
        if (position.xact, position.change_id) >= (last.xact, last.id):
            return
    assert last is None, "the changes were held back"


def recorded(user: User) -> list[str]:
    record_until_current()
    return sorted(Event.objects.filter(user=user).values_list("type", flat=True))


def handle_all() -> None:
    for event_id in Event.objects.filter(state="pending").order_by("id").values_list("id", flat=True):
        runner.run(EVENT, event_id, "worker")


def test_a_change_becomes_an_event_of_its_person_where_a_rule_is_for_it(ada: User) -> None:
    follow(ada, "delivery.dead")
    bob = make_user()
    follow(bob, "delivery.*")
    delivery = finish(ada, "dead")
    finish(ada)
    finish(bob)
    finish(make_user(), "dead")
    assert recorded(ada) == ["delivery.dead"]
    assert recorded(bob) == ["delivery.delivered"]
    event = Event.objects.get(user=ada)
    change = Change.objects.get(type="delivery.dead")
    assert (event.source, event.data, event.occurred_at) == ("carillon", change.data, change.at)
    assert event.chain == str(delivery.notification.batch_id)
    assert event.hops == 0
    handle_all()
    assert Notification.objects.get(user=ada, origin="event").subject == "delivery.dead"


def test_each_change_is_one_event_however_often_and_by_how_many_it_is_read(ada: User) -> None:
    follow(ada, "delivery.*")
    for _ in range(30):
        finish(ada)

    def record(_: int) -> None:
        ledger.record_changes()
        connection.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(record, range(12)))
    record_until_current()
    FeedPosition.objects.filter(reader="events").update(xact=2**62)  # that of another database
    record_until_current()
    ledger.record_changes()
    assert recorded(ada) == ["delivery.delivered"] * 30


def test_the_number_of_statements_does_not_grow_with_the_changes(ada: User) -> None:
    follow(ada, "delivery.*")
    counts = []
    for changes_made in (1, 20):
        for _ in range(changes_made):
            finish(ada)
        before = Event.objects.count()
        while Event.objects.count() == before:  # a transaction of another test may hold them back
            with CaptureQueriesContext(connection) as captured:
                ledger.record_changes()
        counts.append(len([one for one in captured.captured_queries if "_" in one["sql"].partition("SAVEPOINT")[0]]))
    # The position (made, taken, moved), the changes, their hops, the events.
    assert counts == [6, 6]


def test_a_chunk_that_dies_before_its_commit_is_recorded_by_the_next(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow(ada, "delivery.*")
    finish(ada)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying, pytest.raises(KeyboardInterrupt):
        dying.setattr(ledger, "publish_after_commit", die)
        while True:  # until another test's transaction no longer holds the change back
            ledger.record_changes()
    assert not Event.objects.exists()
    assert recorded(ada) == ["delivery.delivered"]


def test_a_change_that_commits_late_is_recorded_too(ada: User) -> None:
    follow(ada, "delivery.*")
    begun, go_on = threading.Event(), threading.Event()
    claim = taken(make_delivery(make_channel(ada, "email")).id)

    def commit_late() -> None:
        with transaction.atomic():
            settle(claim, "delivered")
            begun.set()
            go_on.wait(60)
        connection.close()

    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(commit_late)
        begun.wait(60)
        finish(ada)
        ledger.record_changes()
        assert not Event.objects.exists()
        go_on.set()
        late.result()
    assert recorded(ada) == ["delivery.delivered"] * 2


def test_all_that_carillon_emits_fits_its_schema(ada: User) -> None:
    follow(ada, "delivery.*")
    follow(ada, "notification.*")
    follow(ada, "schedule.*")
    follow(ada, "channel.*")
    for state in ("delivered", "unknown"):
        finish(ada, state)
    manual.replay(Delivery, [finish(ada, "dead").id])
    email, hook = make_channel(ada, "email"), make_channel(ada, "webhook")
    both = [(email.id, "email"), (hook.id, "webhook")]
    in_part = outbox.record(
        [
            outbox.NewNotification(
                user_id=ada.pk, channels=both, subject="", body="", origin=Notification.Origin.API, batch_id=uuid4()
            )
        ]
    )
    for wake, state in zip(in_part, ("delivered", "dead"), strict=True):
        settle_as(wake.id, state)
    late = make_delivery(email)
    Delivery.objects.filter(id=late.id).update(expires_at=NOON)
    recovery.expire(DELIVERY, 10)
    changes.disable([email.id], "Too many complaints.")
    make_schedule(ada, [inbox(ada)])
    broken = make_schedule(ada, [inbox(ada)])
    Schedule.objects.filter(id=broken.id).update(rule={"time": "nine"})
    fire.fire_due(NINE)
    assert set(recorded(ada)) == set(types.FROM_CHANGES)
    handle_all()
    assert set(Event.objects.values_list("state", "hops")) == {("handled", 0)}


def test_what_does_not_fit_its_schema_does_not_go_out_and_stops_nothing_else(
    ada: User, caplog: pytest.LogCaptureFixture
) -> None:
    follow(ada, "channel.*")
    follow(ada, "delivery.*")
    for data in ("[]", "3", '{"channel_id": 3}', '{"notification_id": [], "correlation_id": "none"}'):
        finish(ada, "dead")
        change = Change.objects.order_by("xact", "id").filter(type="delivery.dead").last()
        assert change is not None
        Change.objects.filter(xact=change.xact, id=change.id).update(data=json.loads(data))
    finish(ada)
    with caplog.at_level(logging.ERROR, logger="events.intake.ledger"):
        assert recorded(ada) == ["delivery.delivered"]
    assert len(caplog.records) == 4


def test_a_rule_on_what_it_causes_does_not_ring_for_ever(ada: User) -> None:
    follow(ada, "notification.full")
    finish(ada)
    for _ in range(settings.MOST_HOPS + 3):
        record_until_current()
        handle_all()
        for delivery_id in Delivery.objects.filter(state="pending").values_list("id", flat=True):
            send_now(delivery_id)
    found = Event.objects.order_by("hops")
    assert [(one.hops, one.state) for one in found] == [
        *((hops, "handled") for hops in range(settings.MOST_HOPS + 1)),
        (settings.MOST_HOPS + 1, "cancelled"),
    ]
    assert found[settings.MOST_HOPS + 1].reason_code == EventCode.TOO_MANY_HOPS
    assert len(set(found.values_list("correlation_id", flat=True))) == 1
    assert Notification.objects.filter(origin="event").count() == settings.MOST_HOPS + 1


def test_what_a_digest_causes_is_a_step_behind_its_events(ada: User) -> None:
    follow(ada, "order.*", digest_seconds=60, digest_count=2)
    follow(ada, "notification.full")
    ledger.record(ada.pk, [Envelope("order.paid", hops=hops) for hops in (2, 1)])
    handle_all()
    runner.run(DIGEST, Digest.objects.get().id, "worker")
    send_now(Delivery.objects.get().id)
    record_until_current()
    assert Event.objects.get(type="notification.full").hops == 3


def test_a_rule_for_everything_is_not_for_what_carillon_emits(ada: User) -> None:
    follow(ada, "*")
    follow(ada, "notification.full", enabled=False)
    tokens.create(ada, "Test", ["read"], None)
    finish(ada)
    assert recorded(ada) == []
    other = follow(ada, "delivery.*")
    finish(ada)
    assert recorded(ada) == ["delivery.delivered"]
    handle_all()
    assert Event.objects.get().effects.get().rule == other


@pytest.mark.parametrize(
    ("pattern", "source", "is_for"),
    [
        ("delivery.dead", "", True),
        ("delivery.dead", "carillon", True),
        ("delivery.dead", "shop", False),
        ("delivery.*", "", True),
        ("schedule.*", "", True),
        ("channel.disabled", "", True),
        ("*", "", False),
        ("*", "carillon", False),
        ("order.*", "", False),
        ("deliver.*", "", False),
        ("delivery", "", False),
        ("deliver_.*", "", False),
        ("delivery.cancelled", "", False),
    ],
)
def test_changes_are_recorded_for_those_who_have_a_rule_for_them(
    ada: User, pattern: str, source: str, is_for: bool
) -> None:
    rule = follow(ada, pattern, source=source)
    assert Follower.objects.filter(id=rule.id, user=ada).exists() is is_for
    Change.objects.all().delete()
    finish(ada)
    assert Change.objects.exists() is is_for


def test_who_follows_is_known_with_each_edit_of_a_rule(ada: User) -> None:
    rule = follow(ada, "order.*")
    for change, is_for in [
        ({"type_pattern": "delivery.*"}, True),
        ({"enabled": False}, False),
        ({"enabled": True}, True),
        ({"source": "shop"}, False),
        ({"source": ""}, True),
        ({"deleted_at": NINE}, False),
        ({"deleted_at": None}, True),
    ]:
        Rule.objects.filter(id=rule.id).update(**change)
        assert Follower.objects.filter(id=rule.id).exists() is is_for, change
    with pytest.raises(KeyboardInterrupt), transaction.atomic():
        Rule.objects.filter(id=rule.id).update(enabled=False)
        raise KeyboardInterrupt
    assert Follower.objects.exists()
    ada.delete()
    assert not Follower.objects.exists()


def test_what_happened_before_a_rule_was_made_is_no_event_for_it(ada: User) -> None:
    tokens.create(ada, "Test", ["read"], None)
    finish(ada)
    follow(ada, "delivery.*")
    assert recorded(ada) == []
