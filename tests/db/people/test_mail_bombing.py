"""Nobody can have a mailbox filled by typing its address, however it is written, from however many accounts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import cycle, islice

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from notifications.channels import verification
from notifications.messages.links import UNSUBSCRIBE
from notifications.models import Channel, Delivery, Notification
from people.sign_in import mailboxes
from people.sign_in.mailboxes import MAILS_A_DAY
from tests.make import make_channel, make_user, send_now, signed_in
from tests.network import closed_port

VICTIM = "victim@example.net"
PASSWORD = "bell-tower-42"


def spellings() -> Iterator[str]:
    return cycle([VICTIM, "VICTIM@example.net", "victim+a@example.net", "Victim+b@Example.NET", '"victim"@example.net'])


@pytest.fixture
def no_minute_limits(settings: Settings) -> None:
    """Those of allauth: somebody patient is under all of them."""
    settings.ACCOUNT_RATE_LIMITS = dict.fromkeys(
        ["reset_password", "confirm_email", "signup", "manage_email", "reauthenticate", "login"]
    )


@pytest.mark.parametrize("owner", ["nobody", "somebody"])
def test_a_mailbox_gets_a_few_password_resets_a_day_however_its_address_is_written(
    no_minute_limits: None, owner: str
) -> None:
    if owner == "somebody":
        make_user(email=VICTIM)
    for number, address in zip(range(15), spellings(), strict=False):
        answer = Client(REMOTE_ADDR=f"192.0.2.{number}").post("/account/password/reset/", {"email": address})
        assert answer.status_code == 302
    assert len(mail.outbox) == MAILS_A_DAY


def test_a_mailbox_gets_a_few_confirmations_a_day_from_all_accounts_and_sign_ups(no_minute_limits: None) -> None:
    for number, address in zip(range(12), spellings(), strict=False):
        if number % 2:
            signed_in(make_user()).post("/account/email/", {"email": address, "action_add": ""})
        else:
            Client().post("/account/signup/", {"email": address, "password1": PASSWORD})
    assert len([letter for letter in mail.outbox if "victim" in letter.to[0].lower()]) == MAILS_A_DAY


def test_whoever_adds_an_address_is_told_that_no_mail_went_there(no_minute_limits: None) -> None:
    for _ in range(MAILS_A_DAY):
        assert mailboxes.may_send(mailboxes.Purpose.CONFIRMATION, VICTIM)
    fields = {"email": VICTIM, "action_add": ""}
    page = signed_in(make_user()).post("/account/email/", fields, follow=True).content.decode()
    assert "The daily limit of emails" in page
    assert "We sent" not in page
    assert mail.outbox == []


def test_an_account_has_few_addresses_and_changes_them_seldom(settings: Settings) -> None:
    settings.ACCOUNT_RATE_LIMITS = {"manage_email": "100/m/user,30/d/user"}
    ada = make_user()
    browser = signed_in(ada)
    for number in range(6):
        browser.post("/account/email/", {"email": f"a{number}@example.net", "action_add": ""})
    assert EmailAddress.objects.filter(user=ada).count() == 3
    answers = [browser.post("/account/email/", {"email": "a0@example.net", "action_x": ""}) for _ in range(30)]
    assert answers[-1].status_code == 429


def codes_sent(channels: Iterable[Channel]) -> int:
    """To how many of these channels, each of another account, a code goes."""
    sent = 0
    for channel in channels:
        with suppress(verification.TooManyCodes):
            verification.send_code(channel, timezone.now())
            sent += 1
    assert Delivery.objects.count() == sent
    return sent


def test_a_mailbox_gets_a_few_codes_a_day_from_all_accounts() -> None:
    channels = (
        make_channel(make_user(), "email", verified_at=None, address={"address": address})
        for address in islice(spellings(), 12)
    )
    assert codes_sent(channels) == MAILS_A_DAY


def test_a_topic_gets_a_few_codes_a_day_from_all_accounts() -> None:
    topic = {"server": "https://ntfy.sh", "topic": "theirs"}
    channels = (make_channel(make_user(), "ntfy", verified_at=None, address=topic) for _ in range(12))
    assert codes_sent(channels) == MAILS_A_DAY


def test_a_webhook_gets_a_few_codes_a_day_though_each_channel_has_a_secret_of_its_own() -> None:
    hooks = ({"url": "https://example.org/hook", "secret": f"whsec_{number}"} for number in range(12))
    channels = (make_channel(make_user(), "webhook", kept, verified_at=None) for kept in hooks)
    assert codes_sent(channels) == MAILS_A_DAY


def test_one_purpose_does_not_hold_back_another() -> None:
    make_user(email=VICTIM)
    for _ in range(MAILS_A_DAY):
        assert mailboxes.may_send(mailboxes.Purpose.CODE, VICTIM)
    Client().post("/account/password/reset/", {"email": VICTIM})
    assert len(mail.outbox) == 1


def test_while_redis_is_down_each_process_counts(settings: Settings) -> None:
    settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": f"redis://127.0.0.1:{closed_port()}/0"}}
    sent = [mailboxes.may_send(mailboxes.Purpose.RECOVERY, "anna@example.org") for _ in range(MAILS_A_DAY + 1)]
    assert sent == [True] * MAILS_A_DAY + [False]


def test_no_code_goes_out_while_codes_cannot_be_counted(settings: Settings) -> None:
    settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": f"redis://127.0.0.1:{closed_port()}/0"}}
    channel = make_channel(make_user(), "email", verified_at=None)
    with pytest.raises(verification.TooManyCodes):
        verification.send_code(channel, timezone.now())
    assert not Notification.objects.exists()


# A reader's refusal.


def stopped_code() -> Channel:
    """A code went to the victim, who stopped it."""
    browser = signed_in(make_user())
    browser.post("/channels/new/email/", {"address": VICTIM})
    for delivery in Delivery.objects.filter(state="pending"):
        send_now(delivery.id)
    mail.outbox.clear()
    channel = Channel.objects.get(provider="email")
    Client().post(f"/unsubscribe/{UNSUBSCRIBE.token(channel.id)}/", {"act": "stop"})
    return channel


def test_a_refusal_holds_for_every_account_and_every_way(no_minute_limits: None) -> None:
    stopped_code()
    other = make_user()
    waiting = make_channel(other, "email", address={"address": "Victim+x@example.net"}, verified_at=None)
    browser = signed_in(other)
    browser.post(f"/channels/{waiting.id}/code/")
    for address in ("victim@example.net", "victim+tag@example.net", "VICTIM@EXAMPLE.NET"):
        added = browser.post("/channels/new/email/", {"address": address})
        assert added.context["details"].non_field_errors()
        for path, fields, name in [
            ("/account/email/", {"email": address, "action_add": ""}, "form"),
            ("/account/signup/", {"email": address, "password1": PASSWORD}, "form"),
        ]:
            client = browser if "action_add" in fields else Client()
            assert list(client.post(path, fields).context[name].errors) == ["email"]
        Client().post("/account/password/reset/", {"email": address})
    for delivery in Delivery.objects.filter(state="pending"):
        send_now(delivery.id)
    assert mail.outbox == []


def test_a_refusal_is_undone_by_its_link(no_minute_limits: None) -> None:
    channel = stopped_code()
    Client().post(f"/unsubscribe/{UNSUBSCRIBE.token(channel.id)}/", {"act": "resume"})
    signed_in(make_user()).post("/account/email/", {"email": VICTIM, "action_add": ""})
    assert len(mail.outbox) == 1


def test_an_account_that_confirmed_the_address_goes_on_after_a_refusal() -> None:
    owner = make_user(email=VICTIM)
    EmailAddress.objects.create(user=owner, email=VICTIM, verified=True, primary=True)
    mailboxes.refuse(VICTIM)
    Client().post("/account/password/reset/", {"email": VICTIM})
    assert [letter.subject for letter in mail.outbox] == ["[Carillon] Choose a new password"]


def test_the_mail_that_asks_to_confirm_an_address_carries_a_link_that_ends_them(no_minute_limits: None) -> None:
    signed_in(make_user()).post("/account/email/", {"email": VICTIM, "action_add": ""})
    found = re.search(r"https?://[^/]+(/address/refuse/\S+)", str(mail.outbox[0].body))
    assert found
    reader = Client(enforce_csrf_checks=True)
    page = reader.get(found[1])
    assert not mailboxes.is_refused(VICTIM)  # programs look at links
    token = reader.cookies["csrftoken"].value
    reader.post(found[1], {"act": "refuse", "csrfmiddlewaretoken": token})
    assert page.status_code == 200
    assert mailboxes.is_refused(VICTIM)
    signed_in(make_user()).post("/account/email/", {"email": VICTIM, "action_add": ""})
    assert len(mail.outbox) == 1
    reader.post(found[1], {"act": "allow", "csrfmiddlewaretoken": token})
    assert not mailboxes.is_refused(VICTIM)
    assert reader.get("/address/refuse/x/").status_code == 404


def test_an_operator_allows_mail_again_for_a_reader_who_lost_the_link() -> None:
    mailboxes.refuse(VICTIM)
    staff = signed_in(make_user(is_staff=True, is_superuser=True))
    assert VICTIM in staff.get("/admin/people/refusedmailbox/?q=Victim%2Bx@example.net").content.decode()
    staff.post("/admin/people/refusedmailbox/victim_40example.net/delete/", {"post": "yes"})
    assert not mailboxes.is_refused(VICTIM)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Ada+reminders@Example.ORG", "ada@example.org"),
        ('"a\\da+x"@example.org', "ada@example.org"),
        ("ada@bücher.example", "ada@xn--bcher-kva.example"),
        ("+x@example.org", "+x@example.org"),
        ("a.d.a+x@GoogleMail.com", "ada@gmail.com"),
        ("a.d.a@example.org", "a.d.a@example.org"),
    ],
)
def test_ways_to_write_one_mailbox_are_one(written: str, read: str) -> None:
    assert mailboxes.mailbox(written) == read


def test_limits_are_counted_where_all_processes_see_them() -> None:
    mailboxes.may_send(mailboxes.Purpose.CODE, VICTIM)
    assert [key for key in cache._cache.get_client().keys("*") if b"recipient" in key]  # type: ignore[attr-defined]
