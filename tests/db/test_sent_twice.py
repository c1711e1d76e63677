"""Forms that are sent twice, as by a second click where no script runs: one row, and the second answer leads on."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from demo.receivers import HTTPReceiver, Reply
from events.models import InboundAddress
from jobs.models import Connection
from notifications.models import Channel
from people.models import CallOverride, Membership, User
from tests.make import make_user, signed_in
from watches.models import StatusPage

FORMS: list[tuple[str, type[Any], dict[str, str]]] = [
    ("/channels/new/email/", Channel, {"address": "ada@work.example"}),
    ("/channels/new/queue/", Channel, {}),
    ("/channels/new/board/", Channel, {}),
    ("/inbound/new", InboundAddress, {"label": "Shop", "scheme": "none", "enabled": "on"}),
    ("/teams/", Membership, {"name": "Family"}),
    ("/watches/pages/new/", StatusPage, {"title": "Status", "slug": "ours"}),
]


def filled(browser: Client, page: str, typed: dict[str, str]) -> dict[str, str]:
    [made_as] = re.findall(r'name="made_as" value="([^"]+)"', browser.get(page).content.decode())
    return typed | {"made_as": made_as}


@pytest.mark.parametrize(("page", "model", "typed"), FORMS, ids=[page for page, _, _ in FORMS])
def test_a_form_that_is_sent_twice_makes_one_row(
    browser: Client, ada: User, page: str, model: type[Any], typed: dict[str, str]
) -> None:
    before, body = model.objects.count(), filled(browser, page, typed)
    answers = [browser.post(page, body) for _ in range(2)]
    assert [one.status_code for one in answers] == [302, 302]
    assert model.objects.count() == before + 1
    assert browser.get(answers[1]["Location"]).status_code == 200
    browser.post(page, filled(browser, page, typed | {"slug": "other"}))  # a new form
    assert model.objects.count() == before + 2


def test_it_does_not_matter_how_the_id_is_written(browser: Client) -> None:
    body = filled(browser, "/channels/new/board/", {})
    written = body["made_as"].upper()
    assert [browser.post("/channels/new/board/", {"made_as": written}).status_code for _ in range(2)] == [302, 302]
    assert Channel.objects.filter(provider="board").count() == 1


def test_a_connection_that_is_sent_twice_is_one(browser: Client, settings: Settings) -> None:
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    page = "/connections/new/address/"
    with HTTPReceiver(lambda _: Reply(200)) as site:
        body = filled(browser, page, {"url": f"{site.origin}/prices.json"})
        assert [browser.post(page, body)["Location"] for _ in range(2)] == ["/connections/", "/connections/"]
    assert Connection.objects.count() == 1


def test_a_webhook_whose_form_is_sent_again_later_does_not_show_its_secret_again(
    browser: Client, settings: Settings
) -> None:
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with HTTPReceiver(lambda _: Reply(200)) as hook:
        body = filled(browser, "/channels/new/webhook/", {"url": f"{hook.origin}/hook"})
        first, again = (browser.post("/channels/new/webhook/", body, follow=True) for _ in range(2))
    secret = Channel.objects.get(provider="webhook").destination().secrets["secret"]
    assert (secret in first.content.decode(), secret in again.content.decode()) == (True, False)


def test_the_id_of_somebody_elses_row_opens_nothing(browser: Client, ada: User) -> None:
    page, typed = "/inbound/new", {"label": "Shop", "scheme": "none", "enabled": "on"}
    body = filled(browser, page, typed)
    assert signed_in(make_user()).post(page, body).status_code == 302
    assert browser.post(page, body).status_code == 404
    assert not InboundAddress.objects.filter(user=ada).exists()


def test_a_change_of_who_is_on_call_that_is_sent_twice_is_one(browser: Client, ada: User) -> None:
    browser.post("/teams/", {"name": "Family"})
    member = Membership.objects.get(person=ada)
    tomorrow = timezone.localdate() + timedelta(days=1)
    times = {"begins_at": f"{tomorrow}T09:00", "ends_at": f"{tomorrow}T10:00"}
    for _ in range(2):
        sent = browser.post(f"/teams/{member.team_id}/on-call/", {"act": "override", "member": member.id} | times)
        assert sent.status_code == 302
    assert CallOverride.objects.count() == 1
