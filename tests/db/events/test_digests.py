"""Digests: events that a rule gathers are told together, each in exactly one."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, time, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from events.intake import digests, ledger
from events.kinds.digest import DIGEST, MOST_LINES
from events.kinds.event import EVENT
from events.models import Digest, DigestAttempt, Effect, Event, Rule
from events.pure.envelope import Envelope
from events.reasons import EventCode
from notifications.messages.text import literal
from notifications.models import Delivery, Notification
from people.models import User
from tests.make import NOON, happen, make_rule, send_now
from work.broker.wakes import Wake
from work.engine import claim, recovery, runner, settlement
from work.reasons import NO_REASON


def make_digest_rule(user: User, **overrides: Any) -> Rule:
    return make_rule(user, **{"conditions": [], "digest_seconds": 3600} | overrides)


def come_due() -> None:
    for digest in Digest.objects.filter(state="pending"):  # one by one, since events lock several in their own order
        Digest.objects.filter(id=digest.id, state="pending").update(available_at=NOON)


def send() -> None:
    """Send all digests, as if their time had come."""
    come_due()
    for digest_id in Digest.objects.filter(state="pending").order_by("id").values_list("id", flat=True):
        runner.run(DIGEST, digest_id, "worker")


def test_events_are_gathered_and_told_together_with_a_line_each(ada: User) -> None:
    rule = make_digest_rule(ada)
    for order in (7, 8):
        happen(ada, data={"order_id": order, "amount": 120})
    digest = Digest.objects.get()
    assert (digest.state, digest.gathered, digest.rule_id, digest.user_id) == ("pending", 2, rule.id, ada.pk)
    assert abs(digest.available_at - digest.created_at - timedelta(hours=1)) < timedelta(seconds=20)
    assert list(digest.entries.values_list("outcome", flat=True)) == ["digested"] * 2
    assert not Notification.objects.exists()
    runner.run(DIGEST, digest.id, "worker")  # too early
    assert not Notification.objects.exists()
    send()
    digest.refresh_from_db()
    told = Notification.objects.get()
    assert (digest.state, digest.notification_id) == ("sent", told.id)
    assert told.subject == "Big orders: 2 events"
    assert told.body == "- Order 7: 120 EUR from shop\n- Order 8: 120 EUR from shop"
    assert (told.batch_id, told.origin, told.origin_id) == (digest.id, "event", rule.id)
    assert told.data["count"] == 2
    assert Delivery.objects.get().state == "pending"
    assert {effect.notified_in for effect in Effect.objects.all()} == {told.id}


def test_a_single_event_is_told_as_the_rule_says(ada: User) -> None:
    make_digest_rule(ada)
    happen(ada)
    send()
    told = Notification.objects.get()
    assert (told.subject, told.body) == ("Order 7", "120 EUR from shop")


def test_the_values_of_a_single_event_are_literal(ada: User) -> None:
    make_digest_rule(ada, body="{data.note}")
    happen(ada, data={"order_id": 7, "note": "*all*"})
    send()
    assert Notification.objects.get().body == literal("*all*") != "*all*"


def test_a_title_can_count_and_further_events_are_only_counted(ada: User) -> None:
    make_digest_rule(ada, title="{count} orders of {source}", body="{data.order_id}: {data.note}")
    for order in range(MOST_LINES + 3):
        happen(ada, data={"order_id": order, "note": "x\n" * 500})
    with CaptureQueriesContext(connection) as captured:
        send()
    told = Notification.objects.get()
    assert told.subject == f"{MOST_LINES + 3} orders of shop"
    lines = told.body.splitlines()
    assert len(lines) == MOST_LINES + 1
    assert lines[0].startswith("- 0: x x") and len(lines[0]) <= 300
    assert lines[-1] == "and 3 more"
    few = [one for one in captured.captured_queries if "events_e" in one["sql"]]
    assert len(few) == 1  # the entries, in one


def test_it_is_due_at_once_when_it_has_so_many_and_the_next_event_opens_another(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[Wake] = []
    add = digests.add

    def recorded(*values: Any) -> list[Wake]:
        woken.extend(wakes := add(*values))
        return wakes

    monkeypatch.setattr(digests, "add", recorded)
    make_digest_rule(ada, digest_count=3)
    for _ in range(3):
        happen(ada)
    digest = Digest.objects.get()
    assert digest.available_at <= timezone.now()
    assert digest.wake_at is not None and digest.wake_at <= timezone.now() + timedelta(minutes=30)  # for rescue
    first, full = woken
    assert (round(first.wait / 3600), full.wait) == (1, 0)
    runner.run(DIGEST, digest.id, "worker")
    happen(ada)
    assert Counter(Digest.objects.values_list("state", "gathered")) == {("sent", 3): 1, ("pending", 1): 1}


def test_it_is_kept_apart_for_each_value_of_its_key(ada: User) -> None:
    make_digest_rule(ada, digest_key="data.shop")
    for shop in ("A", "B", "A", 3, "x" * 500, None):
        happen(ada, data={"shop": shop})
    happen(ada, data={})
    happen(ada, data={"other": 1})
    found = dict(Digest.objects.values_list("key_value", "gathered"))
    assert found == {"A": 2, "B": 1, "3": 1, "x" * 200: 1, "null": 1, "": 2}


@pytest.mark.parametrize(
    ("zone", "at", "now", "due"),
    [
        ("Europe/Berlin", "09:00", "2026-03-28T07:59Z", "2026-03-28T08:00Z"),
        ("Europe/Berlin", "09:00", "2026-03-28T08:00Z", "2026-03-29T07:00Z"),  # the clock goes forward
        ("Europe/Berlin", "02:30", "2026-03-28T22:00Z", "2026-03-29T01:00Z"),  # right after the gap
        ("Europe/Berlin", "02:30", "2026-10-24T22:00Z", "2026-10-25T00:30Z"),  # the first of two
        ("Europe/Berlin", "02:30", "2026-10-25T00:30Z", "2026-10-26T01:30Z"),  # not the second
        ("Europe/Berlin", "02:30", "2026-10-25T01:10Z", "2026-10-26T01:30Z"),
        ("UTC", "00:00", "2026-12-31T23:59Z", "2027-01-01T00:00Z"),
    ],
)
def test_the_hour_is_that_of_the_readers_clock(zone: str, at: str, now: str, due: str) -> None:
    found = digests.next_hour(time.fromisoformat(at), datetime.fromisoformat(now), ZoneInfo(zone))
    assert found == datetime.fromisoformat(due)


def test_a_digest_at_an_hour_is_due_then(ada: User) -> None:
    make_digest_rule(ada, digest_seconds=None, digest_at=time(9))
    happen(ada)
    due = Digest.objects.get().available_at.astimezone(ada.zone)
    assert (due.time(), due.microsecond) == (time(9), 0)
    assert due - timezone.now() <= timedelta(hours=25)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"enabled": False}, EventCode.RULE_OFF),
        ({"deleted_at": Now()}, EventCode.RULE_DELETED),
    ],
)
def test_a_digest_whose_rule_is_gone_is_cancelled_with_that_reason(
    ada: User, change: dict[str, Any], code: EventCode
) -> None:
    rule = make_digest_rule(ada)
    happen(ada)
    Rule.objects.filter(id=rule.id).update(**change)
    send()
    digest = Digest.objects.get()
    assert (digest.state, digest.reason_code) == ("cancelled", code)
    assert not Notification.objects.exists()


def test_a_digest_without_a_channel_is_cancelled_with_that_reason(ada: User) -> None:
    rule = make_digest_rule(ada)
    happen(ada)
    rule.channels.update(removed_at=Now())
    send()
    digest = Digest.objects.get()
    assert (digest.state, digest.reason_code) == ("cancelled", EventCode.NO_CHANNEL)


def test_a_message_four_times_sends_it_once(ada: User) -> None:
    make_digest_rule(ada)
    happen(ada)
    come_due()
    for _ in range(4):
        runner.run(DIGEST, Digest.objects.get().id, "worker")
    assert (Notification.objects.count(), Digest.objects.get().history.count()) == (1, 1)


@pytest.mark.parametrize("lost", [True, False], ids=["lost", "given back"])
def test_one_that_comes_back_takes_no_more_events_and_hinders_no_other(ada: User, lost: bool) -> None:
    make_digest_rule(ada)
    happen(ada)
    come_due()
    first = Digest.objects.get()
    held = claim.claim(DIGEST, first.id, "worker")
    assert held is not None
    happen(ada)
    if lost:
        Digest.objects.filter(id=first.id).update(lease_until=NOON)
        assert recovery.recover(DIGEST, 10) == {"again": 1}
    else:
        assert settlement.release(DIGEST, held, NO_REASON)
    happen(ada)
    assert list(Digest.objects.order_by("id").values_list("state", "gathered")) == [("pending", 1), ("pending", 2)]
    send()
    assert Notification.objects.count() == 2
    assert set(Digest.objects.values_list("state", flat=True)) == {"sent"}


def test_the_database_holds_each_event_in_exactly_one_digest(ada: User) -> None:
    rule = make_digest_rule(ada)
    event = happen(ada)
    [effect] = event.effects.all()
    other = make_digest_rule(ada)
    for wrong in (
        lambda: Effect.objects.create(event=event, rule=rule, outcome="digested", digest=effect.digest),
        lambda: Effect.objects.create(event=event, rule=other, outcome="digested"),
        lambda: Effect.objects.filter(id=effect.id).update(digest=None),
        lambda: Digest.objects.create(user=ada, rule=rule),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            wrong()


def test_the_number_of_statements_does_not_grow_with_the_rules_or_the_digests_size(ada: User) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            happen(ada)
        return len(captured)

    make_digest_rule(ada)
    statements()
    few = statements()
    for _ in range(9):
        make_digest_rule(ada)
    assert statements() == few


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("count", [None, 4])
def test_events_at_the_same_moment_are_each_in_one_digest_while_others_are_sent(ada: User, count: int | None) -> None:
    for _ in range(3):
        make_digest_rule(ada, digest_count=count)
    ledger.record(ada.pk, [Envelope("order.paid", {"order_id": number}) for number in range(40)])

    def handle(event_id: UUID) -> None:
        runner.run(EVENT, event_id, "worker")
        connection.close()

    def send_some(_: int) -> None:
        if count is None:
            come_due()
        for digest_id in Digest.objects.filter(state="pending", available_at__lte=Now()).values_list("id", flat=True):
            runner.run(DIGEST, digest_id, "worker")
        connection.close()

    with ThreadPoolExecutor(8) as pool:
        work = [pool.submit(handle, event_id) for event_id in Event.objects.values_list("id", flat=True)]
        work += [pool.submit(send_some, number) for number in range(20)]
        for one in work:
            one.result()
    send()
    assert set(Event.objects.values_list("state", flat=True)) == {"handled"}
    assert Effect.objects.filter(outcome="digested").count() == 3 * 40
    assert not Digest.objects.exclude(state="sent").exists()
    told = Notification.objects.count()
    assert told == Digest.objects.count() == Digest.objects.values("notification_id").distinct().count()
    for digest in Digest.objects.all():
        assert digest.gathered == digest.entries.count()
        if count is not None:
            assert digest.gathered <= count
    assert sum(Notification.objects.values_list("data__count", flat=True)) == 3 * 40


def test_a_digests_chain_is_as_long_as_its_longest(ada: User) -> None:
    make_digest_rule(ada)
    for hops in (1, 3, 2):
        happen(ada, hops=hops)
    assert Digest.objects.get().hops == 3
    assert Digest.objects.filter(wake_at__lt=F("available_at")).exists()  # rescue publishes it in time


def test_its_message_keeps_quiet_hours(ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(quiet_from=time(0), quiet_until=time(23, 59, 59))
    make_digest_rule(ada)
    happen(ada)
    send()
    send_now(Delivery.objects.get().id)
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.reason_code) == ("pending", "quiet-hours")


def test_an_account_is_deleted_with_its_digests(ada: User) -> None:
    make_digest_rule(ada)
    happen(ada)
    send()
    ada.delete()
    assert not Digest.objects.exists() and not DigestAttempt.objects.exists()
