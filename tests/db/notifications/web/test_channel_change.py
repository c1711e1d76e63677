"""The form that changes a channel: filled in, but for secrets; what is left empty stays."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from notifications.models import Channel, Delivery
from notifications.providers.base import Provider
from people.models import User
from tests.db.notifications.conftest import fresh
from tests.make import NOON, make_channel, make_user
from tests.unit.notifications.providers.test_contract import PROVIDERS, module_of

pytestmark = pytest.mark.django_db

HOOK = "https://example.org/hooks/planted"
HEADERS = "Authorization: Bearer planted"
ASKING = [provider for provider in PROVIDERS if provider.form.base_fields and not provider.from_browser]


def add(browser: Client, kind: str, **typed: str) -> Channel:
    browser.post(f"/channels/new/{kind}/", typed | {"label": "Mine"})
    Channel.objects.update(verified_at=NOON)
    Delivery.objects.all().delete()
    return Channel.objects.get()


def as_shown(browser: Client, channel: Channel) -> dict[str, Any]:
    """What the form sends when nothing is typed into it."""
    context = browser.get(f"/channels/{channel.id}/change/").context
    fields = [*context["details"], *context["label"]]
    sent = {field.name: field.value() for field in fields if field.value() not in (None, False)}
    return {"read": context["read"], **sent}


def change(browser: Client, channel: Channel, **typed: str) -> Any:
    return browser.post(f"/channels/{channel.id}/change/", as_shown(browser, channel) | typed)


@pytest.mark.parametrize("provider", ASKING, ids=lambda provider: provider.kind)
def test_sent_as_it_is_shown_it_changes_nothing(browser: Client, provider: Provider) -> None:
    for typed in module_of(provider).VALID:
        Channel.objects.all().delete()
        before = add(browser, provider.kind, **typed)
        answer = change(browser, before)
        assert answer.status_code == 302, answer.context["details"].errors
        after = fresh(before)
        assert after.destination() == before.destination()
        assert after.verified_at == NOON and not Delivery.objects.exists()


@pytest.mark.parametrize("provider", ASKING, ids=lambda provider: provider.kind)
def test_what_is_wrong_is_said_at_its_field_and_nothing_is_changed(browser: Client, provider: Provider) -> None:
    channel = add(browser, provider.kind, **module_of(provider).VALID[0])
    wrong, field = module_of(provider).INVALID[-1]
    if field == provider.revealed:
        wrong, field = {"url": "ftp://example.org"}, "url"
    answer = change(browser, channel, **wrong)
    assert field in answer.context["details"].errors
    assert fresh(channel).destination() == channel.destination()


def test_only_another_name_changes_nothing_else(browser: Client) -> None:
    channel = add(browser, "webhook", url=HOOK)
    change(browser, channel, label="Pager")
    after = fresh(channel)
    assert (after.label, after.verified_at, after.link_id) == ("Pager", NOON, None)
    assert after.sealed_secrets == channel.sealed_secrets
    assert not Delivery.objects.exists()


def test_a_new_token_is_kept_and_a_code_goes_out(browser: Client) -> None:
    channel = add(browser, "telegram", token="123456:" + "a" * 35, chat="4711")
    answer = change(browser, channel, token="123456:" + "b" * 35)
    after = fresh(channel)
    assert after.destination().secrets == {"token": "123456:" + "b" * 35}
    assert (after.address, after.verified_at) == ({"chat": "4711"}, None)
    assert answer["Location"] == f"/channels/{channel.id}/verify/"
    assert Delivery.objects.get().notification.subject == "Your code for Carillon"


def test_how_loud_it_is_needs_no_code(browser: Client) -> None:
    channel = add(browser, "ntfy", topic="ada-ferns-5tZ9q")
    change(browser, channel, priority="5")
    after = fresh(channel)
    assert (after.address["priority"], after.verified_at) == (5, NOON)
    assert after.destination().secrets == {"topic": "ada-ferns-5tZ9q"}


def test_a_webhook_keeps_its_signing_secret_and_those_that_sign_beside_it(browser: Client) -> None:
    channel = add(browser, "webhook", url=HOOK)
    path = f"/channels/{channel.id}/secret/new/"
    browser.post(path, {"replaces": browser.get(path).context["replaces"]})
    before = fresh(channel).destination().secrets
    change(browser, channel, url="https://example.com/hooks/other", secret="whsec_" + "A" * 32)
    after = fresh(channel).destination()
    assert after.address["url"] == "https://example.com"
    assert after.secrets == {**before, "path": "/hooks/other"}


def test_headers_are_kept_left_out_or_written_anew(browser: Client) -> None:
    channel = add(browser, "webhook", url=HOOK, headers=HEADERS)
    change(browser, channel, url="https://example.org/hooks/other")
    assert "planted" in fresh(channel).destination().secrets["headers"]
    change(browser, channel, headers="X-Key: other")
    assert fresh(channel).destination().secrets["headers"] == '{"X-Key": "other"}'
    change(browser, channel, drop_headers="on")
    assert "headers" not in fresh(channel).destination().secrets


@pytest.mark.parametrize(
    ("kind", "typed", "elsewhere", "fields"),
    [
        ("webhook", {"url": HOOK, "headers": HEADERS}, {"url": "https://example.com/hook"}, ["headers"]),
        (
            "ntfy",
            {"topic": "ada-ferns", "token": "tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2"},
            {"server": "https://example.com"},
            ["token", "topic"],
        ),
    ],
)
def test_what_one_server_was_given_in_secret_is_not_handed_to_another(
    browser: Client, kind: str, typed: dict[str, str], elsewhere: dict[str, str], fields: list[str]
) -> None:
    channel = add(browser, kind, **typed)
    answer = change(browser, channel, **elsewhere)
    assert sorted(answer.context["details"].errors) == fields
    assert "belongs to another server" in answer.content.decode()
    assert fresh(channel).destination() == channel.destination()
    again = {name: typed[name] for name in fields}
    assert change(browser, channel, **elsewhere, **again).status_code == 302
    assert fresh(channel).address["url"] == "https://example.com"


def test_of_two_tabs_the_second_sees_what_the_first_has_saved(browser: Client) -> None:
    channel = add(browser, "email", address="ada@example.net")
    stale = as_shown(browser, channel)
    change(browser, channel, address="first@example.net")
    answer = browser.post(f"/channels/{channel.id}/change/", stale | {"address": "second@example.net"}, follow=True)
    page = answer.content.decode()
    assert "nothing was saved" in page and "first@example.net" in page and "second@example.net" not in page
    assert fresh(channel).address == {"address": "first@example.net"}


def test_a_form_sent_twice_changes_once_and_leads_to_the_code(browser: Client) -> None:
    channel = add(browser, "telegram", token="123456:" + "a" * 35, chat="4711")
    form = as_shown(browser, channel) | {"token": "123456:" + "b" * 35}
    for _ in range(2):
        answer = browser.post(f"/channels/{channel.id}/change/", form)
        assert answer["Location"] == f"/channels/{channel.id}/verify/"
    assert Delivery.objects.count() == 1 and Channel.objects.count() == 2


def test_secrets_that_cannot_be_read_are_written_anew(browser: Client) -> None:
    channel = add(browser, "telegram", token="123456:" + "a" * 35, chat="4711")
    Channel.objects.update(sealed_secrets="written under a key that is not here")
    page = browser.get(f"/channels/{channel.id}/change/").content.decode()
    assert "Enter them again" in page
    assert "token" in change(browser, channel).context["details"].errors
    change(browser, channel, token="123456:" + "b" * 35)
    assert fresh(channel).destination().secrets == {"token": "123456:" + "b" * 35}


def test_a_webhook_whose_secret_cannot_be_read_gets_another_and_shows_it_once(browser: Client) -> None:
    channel = add(browser, "webhook", url=HOOK)
    Channel.objects.update(sealed_secrets="written under a key that is not here")
    page = browser.post(
        f"/channels/{channel.id}/change/", as_shown(browser, channel) | {"url": HOOK}, follow=True
    ).content.decode()
    assert fresh(channel).destination().secrets["secret"] in page


def test_the_inbox_has_nothing_to_change_and_does_not_offer_it(browser: Client, ada: User) -> None:
    inbox, letters = make_channel(ada), make_channel(ada, "email")
    assert browser.get(f"/channels/{inbox.id}/change/")["Location"] == f"/channels/{inbox.id}/"
    offered = "/change/"
    assert offered not in browser.get(f"/channels/{inbox.id}/").content.decode()
    assert offered in browser.get(f"/channels/{letters.id}/").content.decode()


def test_nobody_changes_a_channel_of_somebody_else_or_one_that_is_removed(browser: Client, ada: User) -> None:
    others = make_channel(make_user(), "email")
    gone = make_channel(ada, "email", removed_at=NOON)
    for channel in (others, gone):
        for ask in (browser.get, browser.post):
            assert ask(f"/channels/{channel.id}/change/", {"address": "x@example.org"}).status_code == 404
        assert fresh(channel).address == channel.address
