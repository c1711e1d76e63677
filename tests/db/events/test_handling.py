"""What rules make of events."""

from __future__ import annotations

import runpy
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from config import settings as configured
from events.intake import ledger
from events.kinds.event import EVENT
from events.models import Effect, Event
from events.pure.envelope import Envelope
from events.reasons import EventCode
from notifications.models import Delivery, Notification
from people.models import User
from tests.make import NOON, happen, make_channel, make_rule, make_user
from work.engine import runner


def test_an_event_rings_by_a_rule_once_with_its_words_and_its_chain(ada: User) -> None:
    rule, chain = make_rule(ada), uuid4()
    event = happen(ada, correlation_id=chain)
    assert event.state == "handled"
    assert abs(event.occurred_at - event.created_at) < timedelta(minutes=1)
    [effect] = event.effects.all()
    notification = Notification.objects.get()
    assert (effect.outcome, effect.rule, effect.notification_id) == ("notified", rule, notification.id)
    assert (notification.subject, notification.body) == ("Order 7", "120 EUR from shop")
    assert (notification.origin, notification.origin_id) == ("event", rule.id)
    assert notification.chain == str(chain)
    assert notification.data["data"] == {"order_id": 7, "amount": 120}
    assert Delivery.objects.get().state == "pending"


def test_the_same_id_twice_is_one_event_for_each_person(ada: User) -> None:
    make_rule(ada)
    key, bob = str(uuid4()), make_user()
    first = happen(ada, key=key)
    happen(ada, key=key, data={"amount": 999})
    happen(bob, key=key)
    assert Event.objects.filter(key=key).count() == 2
    assert Event.objects.get(user=ada, key=key).data == first.data
    assert Notification.objects.count() == 1


def test_a_message_four_times_handles_it_once(ada: User) -> None:
    make_rule(ada)
    event = happen(ada)
    for _ in range(4):
        runner.run(EVENT, event.id, "worker")
    assert (Notification.objects.count(), Effect.objects.count(), event.history.count()) == (1, 1, 1)


@pytest.mark.parametrize(
    ("overrides", "code"),
    [
        ({"data": {"amount": 99}}, EventCode.UNMET),
        ({"data": {}}, EventCode.MISSING),
        ({"source": "other"}, None),
        ({"type": "orders.paid"}, None),
    ],
)
def test_silence_is_recorded_with_its_reason_where_the_type_fits(
    ada: User, overrides: dict[str, Any], code: str | None
) -> None:
    make_rule(ada, source="shop")
    event = happen(ada, **overrides)
    assert event.state == "handled"
    assert list(event.effects.values_list("outcome", "reason_code")) == ([] if code is None else [("silent", code)])
    assert not Notification.objects.exists()


def test_rules_of_others_and_those_switched_off_or_deleted_do_nothing(ada: User) -> None:
    make_rule(make_user())
    make_rule(ada, enabled=False)
    make_rule(ada, deleted_at=happen(ada).created_at)
    event = happen(ada)
    assert not event.effects.exists()


def test_a_throttle_counts_within_its_time(ada: User) -> None:
    rule = make_rule(ada, throttle_count=2, throttle_seconds=3600)
    outcomes = [happen(ada, data={"amount": amount}).effects.get().outcome for amount in (1, 500, 500, 500)]
    assert outcomes == ["silent", "notified", "notified", "silent"]
    Effect.objects.filter(rule=rule).update(at=timezone.now() - timedelta(seconds=3590))
    assert happen(ada).effects.get().outcome == "silent"
    Effect.objects.filter(rule=rule).update(at=timezone.now() - timedelta(seconds=3601))
    assert happen(ada).effects.get().outcome == "notified"


@pytest.mark.django_db(transaction=True)
def test_a_throttle_holds_for_events_at_the_same_moment(ada: User) -> None:
    make_rule(ada, throttle_count=3, throttle_seconds=3600)
    envelopes = [Envelope("order.paid", {"amount": 500}) for _ in range(12)]
    ledger.record(ada.pk, envelopes)

    def handle(event_id: UUID) -> None:
        runner.run(EVENT, event_id, "worker")
        connection.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(handle, Event.objects.values_list("id", flat=True)))
    assert Effect.objects.filter(outcome="notified").count() == 3
    assert Effect.objects.filter(reason_code=EventCode.THROTTLED).count() == 9


