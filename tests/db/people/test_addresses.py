"""A person's own mail addresses, and the page behind the link that confirms one."""

from __future__ import annotations

import pytest
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from django.test import Client
from pytest_django.fixtures import Settings

from demo.receivers import SMTPReceiver
from people.models import User
from tests.make import make_user


def make_address(user: User, email: str = "second@example.net", *, verified: bool = False) -> EmailAddress:
    return EmailAddress.objects.create(user=user, email=email, verified=verified)


def test_each_address_has_its_own_buttons(browser: Client, ada: User) -> None:
    EmailAddress.objects.create(user=ada, email=ada.email, primary=True)
    make_address(ada)
    page = browser.get("/account/email/").content.decode()
    assert "Make second@example.net primary" in page
    assert "Resend the link to second@example.net" in page
    assert f"Remove {ada.email}" not in page


@pytest.mark.parametrize("button", ["action_primary", "action_remove"])
def test_a_button_acts_on_the_address_beside_it(browser: Client, ada: User, button: str) -> None:
    make_address(ada, verified=True)
    browser.get("/account/email/")
    browser.post("/account/email/", {"email": "second@example.net", button: ""})
    kept = EmailAddress.objects.filter(user=ada, email="second@example.net")
    assert [address.primary for address in kept] == ([True] if button == "action_primary" else [])


def test_a_wrong_address_is_said_at_its_field(browser: Client) -> None:
    answer = browser.post("/account/email/", {"email": "nobody", "action_add": ""})
    assert list(answer.context["form"].errors) == ["email"]
    assert 'id="id_email_error"' in answer.content.decode()


def test_the_link_in_the_mail_leads_to_a_question_with_one_button(client: Client, ada: User) -> None:
    key = EmailConfirmationHMAC(make_address(ada)).key
    page = client.get(f"/account/confirm-email/{key}/").content.decode()
    assert "second@example.net" in page and "Is this address yours?" in page
    client.post(f"/account/confirm-email/{key}/")
    assert EmailAddress.objects.get(email="second@example.net").verified


def test_a_link_that_is_not_known_says_what_to_do(client: Client) -> None:
    page = client.get("/account/confirm-email/nonsense/").content.decode()
    assert "This link no longer works" in page and "Get a new link" in page


def test_an_address_of_somebody_else_cannot_be_confirmed(client: Client, ada: User) -> None:
    key = EmailConfirmationHMAC(make_address(ada)).key
    make_address(make_user(), verified=True)
    page = client.get(f"/account/confirm-email/{key}/").content.decode()
    assert "belongs to another account" in page and "second@example.net" in page


def test_a_mail_about_an_account_is_from_a_machine_and_errors_go_to_the_operator(
    browser: Client, ada: User, settings: Settings
) -> None:
    make_address(ada)
    settings.MAIL_RETURN_PATH = "bounces@mail.example"
    settings.EMAIL_BACKEND = "notifications.net.smtp.Backend"
    with SMTPReceiver() as receiver:
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", receiver.port
        browser.post("/account/email/", {"email": "second@example.net", "action_send": ""})
    (sent,) = receiver.mails
    assert sent.message["Auto-Submitted"] == "auto-generated"
    assert (sent.sender, sent.recipients) == ("bounces@mail.example", ["second@example.net"])
    assert sent.message["From"] == settings.DEFAULT_FROM_EMAIL
