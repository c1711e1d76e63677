"""A webhook's receiver confirms the channel itself: it answers with the code that came."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import timezone

from common.uuid7 import uuid7
from demo.receivers import HTTPReceiver, Received, Reply
from notifications.deliveries import confirmation
from notifications.models import Channel, Delivery
from people import codes
from people.models import Code, User
from tests.db.notifications.conftest import fresh, send_all
from tests.make import make_delivery, send_now

pytestmark = pytest.mark.django_db


def code_of(request: Received) -> str:
    code: str = json.loads(request.body)["data"]["code"]
    return code


def answering(make: Callable[[str], object]) -> Callable[[Received], Reply]:
    return lambda request: Reply(200, body=json.dumps(make(code_of(request))).encode())


def add(browser: Client, receiver: HTTPReceiver, kind: str = "webhook") -> Channel:
    more = {"types": "delivery.*"} if kind == "status" else {}
    browser.post(f"/channels/new/{kind}/", {"url": receiver.url, "label": "Program", **more})
    return Channel.objects.get(label="Program")


@pytest.mark.parametrize("kind", ["webhook", "status"])
@pytest.mark.parametrize("name", ["code", "challenge"])
@pytest.mark.parametrize("write", [str, lambda code: code.replace("-", "")])
def test_the_right_code_in_the_answer_confirms_the_channel(
    browser: Client, ada: User, receiver: HTTPReceiver, kind: str, name: str, write: Callable[[str], str]
) -> None:
    receiver.answer = answering(lambda code: {name: write(code), "more": 1})
    channel = add(browser, receiver, kind)
    assert channel.verified_at is None
    send_all()
    assert fresh(channel).verified_at is not None
    assert not Code.objects.exists()


@pytest.mark.parametrize(
    "make",
    [
        lambda code: {"code": "0000-0000"},
        lambda code: {"code": int(code.replace("-", ""))},
        lambda code: {"code": code * 9},
        lambda code: {"data": {"code": code}},
        lambda code: [code],
        lambda code: code,
        lambda code: None,
    ],
)
def test_anything_else_confirms_nothing(
    browser: Client, ada: User, receiver: HTTPReceiver, make: Callable[[str], object]
) -> None:
    receiver.answer = answering(make)
    channel = add(browser, receiver)
    send_all()
    [request] = receiver.requests
    assert fresh(channel).verified_at is None
    assert Delivery.objects.get().state == "delivered"
    browser.post(f"/channels/{channel.id}/verify/", {"code": code_of(request)})
    assert fresh(channel).verified_at is not None


def test_a_refusal_with_the_code_confirms_nothing(browser: Client, ada: User, receiver: HTTPReceiver) -> None:
    receiver.answer = lambda request: Reply(401, body=json.dumps({"code": code_of(request)}).encode())
    channel = add(browser, receiver)
    send_all()
    assert fresh(channel).verified_at is None


@pytest.mark.parametrize("removed", [False, True])
def test_a_channel_that_was_removed_before_its_receiver_answered_stays_unconfirmed(
    browser: Client, ada: User, receiver: HTTPReceiver, removed: bool
) -> None:
    channel = add(browser, receiver)
    code = codes.reveal(codes.MARK, channel.id, Code.objects.get(subject=channel.id).nonce)
    Channel.objects.filter(id=channel.id).update(removed_at=timezone.now() if removed else None)
    confirmation.confirm_answered(channel.link_id or channel.id, code, timezone.now())
    assert (fresh(channel).verified_at is None) is removed


def test_an_address_that_was_changed_meanwhile_is_not_confirmed_by_the_code_of_the_one_before(
    browser: Client, ada: User, receiver: HTTPReceiver
) -> None:
    channel = add(browser, receiver)
    Channel.objects.filter(id=channel.id).update(link_id=uuid7())
    assert not confirmation.accept(channel)
    assert fresh(channel).verified_at is None


def test_no_other_message_has_a_code(browser: Client, ada: User, receiver: HTTPReceiver) -> None:
    receiver.answer = answering(lambda code: {"code": code})
    channel = add(browser, receiver)
    send_all()
    receiver.answer = Reply(200, body=b'{"code": "1234-5678"}')
    send_now(make_delivery(channel).id)
    assert "code" not in json.loads(receiver.requests[-1].body)["data"]
    assert Delivery.objects.filter(state="delivered").count() == 2


def test_the_page_follows_the_try_and_leads_on_once_the_receiver_has_answered(
    browser: Client, ada: User, receiver: HTTPReceiver
) -> None:
    receiver.answer = Reply(401)
    channel = add(browser, receiver)
    page = f"/channels/{channel.id}/verify/"
    code = Delivery.objects.get()
    assert f'hx-get="/channels/tests/{code.id}/"' in browser.get(page).content.decode()
    send_all()
    refused = browser.get(f"/channels/tests/{code.id}/", headers={"hx-request": "true"}).content.decode()
    assert "401" in refused
    assert "401" in browser.get(page).content.decode()
    receiver.answer = answering(lambda code: {"code": code})
    Code.objects.update(made_at="2020-01-01T00:00Z")
    channel.user.notifications.update(created_at="2020-01-01T00:00Z")
    browser.post(f"/channels/{channel.id}/code/")
    send_all()
    led = browser.get(f"/channels/tests/{Delivery.objects.latest('id').id}/", headers={"hx-request": "true"})
    # A browser may give up one page for the next, when its person has entered the code too: each says it.
    for _ in range(2):
        shown = browser.get(led["HX-Redirect"], follow=True)
        assert shown.redirect_chain == [(f"/channels/#channel-{channel.id}", 302)]
        assert shown.content.decode().count("is ready") == 1
