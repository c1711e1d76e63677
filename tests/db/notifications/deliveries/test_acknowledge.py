"""Acknowledging and snoozing: by a signed link or signed in, by POST alone, once."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone

from common.times.snooze import InvalidSnooze
from notifications.deliveries import acknowledge, fallback, nag
from notifications.messages.links import ANSWER
from notifications.messages.message import Delivered, Rejected
from notifications.models import Delivery, Notification
from schedules.changes import editing
from tests.make import (
    NOON,
    answers,
    deliver_first,
    finish,
    first_of,
    make_fired,
    make_user,
    minutes_pass,
    noted,
    send_now,
    settle,
    taken,
    tried,
)
from work import dead_letters
from work.answers import Retryable
from work.dead_letters import Who

pytestmark = pytest.mark.django_db


def link(notification: Notification) -> str:
    return f"/answer/{ANSWER.token(notification.id)}/"


def test_acknowledging_ends_the_escalation_and_cancels_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    notification, _ = make_fired(escalate_after=10)
    assert acknowledge.acknowledge(notification.id)
    minutes_pass(notification, 10)
    assert (fallback.advance(), tried(notification)) == (0, [("Inbox", "cancelled")])
    assert first_of(notification).reason == "Acknowledged."


def test_an_answer_by_a_link_marks_the_message_in_the_inbox_as_read(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    notification, _ = make_fired(escalate_after=10)
    deliver_first(notification, monkeypatch, Delivered())
    assert first_of(notification).read_at is None
    client.post(link(notification), {"answer": "1-hour"})
    assert first_of(notification).read_at is not None


def test_a_delivery_that_dies_after_the_acknowledgement_is_not_followed() -> None:
    notification, _ = make_fired()
    claim = taken(first_of(notification).id)
    acknowledge.acknowledge(notification.id)
    settle(claim, "dead", "Gone.")
    assert (fallback.advance(), tried(notification)) == (0, [("Inbox", "dead")])


def test_the_first_answer_counts() -> None:
    notification, _ = make_fired()
    later = timezone.now() + timedelta(hours=1)
    assert [acknowledge.acknowledge(notification.id), acknowledge.snooze(notification.id, later)] == [True, False]
    notification.refresh_from_db()
    assert notification.snoozed_until is None
    assert Notification.objects.count() == 1


@pytest.mark.parametrize(("ahead", "code"), [(timedelta(0), "passed"), (timedelta(days=367), "too_far")])
def test_a_snooze_ends_within_a_year(ahead: timedelta, code: str) -> None:
    notification, _ = make_fired()
    with pytest.raises(InvalidSnooze) as caught:
        acknowledge.snooze(notification.id, timezone.now() + ahead)
    assert (caught.value.code, Notification.objects.get().acknowledged_at) == (code, None)


def test_snoozing_says_the_same_again_later_in_the_same_order(monkeypatch: pytest.MonkeyPatch) -> None:
    notification, channels = make_fired(escalate_after=10)
    deliver_first(notification, monkeypatch, Rejected(noted("Gone.")))
    later = timezone.now() + timedelta(hours=1)
    assert [acknowledge.snooze(notification.id, later) for _ in range(2)] == [True, False]
    assert tried(notification) == [("Inbox", "dead"), ("Email", "cancelled")]
    [again] = Notification.objects.exclude(id=notification.id)
    assert (again.subject, again.body) == (notification.subject, notification.body)
    assert again.batch_id != notification.batch_id
    assert again.channel_order == [channel.id for channel in channels]
    assert again.advance_at == later + timedelta(minutes=10)
    assert list(again.deliveries.values_list("provider", "available_at")) == [("inbox", later)]


def test_snoozing_what_went_to_all_channels_goes_to_all_of_them_again_whatever_the_hour(published: list[UUID]) -> None:
    notification, _ = make_fired(in_order=False)
    published.clear()
    acknowledge.snooze(notification.id, timezone.now() + timedelta(hours=1))
    [again] = Notification.objects.exclude(id=notification.id)
    assert (again.urgent, set(published)) == (True, set(again.deliveries.values_list("id", flat=True)))
    assert sorted(again.deliveries.values_list("provider", flat=True)) == ["email", "inbox", "webhook"]


def test_a_reminder_carries_the_links_to_answer_and_to_open_it(mailoutbox: list[object]) -> None:
    notification, channels = make_fired()
    notification.deliveries.update(channel=channels[1], provider="email")
    send_now(first_of(notification).id)
    [mail] = mailoutbox
    found = re.search(r"Done or snooze: \S+(/answer/[0-9a-f]{96}/)", mail.body)  # type: ignore[attr-defined]
    assert found is not None
    assert found[1] == link(notification)
    assert f"/history/{notification.id}/\n" in mail.body  # type: ignore[attr-defined]


def test_looking_at_the_link_changes_nothing_and_pressing_the_button_does(client: Client) -> None:
    notification, _ = make_fired(escalate_after=10)
    for _ in range(2):
        page = client.get(link(notification))
        client.head(link(notification))
        assert (page.status_code, "Water the plants" in page.content.decode()) == (200, True)
    assert tried(notification) == [("Inbox", "pending")]
    answer = client.post(link(notification), {"answer": "acknowledge"}, follow=True)
    assert "is done" in answer.content.decode()
    main = answer.content.decode().split("<main")[1].split("</main>")[0]
    assert re.findall("<button[^>]*>", main) == ['<button class="small" name="answer" value="undo">']
    assert tried(notification) == [("Inbox", "cancelled")]
    again = client.post(link(notification), {"answer": "1-hour"}, follow=True)
    assert "already answered" in again.content.decode()
    assert Notification.objects.count() == 1


def test_an_answer_that_is_none_of_the_buttons_does_nothing(client: Client) -> None:
    notification, _ = make_fired()
    answer = client.post(link(notification), {"answer": "later, please"}, follow=True)
    assert "Nothing changed" in answer.content.decode()
    assert tried(notification) == [("Inbox", "pending")]


def test_a_link_is_good_for_its_own_notification_alone(client: Client) -> None:
    mine, _ = make_fired()
    other, _ = make_fired()
    token = ANSWER.token(mine.id)
    forged = [other.id.hex + token[32:], token[:-1] + ("0" if token[-1] != "0" else "1"), token[:-2], "x", token + "00"]
    assert {client.post(f"/answer/{each}/", {"answer": "acknowledge"}).status_code for each in forged} == {404}
    assert not Notification.objects.filter(acknowledged_at__isnull=False).exists()


def test_a_link_expires_in_plain_words(client: Client) -> None:
    notification, _ = make_fired()
    Notification.objects.update(created_at=timezone.now() - timedelta(days=31))
    for answer in (client.get(link(notification)), client.post(link(notification), {"answer": "acknowledge"})):
        assert (answer.status_code, "This link has expired" in answer.content.decode()) == (410, True)
    assert tried(notification) == [("Inbox", "pending")]


def test_an_owner_answers_on_the_pages_and_nobody_else_can(client: Client) -> None:
    notification, _ = make_fired()
    path = f"/history/{notification.id}/answer/"
    assert client.post(path)["Location"].startswith("/account/login/")
    client.force_login(make_user(), backend="django.contrib.auth.backends.ModelBackend")
    assert client.post(path, {"answer": "acknowledge"}).status_code == 404
    client.force_login(notification.user, backend="django.contrib.auth.backends.ModelBackend")
    assert client.get(path).status_code == 405
    assert 'value="1-hour"' in client.get(f"/history/{notification.id}/").content.decode()
    page = client.post(path, {"answer": "1-hour"}, follow=True).content.decode()
    assert "is snoozed until" in page
    assert Delivery.objects.filter(available_at__gt=timezone.now() + timedelta(minutes=59)).count() == 1


def test_the_history_says_why_it_fell_back(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    notification, _ = make_fired()
    deliver_first(notification, monkeypatch, Rejected(noted("The address is gone.")))
    client.force_login(notification.user, backend="django.contrib.auth.backends.ModelBackend")
    for path in ("/history/", f"/history/{notification.id}/"):
        page = client.get(path).content.decode()
        assert "Fallback to Email: Inbox failed: The address is gone." in page


@pytest.mark.parametrize(("answer", "said"), [("acknowledge", "Acknowledged."), ("1-hour", "Snoozed.")])
def test_what_was_being_sent_when_its_person_answered_is_not_tried_again(
    client: Client, monkeypatch: pytest.MonkeyPatch, answer: str, said: str
) -> None:
    notification, _ = make_fired()
    claim = taken(first_of(notification).id)
    client.post(link(notification), {"answer": answer})
    finish(claim, Retryable(noted("Later.")))
    sent = answers(monkeypatch, Delivered())
    send_now(claim.id)
    [cancelled] = notification.deliveries.all()
    assert (sent, cancelled.state, cancelled.reason) == ([], "cancelled", said)
    assert list(cancelled.history.values_list("outcome", flat=True)) == ["retryable", "released"]


@pytest.mark.parametrize(("stop", "said"), [(editing.pause, "paused"), (editing.delete, "deleted")])
def test_what_was_being_sent_when_its_reminder_was_stopped_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, stop: Callable[..., Any], said: str
) -> None:
    notification, _ = make_fired()
    claim = taken(first_of(notification).id)
    stop(notification.origin_id, timezone.now())
    finish(claim, Retryable(noted("Later.")))
    sent = answers(monkeypatch, Delivered())
    send_now(claim.id)
    [cancelled] = notification.deliveries.all()
    assert (sent, cancelled.state, cancelled.reason) == ([], "cancelled", f"The reminder was {said}.")


def test_a_dead_letter_of_a_stopped_reminder_can_be_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    notification, _ = make_fired()
    claim = taken(first_of(notification).id)
    assert notification.origin_id
    editing.pause(notification.origin_id, timezone.now())
    finish(claim, Rejected(noted("Gone.")))
    dead_letters.replay(Delivery.objects.all(), "", Who(None, "an operator"))
    deliver_first(notification, monkeypatch, Delivered())
    assert first_of(notification).state == "delivered"


def test_what_its_person_sends_again_goes_out_though_it_was_acknowledged(monkeypatch: pytest.MonkeyPatch) -> None:
    notification, _ = make_fired()
    deliver_first(notification, monkeypatch, Rejected(noted("Gone.")))
    acknowledge.acknowledge(notification.id)
    dead_letters.replay(Delivery.objects.all(), "", Who(notification.user_id, "its person"))
    deliver_first(notification, monkeypatch, Delivered())
    assert first_of(notification).state == "delivered"


def test_what_an_operator_replays_ends_where_it_was_acknowledged(monkeypatch: pytest.MonkeyPatch) -> None:
    notification, _ = make_fired()
    deliver_first(notification, monkeypatch, Rejected(noted("Gone.")))
    acknowledge.acknowledge(notification.id)
    dead_letters.replay(Delivery.objects.all(), "", Who(None, "an operator"))
    deliver_first(notification, monkeypatch, Delivered())
    assert (first_of(notification).state, first_of(notification).reason) == ("cancelled", "Acknowledged.")


def test_a_second_answer_cancels_nothing_that_its_owner_sends_again() -> None:
    notification, _ = make_fired()
    settle(taken(first_of(notification).id), "dead", "Gone.")
    assert acknowledge.acknowledge(notification.id)
    assert dead_letters.replay(Delivery.objects.all(), "", Who(notification.user_id, "its person")).changed
    assert not acknowledge.acknowledge(notification.id)
    assert not acknowledge.snooze(notification.id, timezone.now() + timedelta(hours=1))
    assert tried(notification) == [("Inbox", "pending")]


def test_undone_what_was_cancelled_is_sent_and_goes_on_in_its_order(client: Client) -> None:
    notification, _ = make_fired(escalate_after=10)
    for _ in range(2):  # a second time it does not come twice
        client.post(link(notification), {"answer": "acknowledge", "from": "push"})
        notification.refresh_from_db()
        assert notification.answered_from == "push"
        client.post(link(notification), {"answer": "undo"})
    before, again = Notification.objects.exclude(id=notification.id).order_by("id")
    assert (again.subject, again.chain) == (notification.subject, notification.chain)
    assert tried(notification) == tried(before) == [("Inbox", "cancelled")]
    assert tried(again) == [("Inbox", "pending")]
    assert again.advance_at is not None
    notification.refresh_from_db()
    assert (notification.acknowledged_at, notification.answered_from) == (None, "")


def test_undone_a_second_time_what_has_arrived_since_is_not_sent_again() -> None:
    notification, _ = make_fired(in_order=False)
    acknowledge.acknowledge(notification.id)
    assert acknowledge.undo(notification.id)
    for key in Delivery.objects.filter(state="pending").values_list("id", flat=True):
        settle(taken(key), "delivered")
    acknowledge.acknowledge(notification.id)
    assert acknowledge.undo(notification.id) == ([], [])


def test_an_answer_to_what_is_sent_again_is_one_to_the_message() -> None:
    notification, _ = make_fired(in_order=False, nag_every=10, nag_times=2)
    settle(taken(first_of(notification).id), "delivered")
    acknowledge.acknowledge(notification.id)
    assert acknowledge.undo(notification.id)
    [again] = Notification.objects.exclude(id=notification.id)
    Notification.objects.filter(id=notification.id).update(nag_at=NOON)
    assert nag.advance() == 1  # once, also beside what was sent again
    assert acknowledge.acknowledge(again.id)
    notification.refresh_from_db()
    assert (notification.acknowledged_at is not None, notification.nag_at) == (True, None)
    assert not Delivery.objects.filter(state="pending").exists()


@pytest.mark.parametrize("urgent", [False, True])
def test_undone_what_waited_comes_when_the_last_of_it_would_have_and_as_urgent(urgent: bool) -> None:
    notification, _ = make_fired(in_order=False, urgent=urgent)
    last, stale = (timezone.now() + timedelta(hours=hours) for hours in (3, 5))
    for hours, delivery in enumerate(notification.deliveries.order_by("-id")):
        Delivery.objects.filter(id=delivery.id).update(available_at=last - timedelta(hours=hours), expires_at=stale)
    acknowledge.acknowledge(notification.id)
    assert acknowledge.undo(notification.id)
    [again] = Notification.objects.exclude(id=notification.id)
    assert again.urgent == urgent
    assert set(again.deliveries.values_list("available_at", "expires_at")) == {(last, stale)}


def test_undone_it_goes_on_with_the_channel_that_waited_and_not_with_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notification, channels = make_fired()
    deliver_first(notification, monkeypatch, Rejected(noted("Gone.")))
    acknowledge.acknowledge(notification.id)
    assert acknowledge.undo(notification.id)
    [again] = Notification.objects.exclude(id=notification.id)
    assert (again.channel_order, tried(again)) == ([one.id for one in channels[1:]], [("Email", "pending")])


def test_undone_the_escalation_begins_again(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    notification, _ = make_fired(escalate_after=10)
    deliver_first(notification, monkeypatch, Delivered())
    acknowledge.acknowledge(notification.id)
    page = client.post(link(notification), {"answer": "undo"}, follow=True).content.decode()
    assert "“Water the plants” is open again." in page
    assert "If you do not answer, the next channel is tried" in page
    assert fallback.advance() == 0
    minutes_pass(notification, 10)
    assert (fallback.advance(), tried(notification)) == (1, [("Inbox", "delivered"), ("Email", "pending")])
    assert acknowledge.undo(notification.id) is None


def test_undone_the_next_channel_is_tried_after_one_that_failed_meanwhile() -> None:
    notification, _ = make_fired()
    claim = taken(first_of(notification).id)
    acknowledge.acknowledge(notification.id)
    settle(claim, "dead", "Gone.")
    assert fallback.advance() == 0
    assert acknowledge.undo(notification.id)
    assert (fallback.advance(), tried(notification)) == (1, [("Inbox", "dead"), ("Email", "pending")])


def test_undone_the_escalation_counts_from_the_channel_that_was_tried_last(monkeypatch: pytest.MonkeyPatch) -> None:
    notification, _ = make_fired(escalate_after=10)
    deliver_first(notification, monkeypatch, Rejected(noted("Gone.")))
    settle(taken(notification.deliveries.get(provider="email").id), "delivered")
    acknowledge.acknowledge(notification.id)
    assert acknowledge.undo(notification.id)
    assert fallback.advance() == 0
    minutes_pass(notification, 10)
    assert fallback.advance() == 1
    assert tried(notification) == [("Inbox", "dead"), ("Email", "delivered"), ("Webhook", "pending")]


def test_undone_what_has_expired_stays_so_and_is_named(client: Client) -> None:
    notification, _ = make_fired()
    acknowledge.acknowledge(notification.id)
    notification.deliveries.update(expires_at=timezone.now())
    page = client.post(link(notification), {"answer": "undo"}, follow=True).content.decode()
    assert "It is too late for Inbox." in page
    assert Notification.objects.count() == 1


def test_a_snooze_is_not_undone_as_if_it_were_done() -> None:
    notification, _ = make_fired()
    acknowledge.snooze(notification.id, timezone.now() + timedelta(hours=1))
    assert acknowledge.undo(notification.id) is None


def test_what_is_done_is_listed_newest_first_with_its_undo(client: Client) -> None:
    notification, _ = make_fired()
    client.force_login(notification.user, backend="django.contrib.auth.backends.ModelBackend")
    assert "Nothing is done yet" in client.get("/done/").content.decode()
    path = f"/history/{notification.id}/answer/"
    answer = client.post(path, {"answer": "acknowledge", "list": ""}, follow=True)
    assert answer.redirect_chain == [(f"/inbox/?done={notification.id}", 302)]
    assert 'value="undo"' in answer.content.decode()
    page = client.get("/done/")
    assert [one.id for one in page.context["page"].rows] == [notification.id]
    assert "done on a page" in page.content.decode()
    assert "is open again" in client.post(path, {"answer": "undo", "done": ""}, follow=True).content.decode()
    assert "Nothing is done yet" in client.get("/done/").content.decode()
