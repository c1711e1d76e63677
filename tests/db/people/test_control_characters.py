"""An email address with a control character would write a header of its own: it is refused wherever one is taken."""

from __future__ import annotations

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.core.management import CommandError, call_command
from django.test import Client

from notifications.models import Channel, Delivery
from people.models import User
from tests.make import NOON, make_channel, make_delivery, make_user, send_now, settle, take
from work.operators import summary as operator_summary

ADDRESSES = [
    '"a\x0bb"@example.org',
    '"a\x0cBcc: b"@example.org',
    '"a\x1cb"@example.org',
    '"a\x01b"@example.org',
    '"a\\\x1db"@example.org',
    '"a\x7fb"@example.org',
    "a@exam\u2028ple.org",
    "a@exam\u200bple.org",
    "a@exam\x85ple.org",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_form_takes_it(client: Client, browser: Client, ada: User, operator: Client, address: str) -> None:
    own = EmailAddress.objects.create(user=ada, email=ada.email, verified=True, primary=True)
    people, addresses = User.objects.count(), list(EmailAddress.objects.values())
    fields = {"email": address, "password1": "tower-bell-43", "password2": "tower-bell-43"}
    for one, path, extra, form in [
        (Client(), "/account/signup/", {}, "form"),
        (Client(), "/account/password/reset/", {}, "form"),
        (browser, "/account/email/", {"action_add": ""}, "form"),
        (operator, "/admin/people/user/add/", {"usable_password": "true"}, "adminform"),
        (operator, f"/admin/people/user/{ada.pk}/change/", {"is_active": "on"}, "adminform"),
        (operator, "/admin/account/emailaddress/add/", {"user": ada.pk}, "adminform"),
        (operator, f"/admin/account/emailaddress/{own.pk}/change/", {"primary": "on"}, "adminform"),
    ]:
        answer = one.post(path, fields | extra)
        assert answer.status_code == 200, path
        shown = answer.context[form]
        assert "email" in getattr(shown, "form", shown).errors, path
    answer = browser.post("/channels/new/email/", {"address": address})
    assert "address" in answer.context["details"].errors
    with pytest.raises(CommandError):
        call_command("createsuperuser", email=address, interactive=False)
    ada.refresh_from_db()
    assert (User.objects.count(), list(EmailAddress.objects.values())) == (people, addresses)
    assert (ada.email, Channel.objects.count(), mail.outbox) == ("ada@example.org", 0, [])


@pytest.mark.parametrize("name", ["A\nB", "A\x1bB", "A\u202eB", "\u200b"])
def test_a_name_at_sign_up_is_checked_as_in_the_settings(client: Client, browser: Client, name: str) -> None:
    fields = {"email": "new@example.org", "password1": "tower-bell-43", "name": name, "time_zone": "Europe/Berlin"}
    for one, path in ((client, "/account/signup/"), (browser, "/settings/")):
        assert "name" in one.post(path, fields).context["form"].errors
    assert not User.objects.filter(email="new@example.org").exists()


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_row_that_holds_one_is_given_up_with_a_reason_and_sends_nothing(ada: User, address: str) -> None:
    channel = make_channel(ada, "email", address={"address": address})
    delivery = make_delivery(channel)
    send_now(delivery.id)
    after = Delivery.objects.get(id=delivery.id)
    assert (after.state, after.reason_code) == ("dead", "damaged")
    assert mail.outbox == []


def test_one_operator_with_a_damaged_address_keeps_the_summary_from_nobody(ada: User) -> None:
    delivery = make_delivery(make_channel(ada, "webhook"))
    claim = take(delivery.id)
    assert claim is not None
    settle(claim, "dead", "It answered 404 Not Found.")
    for address in (ADDRESSES[0], "fine@example.org"):
        staff = make_user(is_staff=True)
        User.objects.filter(pk=staff.pk).update(email=address)
    assert operator_summary.send(NOON) >= 1
    assert "fine@example.org" in [letter.to[0] for letter in mail.outbox]
