"""Channels to a receiver of our own on the loopback, and what a worker's task does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django.fixtures import Settings

from demo.receivers import HTTPReceiver
from notifications.dead_letters import Who
from notifications.deliveries import sender
from notifications.deliveries.sender import SendAgain
from notifications.models import Channel, Delivery
from people.models import User
from tests.make import make_channel

OPERATOR = Who(None, "operator@example.org")


@pytest.fixture
def receiver(settings: Settings) -> Iterator[HTTPReceiver]:
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with HTTPReceiver() as receiver:
        yield receiver


@pytest.fixture
def hook(ada: User, receiver: HTTPReceiver) -> Channel:
    return make_channel(ada, "webhook", address={"url": f"{receiver.origin}/hook"})


def try_once(delivery: Delivery) -> str:
    """Send as the task does. Returns the state that came of it."""
    try:
        sender.send(delivery.id, "worker")
    except SendAgain as again:
        sender.put_off(again, 60.0)
    delivery.refresh_from_db()
    return delivery.state
