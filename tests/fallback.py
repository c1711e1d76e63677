"""A reminder whose channels are tried one after the other, fired, and a worker for what it recorded."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from notifications.message import Delivered, Destination, Message
from notifications.models import Channel, Delivery, Notification
from notifications.providers import inbox
from schedules.firing import fire
from tests.make import NOON, make_channel, make_schedule, make_user, send_now
from work.answers import Answer

NINE = NOON.replace(hour=9) + timedelta(days=1)


def make_fired(**overrides: Any) -> tuple[Notification, list[Channel]]:
    """What a reminder with three channels in order has said: inbox, mail, webhook."""
    user = make_user()
    channels = [make_channel(user, provider, label=provider.title()) for provider in ("inbox", "email", "webhook")]
    make_schedule(user, **({"channels": channels, "in_order": True} | overrides))
    fire.fire_due(NINE)
    return Notification.objects.get(user=user), channels


def answers(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> list[Message]:
    """Have the inbox provider give this answer; returns the messages that it was asked to send."""
    sent: list[Message] = []

    def send(self: object, message: Message, destination: Destination) -> Answer:
        sent.append(message)
        return answer

    monkeypatch.setattr(inbox.Inbox, "send", send)
    return sent


def first_of(notification: Notification) -> Delivery:
    return notification.deliveries.earliest("created_at", "id")


def deliver_first(notification: Notification, monkeypatch: pytest.MonkeyPatch, answer: Answer | None = None) -> None:
    """Send the first delivery; the inbox answers with `answer`."""
    answers(monkeypatch, answer or Delivered())
    send_now(first_of(notification).id)


def tried(notification: Notification) -> list[tuple[str, str]]:
    """(channel's label, state) of each delivery, in the order of their being recorded."""
    return list(notification.deliveries.order_by("id").values_list("channel__label", "state"))


def minutes_pass(notification: Notification, minutes: float) -> None:
    """Move all that the notification waits for so much nearer."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE notifications_notification SET advance_at = advance_at - %s * interval '1 minute' WHERE id = %s",
            [minutes, notification.id],
        )
