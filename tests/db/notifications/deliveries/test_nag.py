"""A reminder that is repeated until its message is answered: each repeat exactly once, and what ends them."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, connections, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from common.uuid7 import uuid7
from notifications.deliveries import acknowledge, nag, outbox, withdrawal
from notifications.deliveries.outbox import NewNotification
from notifications.messages.message import Delivered
from notifications.models import Channel, Delivery, Notification
from people.quiet import Wait
from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Schedule
from tests.db.locks import impatient, locked, wait_for_a_lock
from tests.make import NINE, NOON, answers, make_channel, make_fired, make_schedule, make_user, noted, send_now, tried
from work.answers import Rejected

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def everything_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, Delivered())


def fired(**overrides: Any) -> Notification:
    """What a reminder has said in an inbox, where it has arrived; it is repeated every 10 minutes, twice."""
    user = make_user()
    make_schedule(user, **({"channels": [make_channel(user)], "nag_every": 10, "nag_times": 2} | overrides))
    fire.fire_due(NINE)
    arrive()
    return Notification.objects.get()


def arrive() -> None:
    for key in list(Delivery.objects.filter(state="pending", provider="inbox").values_list("id", flat=True)):
        send_now(key)


def minutes_pass(minutes: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE notifications_notification SET nag_at = nag_at - %s * interval '1 minute' WHERE nag_at IS NOT NULL",
            [minutes],
        )


def repeat() -> int:
    minutes_pass(11)
    recorded = nag.advance()
    arrive()
    return recorded


def repeats() -> list[Notification]:
    return list(Notification.objects.exclude(nag_of=None).order_by("nagged"))


def series() -> Notification:
    return Notification.objects.get(nag_of=None)


def test_it_is_repeated_until_the_number_is_used_up_and_says_which_it_is(published: list[UUID]) -> None:
    first = fired()
    assert nag.advance() == 0
    published.clear()
    assert [repeat(), repeat(), repeat()] == [1, 1, 0]
    assert published == [one.deliveries.get().id for one in repeats()]
    assert [one.subject for one in repeats()] == ["Water the plants (1 of 2)", "Water the plants (2 of 2)"]
    assert {(one.body, one.slot, one.origin_id, one.chain) for one in repeats()} == {
        (first.body, first.slot, first.origin_id, first.chain)
    }
    assert (series().nagged, series().nag_at) == (2, None)


def test_the_number_is_said_in_the_persons_language_and_fits_a_long_subject() -> None:
    user = make_user(language="de")
    make_schedule(user, title="x" * 200, nag_every=10, nag_times=3)
    fire.fire_due(NINE)
    arrive()
    repeat()
    [one] = repeats()
    assert (one.subject, len(one.subject)) == ("x" * 190 + " (1 von 3)", 200)


def test_without_it_nothing_is_repeated() -> None:
    fired(nag_every=None, nag_times=None)
    assert repeat() == 0


@pytest.mark.parametrize("answered", ["first", "repeat"])
def test_an_answer_to_any_of_them_is_one_to_all(answered: str) -> None:
    first = fired()
    repeat()
    assert acknowledge.acknowledge(first.id if answered == "first" else repeats()[0].id)
    assert repeat() == 0
    assert not Notification.objects.filter(acknowledged_at=None).exists()
    assert not Delivery.objects.filter(read_at=None).exists()
    assert not acknowledge.acknowledge(first.id)


def test_done_is_shown_once_for_a_slot_and_named_so(client: Client) -> None:
    first = fired()
    repeat()
    acknowledge.acknowledge(repeats()[0].id)
    assert series().nag_end == "Done."
    client.force_login(first.user)
    shown = client.get(reverse("notifications:done")).content.decode()
    assert shown.count('value="undo"') == 1
    assert f"/history/{first.id}/" in shown


def test_what_is_not_done_after_all_is_repeated_again() -> None:
    first = fired()
    repeat()
    acknowledge.acknowledge(repeats()[0].id)
    assert acknowledge.undo(first.id) is not None
    assert not Notification.objects.exclude(acknowledged_at=None).exists()
    assert [repeat(), repeat()] == [1, 0]


def test_what_is_not_done_after_all_is_not_repeated_more_often_than_its_person_chose() -> None:
    first = fired()
    assert [repeat(), repeat()] == [1, 1]
    acknowledge.acknowledge(first.id)
    acknowledge.undo(first.id)
    assert repeat() == 0


def test_what_is_not_done_after_all_is_repeated_next_where_a_repeat_was_cancelled() -> None:
    first = fired()
    minutes_pass(11)
    assert nag.advance() == 1
    acknowledge.acknowledge(first.id)
    assert acknowledge.undo(first.id) == ([], [])
    assert repeat() == 1


def test_what_is_not_done_after_all_stays_silent_if_its_reminder_was_paused() -> None:
    first = fired()
    editing.pause(first.origin_id, NINE + timedelta(minutes=1))
    acknowledge.acknowledge(first.id)
    acknowledge.undo(first.id)
    assert repeat() == 0


def test_a_snooze_of_a_repeat_says_it_again_later_and_repeats_that() -> None:
    first = fired()
    repeat()
    assert acknowledge.snooze(repeats()[0].id, timezone.now() + timedelta(minutes=1))
    again = Notification.objects.get(acknowledged_at=None)
    assert (again.subject, again.nag_every, again.nagged, again.slot) == (first.subject, 10, 0, first.slot)
    assert again.nag_at is not None and again.nag_at > timezone.now() + timedelta(minutes=10)


@pytest.mark.parametrize("stop", [editing.pause, editing.archive, editing.delete])
def test_what_stops_its_reminder_ends_it_and_cancels_a_repeat_that_waits(stop: editing.StateChange) -> None:
    first = fired()
    minutes_pass(11)
    assert nag.advance() == 1
    stop(first.origin_id, NINE + timedelta(minutes=11))
    assert [tried(one) for one in repeats()] == [[("Inbox", "cancelled")]]
    assert (repeat(), series().nag_at) == (0, None)
    assert series().withdrawn in {"paused", "archived", "deleted"}


def test_a_newer_slot_ends_it() -> None:
    first = fired()
    fire.fire_due(NINE + timedelta(days=1))
    arrive()
    assert repeat() == 1
    first.refresh_from_db()
    assert (first.nag_at, first.nagged, first.withdrawn) == (None, 0, "newer-slot")
    assert first.nag_end == "A newer message about it replaced this one."
    assert repeats()[0].slot == NINE + timedelta(days=1)


def test_the_end_of_the_repeats_cancels_nothing_that_has_not_gone_out_yet() -> None:
    user = make_user()
    make_schedule(user, [make_channel(user, "email")], nag_every=10, nag_times=2)
    fire.fire_due(NINE)
    fire.fire_due(NINE + timedelta(days=1))
    Notification.objects.filter(slot__gt=NINE).update(nag_at=None)
    assert repeat() == 0
    first = Notification.objects.get(slot=NINE)
    assert (first.nag_at, first.withdrawn) == (None, "")
    send_now(first.deliveries.get().id)
    assert tried(first) == [("Email", "delivered")]


def test_what_has_arrived_on_one_channel_is_repeated_though_another_one_waits() -> None:
    user = make_user()
    make_schedule(user, [make_channel(user), make_channel(user, "email")], nag_every=10, nag_times=2)
    fire.fire_due(NINE)
    arrive()
    assert series().outcome == "open"
    assert repeat() == 1


def test_one_that_its_person_cancels_is_not_repeated() -> None:
    fired()
    withdrawal.cancel(Notification.objects.all())
    assert repeat() == 0


def test_what_has_not_gone_out_on_any_channel_is_waited_for() -> None:
    user = make_user()
    make_schedule(user, [make_channel(user, "email"), make_channel(user, "webhook")], nag_every=10, nag_times=2)
    fire.fire_due(NINE)
    for provider, hours in (("email", 3), ("webhook", 1)):
        Delivery.objects.filter(provider=provider).update(available_at=timezone.now() + timedelta(hours=hours))
    assert repeat() == 0
    [first] = Notification.objects.all()
    assert first.nag_at == Delivery.objects.get(provider="email").available_at + timedelta(minutes=10)


def test_a_repeat_that_has_not_gone_out_is_waited_for() -> None:
    fired()
    minutes_pass(11)
    assert nag.advance() == 1
    minutes_pass(11)
    assert nag.advance() == 0
    arrive()
    assert repeat() == 1


def test_the_first_repeat_follows_the_channel_that_waits_longest() -> None:
    user = make_user()
    ends = timezone.now() + timedelta(hours=8)
    new = NewNotification(
        user_id=user.id,
        channels=[(make_channel(user, provider).id, provider) for provider in ("inbox", "email")],
        subject="Water the plants",
        body="",
        origin=Notification.Origin.API,
        batch_id=uuid7(),
        available_at=ends - timedelta(hours=7),
        quiet_hours=Wait(ends, "07:00"),
        nag_every=10,
        nag_times=2,
    )
    outbox.record([new])
    assert Notification.objects.get().nag_at == ends + timedelta(minutes=10)


def test_a_failure_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, Rejected(noted("Gone.")))
    fired()
    assert repeat() == 1


def test_repeats_go_to_the_chosen_channels_and_without_these_to_the_same() -> None:
    user = make_user()
    inbox, mail = make_channel(user), make_channel(user, "email")
    make_schedule(user, [inbox], nag_every=10, nag_times=2, nag_channel_ids=[mail.id])
    fire.fire_due(NINE)
    arrive()
    assert repeat() == 1
    assert tried(repeats()[0]) == [("Email", "pending")]
    Delivery.objects.filter(channel=mail).update(state="cancelled", settled_at=NOON)
    Notification.objects.filter(nag_of=None).update(nagged=0)
    Notification.objects.exclude(nag_of=None).delete()
    Channel.objects.filter(id=mail.id).update(removed_at=NOON)
    assert repeat() == 1
    assert tried(repeats()[0]) == [("Inbox", "delivered")]


def test_without_any_channel_it_ends_and_says_so() -> None:
    fired()
    Channel.objects.update(removed_at=NOON)
    assert (repeat(), series().withdrawn) == (0, "removed")


def test_repeats_keep_the_order_of_channels() -> None:
    make_fired(nag_every=10, nag_times=2)
    arrive()
    assert repeat() == 1
    assert tried(repeats()[0]) == [("Inbox", "delivered")]
    assert repeats()[0].channel_order == series().channel_order


def test_a_repeat_is_as_soon_too_old_as_the_first() -> None:
    fired(stale_after=10**9)
    assert repeat() == 1
    expires_at = Delivery.objects.exclude(notification__nag_of=None).get().expires_at
    assert expires_at is not None
    assert timedelta(0) <= timezone.now() + timedelta(seconds=10**9) - expires_at < timedelta(minutes=5)


def test_a_copy_of_the_database_makes_the_same_repeats() -> None:
    fired()
    minutes_pass(11)
    assert nag.advance() == 1
    [made] = repeats()
    deliveries = set(made.deliveries.values_list("id", flat=True))
    Notification.objects.filter(id=made.id).delete()
    Notification.objects.update(nagged=0, nag_at=NOON)
    assert nag.advance() == 1
    assert (repeats()[0].id, set(repeats()[0].deliveries.values_list("id", flat=True))) == (made.id, deliveries)


def test_many_are_repeated_in_a_fixed_number_of_statements(django_assert_num_queries: Any) -> None:
    user = make_user()
    inbox = make_channel(user)
    for _ in range(5):
        make_schedule(user, [inbox], nag_every=10, nag_times=2)
    fire.fire_due(NINE)
    arrive()
    minutes_pass(11)
    with django_assert_num_queries(7):  # a savepoint and its release, the due, their rows, channels, both writes
        assert nag.advance() == 5


@pytest.mark.django_db(transaction=True)
def test_two_at_once_record_each_repeat_once() -> None:
    fired()
    minutes_pass(11)
    barrier, recorded = threading.Barrier(2), []

    def advance() -> None:
        barrier.wait(10)
        recorded.append(nag.advance())
        connections.close_all()

    threads = [threading.Thread(target=advance) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (sorted(recorded), len(repeats())) == ([0, 1], 1)


@pytest.mark.django_db(transaction=True)
def test_one_that_somebody_answers_at_this_moment_is_left_out() -> None:
    first = fired()
    minutes_pass(11)
    with locked("notifications_notification", first.id), impatient():
        assert nag.advance() == 0
    assert nag.advance() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("end", ["answer", "withdraw"])
def test_what_ends_it_waits_for_a_repeat_that_is_recorded_at_this_moment_and_ends_that_too(end: str) -> None:
    first = fired()
    minutes_pass(11)

    def end_it() -> None:
        if end == "answer":
            acknowledge.acknowledge(first.id)
        else:
            withdrawal.cancel(Notification.objects.filter(id=first.id))
        connections.close_all()

    thread = threading.Thread(target=end_it)
    with transaction.atomic():
        assert nag.advance() == 1
        thread.start()
        wait_for_a_lock()
    thread.join(30)
    assert Delivery.objects.get(notification__nag_of=first.id).state == "cancelled"


def test_a_reminder_that_checks_first_is_repeated_like_others() -> None:
    schedule = Schedule(nag_every=5, nag_times=1)
    assert {"nag_every", "nag_times", "nag_channel_ids"} <= set(editing.editable(schedule))
