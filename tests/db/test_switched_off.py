"""Somebody whose account an operator switches off is sent nothing: neither by their reminders nor at their wish."""

from __future__ import annotations

from django.test import Client

from notifications.models import Delivery
from people.models import User
from tests.make import make_channel, make_delivery, make_schedule, send_now


def test_what_is_due_is_cancelled_and_says_why(ada: User) -> None:
    chat, inbox = make_channel(ada, "webhook"), make_channel(ada)
    waiting = [make_delivery(chat), make_delivery(inbox), make_delivery(chat, origin="test")]
    User.objects.update(is_active=False)
    for delivery in waiting:
        send_now(delivery.id)
    rows = set(Delivery.objects.values_list("state", "reason_code", "tries"))
    assert rows == {("cancelled", "switched-off", 0)}


def test_switched_on_again_they_are_sent_what_is_due_from_then_on(ada: User) -> None:
    inbox = make_channel(ada)
    for is_active in (False, True):
        User.objects.update(is_active=is_active)
        send_now(make_delivery(inbox).id)
    assert list(Delivery.objects.order_by("id").values_list("state", flat=True)) == ["cancelled", "delivered"]


def test_their_session_opens_nothing_any_more(browser: Client, ada: User) -> None:
    schedule = make_schedule(ada)
    User.objects.update(is_active=False)
    assert browser.post(f"/reminders/{schedule.id}/run/")["Location"].startswith("/account/login/")
