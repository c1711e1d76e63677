"""A Telegram group that has become a supergroup: the message follows it, and so does the channel."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from demo.receivers import HTTPReceiver, telegram
from notifications import providers
from notifications.deliveries import channel_health
from notifications.messages.message import Message
from notifications.models import Channel
from people.models import User
from tests.make import make_channel, make_delivery, send_now

pytestmark = pytest.mark.django_db


@pytest.fixture
def bots(settings: Settings) -> Iterator[HTTPReceiver]:
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with HTTPReceiver() as receiver:
        receiver.answer = telegram.answer
        settings.SERVICE_URLS = settings.SERVICE_URLS | {"telegram": receiver.origin}
        yield receiver


@pytest.fixture
def group(ada: User, bots: HTTPReceiver) -> Channel:
    return make_channel(ada, "telegram", secrets={"token": telegram.TOKEN}, address={"chat": "-4"})


def test_the_channel_keeps_the_new_chat_and_the_next_message_goes_there_at_once(
    group: Channel, bots: HTTPReceiver
) -> None:
    delivery = make_delivery(group)
    send_now(delivery.id)
    delivery.refresh_from_db()
    assert delivery.state == "delivered"
    group.refresh_from_db()
    assert (group.address, group.destination().secrets) == ({"chat": "-1004"}, {"token": telegram.TOKEN})
    providers.get("telegram").send(Message(delivery.id, "Ferns", "", "Ada"), group.destination())
    assert [json.loads(request.body)["chat_id"] for request in bots.requests] == ["-4", "-1004", "-1004"]


def test_an_address_that_has_changed_meanwhile_is_left(group: Channel) -> None:
    Channel.objects.update(address={"chat": "77"})
    assert not channel_health.update_address(group.id, {"chat": "-4"}, {"chat": "-1004"})
    assert Channel.objects.get().address == {"chat": "77"}


def test_what_did_not_move_stays(ada: User) -> None:
    channel = make_channel(ada, "telegram", address={"chat": "-4", "thread": 7})
    assert channel_health.update_address(channel.id, {"chat": "-4", "thread": 7}, {"chat": "-1004"})
    assert Channel.objects.get().address == {"chat": "-1004", "thread": 7}
