"""Whoever reads a channel ends what goes there, by the link in its messages: without an account, and by POST alone."""

from __future__ import annotations

import logging
import re
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from config import logs
from notifications.channels import changes, owner_notices, unsubscribe
from notifications.messages.links import ANSWER, UNSUBSCRIBE
from notifications.messages.message import Delivered, Destination, Message
from notifications.models import Channel, Delivery
from notifications.providers import ntfy
from notifications.reasons import DeliveryCode
from people.models import User
from tests.db.notifications.conftest import fresh, send_all
from tests.make import make_channel, make_delivery

pytestmark = pytest.mark.django_db

ONE_CLICK = {"List-Unsubscribe": "One-Click"}


@pytest.fixture
def letters(ada: User) -> Channel:
    return make_channel(ada, "email", label="Adas private letters", address={"address": "reader@example.net"})


def link(channel: Channel) -> str:
    return f"/unsubscribe/{UNSUBSCRIBE.token(channel.id)}/"


def text_of(client: Client, channel: Channel, path: str = "") -> str:
    return client.get(link(channel) + path).content.decode()


def test_a_mail_carries_the_link_beneath_its_text_and_in_its_headers(letters: Channel, settings: Settings) -> None:
    settings.BASE_URL = "https://carillon.example"
    make_delivery(letters)
    send_all()
    [sent] = mail.outbox
    address = UNSUBSCRIBE.address(letters.id)
    assert address == f"https://carillon.example{link(letters)}"
    assert str(sent.body).endswith(f"\n\n-- \nStop these messages: {address}\n")
    assert sent.extra_headers["List-Unsubscribe"] == f"<{address}>"


def test_looking_at_the_link_changes_nothing(client: Client, letters: Channel) -> None:
    before = Channel.objects.values().get(id=letters.id)
    for path in ("", "remove/"):
        for look in (client.get, client.head, client.options):
            look(link(letters) + path)
    assert Channel.objects.values().get(id=letters.id) == before


def test_the_page_tells_its_reader_the_address_and_nothing_of_its_owner(client: Client, letters: Channel) -> None:
    page = text_of(client, letters)
    assert "reader@example.net" in page
    assert not [told for told in ("ada@example.org", "Ada", letters.label) if told in page]


def test_the_link_is_told_to_nobody_else(client: Client, letters: Channel) -> None:
    for path in (link(letters), f"{link(letters)}remove/", f"/answer/{ANSWER.token(letters.id)}/", "/unsubscribe/x/"):
        answer = client.get(path)
        assert answer["Referrer-Policy"] == "no-referrer"
        assert answer["X-Robots-Tag"] == "noindex, nofollow"
        assert "no-store" in answer["Cache-Control"]
        line = f'127.0.0.1:5 - "GET {path} HTTP/1.1" 200'
        assert UNSUBSCRIBE.token(letters.id) not in logs.redact(line)


def test_stopping_disables_the_channel_and_what_comes_up_ends_with_the_reason(client: Client, letters: Channel) -> None:
    waiting = make_delivery(letters)
    page = client.post(link(letters), {"act": "stop"}, follow=True).content.decode()
    assert "You have unsubscribed" in page
    send_all()
    waiting.refresh_from_db()
    assert (waiting.state, waiting.reason) == (
        "dead",
        "The channel is disabled: You unsubscribed, by the link in a message.",
    )
    assert mail.outbox == []


def test_it_can_be_undone_on_the_page_that_follows(client: Client, letters: Channel) -> None:
    client.post(link(letters), {"act": "stop"})
    page = client.post(link(letters), {"act": "resume"}, follow=True).content.decode()
    assert "Stop messages to this address?" in page
    channel = fresh(letters)
    assert (channel.disabled_at, channel.disabled_reason, channel.unsubscribed_at) == (None, "", None)
    make_delivery(letters)
    send_all()
    assert len(mail.outbox) == 1


def test_a_mail_services_own_button_needs_neither_cookie_nor_token_and_acts_once(letters: Channel) -> None:
    service = Client(enforce_csrf_checks=True)
    for _ in range(3):
        answer = service.post(link(letters), "List-Unsubscribe=One-Click", "application/x-www-form-urlencoded")
        assert answer.status_code == 200
    first = fresh(letters)
    assert (first.disabled_code, first.removed_at) == (DeliveryCode.UNSUBSCRIBED, None)
    assert service.post(link(letters), ONE_CLICK).status_code == 200  # as multipart/form-data
    assert fresh(letters).unsubscribed_at == first.unsubscribed_at


