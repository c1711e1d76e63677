"""Channels in order: one at a time, the next when one fails or nobody acknowledges, each exactly once."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connections
from django.utils import timezone

from notifications.channels import changes
from notifications.deliveries import acknowledge, fallback
from notifications.messages.message import Delivered, Rejected
from notifications.models import Channel, Delivery, Notification
from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Schedule
from tests.db.locks import impatient, locked
from tests.make import (
    NINE,
    answers,
    deliver_first,
    disabled,
    finish,
    first_of,
    make_channel,
    make_fired,
    make_schedule,
    make_user,
    minutes_pass,
    noted,
    send_now,
    settle,
    taken,
    tried,
)
from work.answers import Ambiguous
from work.engine import manual, rescue

pytestmark = pytest.mark.django_db


def test_in_order_only_the_first_channel_gets_it() -> None:
    notification, channels = make_fired()
    assert tried(notification) == [("Inbox", "pending")]
    assert notification.channel_order == [channel.id for channel in channels]
    assert (notification.advance_at, fallback.advance()) == (None, 0)


def test_all_of_them_at_once_stays_the_default() -> None:
    notification, _ = make_fired(in_order=False, escalate_after=5)
    assert len(tried(notification)) == 3
    assert (notification.channel_order, notification.advance_at) == ([], None)


def test_what_arrived_goes_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    notification, _ = make_fired()
    deliver_first(notification, monkeypatch, Delivered())
    assert (fallback.advance(), tried(notification)) == (0, [("Inbox", "delivered")])


def test_a_delivery_that_dies_is_followed_by_the_next_channel_at_once(
    monkeypatch: pytest.MonkeyPatch, published: list[UUID]
) -> None:
    notification, _ = make_fired()
    published.clear()
    stale = timezone.now() + timedelta(hours=1)
    notification.deliveries.update(expires_at=stale)
    deliver_first(notification, monkeypatch, Rejected(noted("The address is gone.")))
    assert tried(notification) == [("Inbox", "dead"), ("Email", "pending")]
    assert published == [notification.deliveries.get(provider="email").id]
    assert notification.deliveries.get(provider="email").expires_at == stale
    assert notification.deliveries.get(provider="email").because == "Inbox failed: The address is gone."
    assert (fallback.advance(), fallback.advance()) == (0, 0)


def test_one_whose_outcome_is_unknown_counts_as_failed_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    notification, _ = make_fired()
    Channel.objects.update(on_unknown="hold")
    deliver_first(notification, monkeypatch, Ambiguous(noted("No answer came.")))
    assert tried(notification) == [("Inbox", "unknown"), ("Email", "pending")]
    assert notification.deliveries.get(provider="email").because.startswith("Inbox may have failed: No answer came.")


def test_tries_are_used_up_before_the_next_channel_has_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    notification, _ = make_fired()
    settle(taken(first_of(notification).id), "pending", wait=0.0)
    assert (fallback.advance(), tried(notification)) == (0, [("Inbox", "pending")])
    claim = taken(first_of(notification).id)
    finish(replace(claim, tries=99), Ambiguous(noted("No answer came.")))
    assert tried(notification) == [("Inbox", "dead"), ("Email", "pending")]


def test_a_wait_for_another_try_does_not_hold_up_who_is_to_be_told_next() -> None:
    notification, _ = make_fired(escalate_after=5)
    settle(taken(first_of(notification).id), "pending", wait=3_600.0)
    minutes_pass(notification, 6)
    assert fallback.advance() == 1
    assert tried(notification) == [("Inbox", "pending"), ("Email", "pending")]


@pytest.mark.parametrize("unusable", [{"disabled_at": NINE}, {"removed_at": NINE}, {"verified_at": None}])
def test_channels_that_cannot_be_used_are_passed_by(monkeypatch: pytest.MonkeyPatch, unusable: dict[str, Any]) -> None:
    notification, [_, mail, _] = make_fired()
    Channel.objects.filter(id=mail.id).update(**unusable)
    deliver_first(notification, monkeypatch, Rejected(noted("Gone.")))
    assert tried(notification) == [("Inbox", "dead"), ("Webhook", "pending")]


def test_a_disabled_first_channel_gives_way_and_the_reason_says_why() -> None:
    notification, [inbox, _, _] = make_fired()
    Channel.objects.filter(id=inbox.id).update(disabled_at=timezone.now(), **disabled("Its owner left."))
    send_now(first_of(notification).id)
    assert notification.deliveries.get(provider="email").because.endswith("The channel is disabled: Its owner left.")


def test_a_removed_channel_gives_way_to_the_next_for_what_waited() -> None:
    notification, [inbox, mail, _] = make_fired()
    changes.remove(inbox)
    assert fallback.advance() == 1
    assert tried(notification) == [("Inbox", "cancelled"), ("Email", "pending")]
    assert notification.deliveries.get(provider="email").because == "Inbox failed: The channel was removed."
    notification.refresh_from_db()
    assert notification.outcome == "open"
    changes.remove(mail)
    assert (fallback.advance(), fallback.advance()) == (1, 0)
    assert tried(notification)[1:] == [("Email", "cancelled"), ("Webhook", "pending")]


def test_a_removed_channel_that_is_behind_the_newest_changes_nothing() -> None:
    notification, [inbox, _, _] = make_fired(escalate_after=5)
    minutes_pass(notification, 6)
    assert fallback.advance() == 1
    changes.remove(inbox)
    assert fallback.advance() == 0
    assert tried(notification) == [("Inbox", "cancelled"), ("Email", "pending")]


def test_what_is_being_sent_to_a_removed_channel_is_waited_for() -> None:
    notification, [inbox, _, _] = make_fired(escalate_after=5)
    claim = taken(notification.deliveries.get().id)
    changes.remove(inbox)
    fallback.cancel_removed([claim.id])  # as one that was claimed since it was found
    assert (fallback.advance(), tried(notification)) == (0, [("Inbox", "sending")])


def test_after_the_last_channel_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    user = make_user()
    make_schedule(user, [make_channel(user)], in_order=True)
    fire.fire_due(NINE)
    notification = Notification.objects.get()
    deliver_first(notification, monkeypatch, Rejected(noted("Gone.")))
    notification.refresh_from_db()
    assert (tried(notification), notification.advance_at) == ([("Inbox", "dead")], None)


def test_an_older_delivery_that_is_replayed_and_dies_again_asks_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    notification, _ = make_fired()
    deliver_first(notification, monkeypatch, Rejected(noted("Gone.")))
    # Time stands still within a test's transaction; the second was recorded after the first.
    notification.deliveries.filter(provider="email").update(created_at=timezone.now() + timedelta(seconds=1))
    manual.replay(Delivery, [first_of(notification).id])
    deliver_first(notification, monkeypatch, Rejected(noted("Gone again.")))
    assert tried(notification) == [("Inbox", "dead"), ("Email", "pending")]


def test_nobody_acknowledging_in_time_brings_the_next_channel_and_then_the_next() -> None:
    notification, _ = make_fired(escalate_after=10)
    minutes_pass(notification, 9.9)
    assert fallback.advance() == 0
    minutes_pass(notification, 0.1)
    assert (fallback.advance(), fallback.advance()) == (1, 0)
    assert notification.deliveries.get(provider="email").because == "nobody acknowledged it within 10 minutes of Inbox."
    minutes_pass(notification, 10)
    assert fallback.advance() == 1
    assert [label for label, _ in tried(notification)] == ["Inbox", "Email", "Webhook"]
    minutes_pass(notification, 10)
    assert fallback.advance() == 0
    notification.refresh_from_db()
    assert notification.advance_at is None


def test_what_was_acknowledged_in_time_goes_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    notification, _ = make_fired(escalate_after=10)
    deliver_first(notification, monkeypatch, Delivered())
    acknowledge.acknowledge(notification.id)
    minutes_pass(notification, 10)
    assert (fallback.advance(), tried(notification)) == (0, [("Inbox", "delivered")])


def test_minutes_count_from_when_it_could_go_out() -> None:
    notification, _ = make_fired(escalate_after=10)
    later = timezone.now() + timedelta(hours=3)
    notification.deliveries.update(available_at=later)  # quiet hours, a rate limit
    minutes_pass(notification, 10)
    assert fallback.advance() == 0
    notification.refresh_from_db()
    assert notification.advance_at == later + timedelta(minutes=10)


@pytest.mark.parametrize("end", [editing.pause, editing.delete])
def test_pausing_and_deleting_end_the_escalation(end: type[object], monkeypatch: pytest.MonkeyPatch) -> None:
    notification, _ = make_fired(escalate_after=10)
    deliver_first(notification, monkeypatch)
    minutes_pass(notification, 10)
    end(Schedule.objects.get().id, NINE)
    assert (fallback.advance(), len(tried(notification))) == (0, 1)


def test_rescue_goes_on_where_a_crash_came_between_death_and_the_next_channel() -> None:
    notification, _ = make_fired()
    settle(taken(first_of(notification).id), "dead", "Gone.")  # and here the worker is killed
    assert tried(notification) == [("Inbox", "dead")]
    assert (rescue.rescue()["followed"], rescue.rescue()["followed"]) == (1, 0)
    assert tried(notification) == [("Inbox", "dead"), ("Email", "pending")]


@pytest.mark.django_db(transaction=True)
def test_any_number_of_processes_advance_each_notification_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(6):
        notification, _ = make_fired()
        settle(taken(first_of(notification).id), "dead", "Gone.")
    start, counts = threading.Barrier(4), []

    def run() -> None:
        start.wait()
        counts.append(fallback.advance(3) + fallback.advance(3))
        connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fallback.advance()
    assert sum(counts) <= 6
    assert Delivery.objects.filter(provider="email").count() == 6
    assert not Notification.objects.filter(advance_at__isnull=False).exists()


@pytest.mark.django_db(transaction=True)
def test_a_locked_notification_delays_no_other() -> None:
    for _ in range(2):
        notification, _ = make_fired()
        settle(taken(first_of(notification).id), "dead", "Gone.")
    with locked("notifications_notification", notification.id), impatient():
        assert (fallback.advance(), fallback.advance()) == (1, 0)
    assert fallback.advance() == 1


def test_a_fallen_back_message_reaches_the_next_provider(
    monkeypatch: pytest.MonkeyPatch, mailoutbox: list[object]
) -> None:
    notification, _ = make_fired()
    sent = answers(monkeypatch, Rejected(noted("Gone.")))
    send_now(first_of(notification).id)
    send_now(notification.deliveries.get(provider="email").id)
    assert (len(sent), len(mailoutbox)) == (1, 1)
    assert tried(notification) == [("Inbox", "dead"), ("Email", "delivered")]
