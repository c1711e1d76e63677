"""A channel to a receiver of our own on the loopback, and what the emails of a test contain."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.core import mail
from pytest_django.fixtures import Settings

from demo.receivers import HTTPReceiver
from notifications.models import Channel, Delivery
from people.models import User
from tests.make import make_channel, try_once
from work.dead_letters import Who

OPERATOR = Who(None, "operator@example.org")


@pytest.fixture
def receiver(settings: Settings) -> Iterator[HTTPReceiver]:
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with HTTPReceiver() as receiver:
        yield receiver


@pytest.fixture
def hook(ada: User, receiver: HTTPReceiver) -> Channel:
    return make_channel(ada, "webhook", label="Pager", address={"url": f"{receiver.origin}/hook"})


def fresh(channel: Channel) -> Channel:
    return Channel.objects.get(id=channel.id)


def state_after_a_try(delivery: Delivery) -> str:
    try_once(delivery)
    return delivery.state


def send_all() -> None:
    for delivery in Delivery.objects.filter(state="pending"):
        try_once(delivery)


def found_in_mail(pattern: str, position: int) -> str:
    found = re.search(pattern, str(mail.outbox[position].body))
    assert found is not None
    return found[0]


def code_in(position: int) -> str:
    return found_in_mail(r"\d{4}-\d{4}", position)


def link_in(position: int) -> str:
    return found_in_mail(r"/unsubscribe/[0-9a-f]+/", position)