@pytest.mark.parametrize("conditions", [[{"field": 3}], "none", [{"operator": "above"}], [None]])
def test_a_damaged_rule_stops_no_other(ada: User, conditions: Any) -> None:
    make_rule(ada, conditions=conditions)
    make_rule(ada)
    event = happen(ada)
    assert event.state == "handled"
    assert sorted(event.effects.values_list("outcome", "reason_code")) == [
        ("notified", ""),
        ("silent", EventCode.DAMAGED_RULE),
    ]


def test_a_rule_without_a_channel_says_so(ada: User) -> None:
    for channels in ([], [make_channel(ada, "email", removed_at=NOON)]):
        rule = make_rule(ada, channels=channels)
        assert happen(ada).effects.get(rule=rule).reason_code == EventCode.NO_CHANNEL


def test_a_chain_that_is_too_long_ends_with_that_reason(ada: User) -> None:
    make_rule(ada)
    assert happen(ada, hops=3).state == "handled"
    for hops in (4, 1_000, 10**9):
        event = happen(ada, hops=hops)
        assert (event.state, event.reason_code) == ("cancelled", EventCode.TOO_MANY_HOPS)
    assert Notification.objects.count() == 1


def test_no_chain_is_longer_than_its_messages_can_count(
    ada: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MOST_HOPS = most = 10_000
    make_rule(ada)
    assert happen(ada, hops=most).state == "handled"
    assert Notification.objects.get().hops == most + 1
    monkeypatch.setenv("MOST_HOPS", str(most + 1))
    with pytest.raises(ImproperlyConfigured, match="MOST_HOPS=3"):
        runpy.run_path(configured.__file__)


def test_data_that_does_not_fit_its_type_is_not_tried_again(ada: User) -> None:
    event = happen(ada, type="channel.disabled", data={"channel_id": 3})
    assert (event.state, event.reason_code) == ("dead", EventCode.UNFIT)
    assert event.reason_params["field"] == "data.channel_id"


def test_channels_in_order_get_it_one_after_the_other(ada: User) -> None:
    first, second = make_channel(ada, "email"), make_channel(ada, "webhook")
    make_rule(ada, channels=[first, second], channel_order=[second.id, first.id], escalate_after=5)
    happen(ada)
    assert Delivery.objects.get().channel == second


def test_the_number_of_statements_does_not_grow_with_the_rules(ada: User) -> None:
    def statements() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            happen(ada)
        return len(captured)

    make_rule(ada)
    few = statements()
    for _ in range(9):
        make_rule(ada)
    assert statements() == few


def test_the_next_channel_in_order_waits_until_the_quiet_hours_of_the_first_are_over(ada: User) -> None:
    first, second = make_channel(ada, "email"), make_channel(ada, "webhook")
    order = {"channels": [first, second], "channel_order": [first.id, second.id], "escalate_after": 5}
    now = timezone.now()
    quiet = {"quiet_from": (now - timedelta(hours=1)).time(), "quiet_until": (now + timedelta(hours=2)).time()}
    User.objects.filter(pk=ada.pk).update(time_zone="UTC", **quiet)
    make_rule(ada, **order)
    happen(ada)
    notification, delivery = Notification.objects.get(), Delivery.objects.get()
    assert delivery.reason_code == "quiet-hours"
    assert delivery.available_at > now + timedelta(hours=1, minutes=59)
    assert notification.advance_at == delivery.available_at + timedelta(minutes=5)


def test_an_urgent_rule_rings_in_quiet_hours(ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(time_zone="UTC", quiet_from="00:00", quiet_until="23:59:59")
    make_rule(ada, urgent=True)
    happen(ada)
    assert Delivery.objects.get().reason_code == ""


def test_a_message_has_a_copy_of_its_event_only_where_that_is_small(ada: User) -> None:
    make_rule(ada, conditions=[])
    small, large = happen(ada), happen(ada, data={"order_id": 8, "text": "x" * 5_000})
    copies = {one.data["id"]: one.data for one in Notification.objects.filter(user=ada)}
    assert copies[str(small.key)]["data"] == small.data
    assert (copies[str(large.key)]["type"], copies[str(large.key)]["data"]) == (large.type, None)


def test_each_rule_of_an_event_has_its_own_message(ada: User) -> None:
    rules = [make_rule(ada, name=name) for name in ("One", "Two")]
    happen(ada)
    assert set(Notification.objects.values_list("origin_id", flat=True)) == {rule.id for rule in rules}
