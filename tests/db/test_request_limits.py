"""Signed links and previews are limited, like the API."""

from __future__ import annotations

from uuid import uuid4

import pytest
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from django.http import HttpResponse
from django.test import Client
from pytest_django import Settings

from notifications.messages.links import ANSWER, UNSUBSCRIBE
from people.models import User
from tests.make import make_channel, make_delivery, signed_in
from tests.network import closed_port


@pytest.fixture(autouse=True)
def two_a_minute(settings: Settings) -> None:
    settings.API_REQUESTS_PER_MINUTE = 2


def ask(path: str, address: str = "192.0.2.1") -> HttpResponse:
    return Client(REMOTE_ADDR=address).get(path)


def links(user: User) -> list[tuple[str, str]]:
    """Of each kind a valid one, and one that somebody guessed."""
    delivery = make_delivery(make_channel(user, "email"))
    email = EmailAddress.objects.create(user=user, email=user.email)
    answer, unsubscribe = ANSWER.token(delivery.notification_id), UNSUBSCRIBE.token(delivery.channel_id)
    guessed = uuid4().hex * 3
    return [
        (f"/answer/{answer}/", f"/answer/{guessed}/"),
        (f"/unsubscribe/{unsubscribe}/", f"/unsubscribe/{guessed}/"),
        (f"/unsubscribe/{unsubscribe}/remove/", f"/unsubscribe/{guessed}/remove/"),
        (f"/address/refuse/{EmailConfirmationHMAC(email).key}/", f"/address/refuse/{guessed}/"),
    ]


@pytest.mark.parametrize("kind", range(4))
def test_a_signed_link_is_counted_by_itself_and_a_guess_by_its_address(ada: User, kind: int) -> None:
    valid, guessed = links(ada)[kind]
    assert [ask(guessed).status_code for _ in range(3)] == [404, 404, 429]
    assert ask(guessed, "192.0.2.2").status_code == 404
    answers = [ask(valid, f"192.0.2.{number}") for number in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert [answer["RateLimit-Remaining"] for answer in answers] == ["1", "0", "0"]
    assert 1 <= int(answers[-1]["Retry-After"]) <= 60
    assert "Wait a minute" in answers[-1].content.decode()


def test_previews_are_counted_by_person(browser: Client) -> None:
    draft = {"kind": "daily", "time": "09:00", "time_zone": "UTC", "title": "Rent"}
    assert [browser.post("/reminders/preview/", draft).status_code for _ in range(3)] == [200, 200, 429]
    assert signed_in().post("/reminders/preview/", draft).status_code == 200


def test_links_and_previews_work_while_redis_is_away(browser: Client, ada: User, settings: Settings) -> None:
    settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": f"redis://127.0.0.1:{closed_port()}/0"}}
    assert {browser.post("/reminders/preview/", {}).status_code for _ in range(3)} == {200}
    [(valid, _), *_] = links(ada)
    assert {ask(valid).status_code for _ in range(3)} == {200}