def test_a_post_that_says_nothing_does_nothing(client: Client, letters: Channel) -> None:
    for posted in ({}, {"act": "explode"}):
        assert client.post(link(letters), posted).status_code == 200
    assert fresh(letters).disabled_at is None


@pytest.mark.parametrize("stopped", [False, True])
def test_removing_asks_first_and_the_link_says_ever_after_that_it_is_removed(
    client: Client, letters: Channel, stopped: bool
) -> None:
    if stopped:
        client.post(link(letters), {"act": "stop"})
    assert f'href="{link(letters)}remove/"' in text_of(client, letters)
    waiting = make_delivery(letters)
    assert "Remove this channel?" in text_of(client, letters, "remove/")
    assert fresh(letters).removed_at is None
    page = client.post(f"{link(letters)}remove/", follow=True).content.decode()
    assert "already removed" in page and "<form" not in page.split("<main")[1].split("</main>")[0]
    waiting.refresh_from_db()
    assert (waiting.state, waiting.reason) == ("cancelled", "The channel was removed.")
    for posted in ({"act": "stop"}, {"act": "resume"}, ONE_CLICK):
        assert "already removed" in client.post(link(letters), posted, follow=True).content.decode()
    assert "already removed" in client.get(f"{link(letters)}remove/", follow=True).content.decode()


def test_a_channel_of_any_kind_is_removed_by_its_link_and_its_secrets_erased(client: Client, ada: User) -> None:
    hook = make_channel(ada, "webhook")
    client.post(f"{link(hook)}remove/")
    assert (fresh(hook).removed_at is not None, fresh(hook).sealed_secrets) == (True, "")


def test_the_link_outlives_its_row_and_its_key(client: Client, letters: Channel, settings: Settings) -> None:
    path = link(letters)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another-one-from-now-on" * 3
    assert client.get(path).status_code == 200
    Channel.objects.filter(id=letters.id).delete()
    assert "already removed" in client.get(path).content.decode()
    assert client.post(path, ONE_CLICK).status_code == 200
    settings.SECRET_KEY_FALLBACKS = []
    assert client.get(path).status_code == 404


def test_a_link_is_good_for_its_own_channel_and_purpose_alone(client: Client, ada: User, letters: Channel) -> None:
    other = make_channel(ada)
    token = UNSUBSCRIBE.token(letters.id)
    forged = [other.id.hex + token[32:], ANSWER.token(letters.id), token[:-1], token + "0", token.upper(), "x"]
    for each in forged:
        answer = client.post(f"/unsubscribe/{each}/", {"act": "stop"})
        assert (answer.status_code, "copy all of it" in answer.content.decode()) == (404, True)
    assert not Channel.objects.exclude(disabled_at=None).exists()


def test_the_owner_reads_why_and_enables_it_again(browser: Client, letters: Channel) -> None:
    unsubscribe.stop(letters.id)
    assert "You unsubscribed" in browser.get("/channels/").content.decode()
    page = browser.get(f"/channels/{letters.id}/").content.decode()
    assert "You unsubscribed" in page and ">Enable<" in page
    browser.post(f"/channels/{letters.id}/enable/")
    assert (fresh(letters).disabled_at, fresh(letters).unsubscribed_at) == (None, None)
    unsubscribe.stop(letters.id)
    assert fresh(letters).disabled_at is not None


def test_the_owner_is_told_on_another_channel(ada: User, letters: Channel) -> None:
    make_channel(ada)
    unsubscribe.stop(letters.id)
    assert owner_notices.tell_owners(timezone.now()) == 1
    [told] = Delivery.objects.filter(provider="inbox")
    assert "You unsubscribed" in told.notification.body


def test_what_an_operator_disabled_no_link_enables(client: Client, letters: Channel) -> None:
    unsubscribe.stop(letters.id)
    changes.enable([letters.id])
    changes.disable([letters.id], "It was abused.")
    assert "disabled by an administrator" in text_of(client, letters)
    for act in ("stop", "resume"):
        client.post(link(letters), {"act": act})
    assert (fresh(letters).disabled_reason, fresh(letters).unsubscribed_at) == ("It was abused.", None)


