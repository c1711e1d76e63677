"""Nothing but a code goes to an address before its owner has shown that they read what arrives there."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from notifications.channels import changes
from notifications.deliveries import confirmation
from notifications.messages.links import UNSUBSCRIBE
from notifications.models import Channel, Delivery, Notification
from people import codes
from people.models import Code, User
from people.sign_in import mailboxes
from tests.db.notifications.conftest import code_in, fresh, send_all
from tests.make import make_channel, make_delivery, make_user, send_now

pytestmark = pytest.mark.django_db


@pytest.fixture
def channel(browser: Client, ada: User) -> Channel:
    """Added through the form, its code sent."""
    browser.post("/channels/new/email/", {"address": "ada@example.net", "label": "Mail"})
    send_all()
    return Channel.objects.get(user=ada)


def wrong_code() -> str:
    return f"{(int(code_in(-1).replace('-', '')) + 1) % 10**8:08}"


def enter(browser: Client, channel: Channel, code: str) -> str:
    answer = browser.post(f"/channels/{channel.id}/verify/", {"code": code}, follow=True)
    return answer.content.decode()


def is_verified(channel: Channel) -> bool:
    return fresh(channel).verified_at is not None


@pytest.mark.parametrize("written", ["{}", " {} ", "{} \n"])
def test_the_code_that_arrived_verifies_the_channel(browser: Client, channel: Channel, written: str) -> None:
    assert not is_verified(channel)
    assert [letter.to for letter in mail.outbox] == [["ada@example.net"]]
    assert "is ready" in enter(browser, channel, written.format(code_in(-1)))
    assert is_verified(channel)
    assert not Code.objects.exists()


def test_no_page_and_no_table_holds_the_code(browser: Client, channel: Channel) -> None:
    code = code_in(-1)
    notification = Notification.objects.get()
    assert codes.MARK in notification.body
    pages = [f"/history/{notification.id}/", "/history/", "/channels/", f"/channels/{channel.id}/verify/"]
    assert not [path for path in pages if code in browser.get(path).content.decode()]
    assert code.replace("-", "") not in str(Code.objects.values())


def test_the_history_tells_a_code_from_a_test(browser: Client, channel: Channel) -> None:
    confirmation.accept(channel)
    changes.send_test(channel, timezone.now())
    test, code = Notification.objects.all()
    for notification, said in ((test, "test"), (code, "code")):
        page = re.sub(r"\s+", " ", browser.get(f"/history/{notification.id}/").content.decode())
        assert f"· {said}</p>" in page
    listed = browser.get("/history/?show=tests").content.decode()
    assert listed.index("· test</p>") < listed.index("· code</p>")


def test_five_wrong_tries_spend_the_code(browser: Client, channel: Channel) -> None:
    wrong, right = wrong_code(), code_in(-1)
    for _ in range(codes.TRIES):
        assert "not the latest code" in enter(browser, channel, wrong)
    assert "has expired" in enter(browser, channel, right)
    assert not is_verified(channel)


def test_the_same_code_entered_twice_at_once_is_used_once(browser: Client, channel: Channel) -> None:
    code = code_in(-1)

    def use(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        """The other one has used it as soon as this try is counted."""
        done = execute(sql, *rest)
        if sql.startswith('UPDATE "people_code"'):
            Code.objects.all().delete()
        return done

    with connection.execute_wrapper(use):
        assert "has expired" in enter(browser, channel, code)
    assert not is_verified(channel)


def test_a_code_lives_for_a_quarter_of_an_hour(channel: Channel) -> None:
    sent = Code.objects.get().made_at
    with pytest.raises(codes.Spent):
        confirmation.confirm(channel, code_in(-1), sent + codes.LIFE)
    assert confirmation.confirm(channel, code_in(-1), sent + codes.LIFE - timedelta(seconds=1))


def test_a_new_code_comes_after_a_minute_and_ends_the_last(browser: Client, channel: Channel) -> None:
    first = code_in(-1)
    answer = browser.post(f"/channels/{channel.id}/code/", follow=True)
    assert "A code was just sent" in answer.content.decode()
    assert Notification.objects.count() == 1
    Code.objects.update(made_at=timezone.now() - codes.PAUSE, tries=codes.TRIES)
    Notification.objects.update(created_at=timezone.now() - codes.PAUSE)
    browser.post(f"/channels/{channel.id}/code/")
    send_all()
    assert code_in(-1) != first
    assert "not the latest code" in enter(browser, channel, first)
    assert "is ready" in enter(browser, channel, code_in(-1))


def test_the_code_of_another_channel_is_worth_nothing(browser: Client, channel: Channel, ada: User) -> None:
    browser.post("/channels/new/email/", {"address": "victim@example.net", "label": "Other"})
    other = Channel.objects.exclude(id=channel.id).get()
    assert "not the latest code" in enter(browser, other, code_in(-1))
    assert not is_verified(other)


def test_an_unverified_channel_gets_neither_reminders_nor_tests(browser: Client, channel: Channel) -> None:
    reminder = make_delivery(channel)
    send_now(reminder.id)
    assert Delivery.objects.get(id=reminder.id).reason == "The channel is not confirmed yet."
    answer = browser.post(f"/channels/{channel.id}/test/")
    assert answer["Location"] == f"/channels/{channel.id}/verify/"
    assert len(mail.outbox) == 1


def test_an_address_confirmed_at_sign_up_counts(ada: User) -> None:
    EmailAddress.objects.create(user=ada, email="ada@example.org", verified=True)
    EmailAddress.objects.create(user=ada, email="ada@example.com", verified=False)
    EmailAddress.objects.create(user=make_user(), email="victim@example.net", verified=True)
    verified = {
        address: changes.add(ada, "email", {"address": address}).verified_at is not None
        for address in ("Ada@example.org", "ada@example.com", "victim@example.net")
    }
    assert verified == {"Ada@example.org": True, "ada@example.com": False, "victim@example.net": False}


def test_a_reminder_that_says_the_mark_is_sent_as_it_was_written(channel: Channel, ada: User) -> None:
    confirmation.accept(channel)
    send_now(make_delivery(channel, body=f"My code is {codes.MARK}").id)
    assert str(mail.outbox[-1].body).startswith(f"My code is {codes.MARK}\n")


def test_removing_a_channel_and_adding_it_again_sends_no_code_sooner(browser: Client, ada: User) -> None:
    def add(address: str) -> str:
        page = browser.post("/channels/new/email/", {"address": address}, follow=True).content.decode()
        changes.remove(Channel.objects.filter(user=ada).latest("id"))
        return page

    assert "A code is on its way" in add("victim@example.net")
    assert "A code was just sent" in add("Victim@Example.net")
    assert "A code is on its way" in add("other@example.net")
    assert Notification.objects.count() == 2


def test_one_address_is_sent_so_many_codes_a_day_whatever_the_channels(
    browser: Client, channel: Channel, ada: User
) -> None:
    for _ in range(mailboxes.MAILS_A_DAY):
        Notification.objects.update(created_at=timezone.now() - codes.PAUSE)
        Code.objects.update(made_at=timezone.now() - codes.PAUSE)
        page = browser.post(f"/channels/{channel.id}/code/", follow=True).content.decode()
    assert "5 codes were sent to this address" in page
    assert Notification.objects.count() == mailboxes.MAILS_A_DAY
    page = browser.post("/channels/new/email/", {"address": "ADA@example.net"}, follow=True).content.decode()
    assert "5 codes were sent to this address" in page


def test_whoever_stops_the_codes_of_one_channel_stops_those_of_the_others_to_the_address(
    client: Client, browser: Client, channel: Channel, ada: User
) -> None:
    same = make_channel(ada, "email", address={"address": "ADA@example.net"}, verified_at=None)
    other = make_channel(ada, "email", address={"address": "other@example.net"}, verified_at=None)
    proven = make_channel(ada, "email", address=channel.address)
    theirs = make_channel(make_user(), "email", address=channel.address, verified_at=None)
    client.post(f"/unsubscribe/{UNSUBSCRIBE.token(channel.id)}/", {"act": "stop"})
    assert set(Channel.objects.filter(removed_at=None)) == {other, proven, theirs}
    assert browser.post(f"/channels/{same.id}/code/").status_code == 404


def test_tests_and_codes_are_bounded_within_a_day(browser: Client, ada: User, settings: Settings) -> None:
    settings.TESTS_A_DAY = 2
    inbox = make_channel(ada)
    for _ in range(2):
        browser.post(f"/channels/{inbox.id}/test/")
    refused = browser.post(f"/channels/{inbox.id}/test/", headers={"HX-Request": "true"}).content.decode()
    assert "You sent 2 tests and codes" in refused
    page = browser.post("/channels/new/email/", {"address": "victim@example.net"}, follow=True).content.decode()
    assert "You sent 2 tests and codes" in page
    assert Notification.objects.count() == 2
    Notification.objects.update(created_at=timezone.now() - timedelta(days=1))
    assert "Test:" in browser.post(f"/channels/{inbox.id}/test/", headers={"HX-Request": "true"}).content.decode()
