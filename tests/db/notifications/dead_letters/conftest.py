"""Channels to a receiver of our own on the loopback, and what a worker's task does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django.fixtures import Settings

from demo.receivers import HTTPReceiver
from notifications.dead_letters import Who
from notifications.models import Channel, Delivery
from people.models import User
from tests.make import make_channel, try_once

OPERATOR = Who(None, "operator@example.org")


@pytest.fixture
def receiver(settings: Settings) -> Iterator[HTTPReceiver]:
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with HTTPReceiver() as receiver:
        yield receiver


@pytest.fixture
def hook(ada: User, receiver: HTTPReceiver) -> Channel:
    return make_channel(ada, "webhook", address={"url": f"{receiver.origin}/hook"})


def state_after_a_try(delivery: Delivery) -> str:
    try_once(delivery)
    return delivery.state