def test_what_its_own_answers_disabled_the_reader_may_stop_for_good(letters: Channel) -> None:
    since = timezone.now() - timedelta(days=9)
    Channel.objects.update(
        disabled_at=since,
        disabled_code="note",
        disabled_params={"said": "Its service says that it is gone."},
        failing_since=since,
    )
    unsubscribe.stop(letters.id)
    assert fresh(letters).disabled_code == DeliveryCode.UNSUBSCRIBED


# A stranger enters somebody's address: nothing but a code goes there, and its reader can end even that.


@pytest.fixture
def stranger(browser: Client, ada: User) -> Channel:
    browser.post("/channels/new/email/", {"address": "victim@example.net"})
    send_all()
    return Channel.objects.get(user=ada)


def test_a_code_comes_with_the_link_once_and_no_page_or_table_has_it(browser: Client, stranger: Channel) -> None:
    [sent] = mail.outbox
    assert str(sent.body).count(UNSUBSCRIBE.address(stranger.id)) == 1
    token = UNSUBSCRIBE.token(stranger.id)
    said = Delivery.objects.get().notification
    assert token not in said.body
    assert token not in browser.get(f"/history/{said.id}/").content.decode()


def test_a_code_on_a_channel_of_another_kind_carries_the_link_in_its_text(
    browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Message] = []

    def send(self: object, message: Message, destination: Destination) -> Delivered:
        sent.append(message)
        return Delivered()

    monkeypatch.setattr(ntfy.Ntfy, "send", send)
    browser.post("/channels/new/ntfy/", {"server": "https://ntfy.sh", "topic": "somebodys-topic"})
    send_all()
    channel = Channel.objects.get()
    assert f"Not yours? Stop it: {UNSUBSCRIBE.address(channel.id)}" in sent[0].body


@pytest.mark.parametrize("posted", [{"act": "stop"}, ONE_CLICK])
def test_stopping_codes_removes_the_address_and_keeps_it_from_being_entered_again(
    client: Client, browser: Client, stranger: Channel, posted: dict[str, str]
) -> None:
    assert "Did you ask for this code?" in text_of(client, stranger)
    after = client.post(link(stranger), posted, follow=True).content.decode()
    assert "no more codes are sent there" in after
    assert fresh(stranger).removed_at is not None
    browser.post(f"/channels/{stranger.id}/code/")
    page = browser.post("/channels/new/email/", {"address": "Victim@Example.net"}).content.decode()
    assert "has refused emails" in page
    send_all()
    assert len(mail.outbox) == 1


def test_removing_and_entering_it_anew_is_no_way_around_it(client: Client, browser: Client, stranger: Channel) -> None:
    browser.post(f"/channels/{stranger.id}/remove/")
    assert "Did you ask for this code?" in text_of(client, stranger)
    client.post(link(stranger), {"act": "stop"})
    browser.post("/channels/new/email/", {"address": "victim@example.net"})
    assert Channel.objects.count() == 1


def test_whoever_stopped_their_own_code_by_mistake_lets_the_address_be_added_again(
    client: Client, browser: Client, stranger: Channel
) -> None:
    client.post(link(stranger), {"act": "stop"})
    assert "Allow it again" in text_of(client, stranger)
    client.post(link(stranger), {"act": "resume"})
    browser.post("/channels/new/email/", {"address": "victim@example.net"})
    assert Channel.objects.filter(removed_at=None).count() == 1


def test_a_channel_of_another_kind_that_nobody_verified_is_removed_and_that_is_said(client: Client, ada: User) -> None:
    hook = make_channel(ada, "webhook", verified_at=None)
    assert "no more codes" not in text_of(client, hook)
    page = client.post(link(hook), {"act": "stop"}, follow=True).content.decode()
    assert "already removed" in page and "added again" not in page
    assert fresh(hook).sealed_secrets == ""


def test_other_addresses_and_other_people_are_not_refused(client: Client, browser: Client, stranger: Channel) -> None:
    client.post(link(stranger), {"act": "stop"})
    browser.post("/channels/new/email/", {"address": "ada@example.net"})
    assert Channel.objects.filter(removed_at=None).count() == 1


def test_the_link_is_in_no_log_line_of_a_send(letters: Channel, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    make_delivery(letters)
    send_all()
    token = urlsplit(UNSUBSCRIBE.address(letters.id)).path
    assert re.search(token, caplog.text) is None
    assert token not in repr(Message(letters.id, "s", "b", "r", unsubscribe_url=token))
