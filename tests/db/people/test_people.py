"""The front page, sign-up, sign-in, password reset and settings."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core import mail
from django.http import HttpRequest
from django.test import Client
from pytest_django import Settings

from notifications.models import Channel
from people.account.settings_form import SettingsForm
from people.models import User
from people.web.account_forms import SignUpForm
from tests.make import NOON, make_user, signed_in

ANNA = {"name": "Anna", "email": "anna@example.org", "password1": "bell-tower-42", "time_zone": "Europe/Rome"}


def give_password(user: User) -> None:
    user.set_password("bell-tower-42")
    user.save()


def test_the_front_page_says_what_it_is_and_leads_in(client: Client) -> None:
    page = client.get("/").content.decode()
    assert 'href="/account/signup/"' in page and 'href="/account/login/"' in page


def test_the_front_page_of_somebody_signed_in_is_their_reminders(browser: Client) -> None:
    assert browser.get("/")["Location"] == "/reminders/"


def test_signing_up_makes_a_person_with_a_zone_and_an_inbox(client: Client) -> None:
    assert client.post("/account/signup/", ANNA)["Location"] == "/reminders/"
    anna = User.objects.get(email="anna@example.org")
    assert (anna.name, anna.time_zone) == ("Anna", "Europe/Rome")
    [inbox] = Channel.objects.for_user(anna)
    assert (inbox.provider, inbox.label) == ("inbox", "Inbox")
    assert client.get("/reminders/").status_code == 200


def test_a_sign_up_that_is_sent_twice_at_once_leads_to_the_sign_in(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def save_after_the_other(form: SignUpForm, request: HttpRequest) -> Any:
        make_user(email=ANNA["email"])
        return save(form, request)

    save = SignUpForm.try_save
    monkeypatch.setattr(SignUpForm, "try_save", save_after_the_other)
    assert client.post("/account/signup/", ANNA)["Location"] == "/account/login/"
    assert User.objects.filter(email=ANNA["email"]).count() == 1


def test_whoever_an_operator_makes_gets_an_inbox_too() -> None:
    admin = User.objects.create_superuser(email="admin@localhost", password="bell-tower-42")
    fields = {"email": "bo@example.org", "usable_password": "true", "password1": "bell-43-tower"}
    operator, whole = signed_in(admin), fields | {"password2": "bell-43-tower"}
    held = operator.post("/admin/people/user/add/", whole)
    assert held["Location"].startswith("/account/reauthenticate/")
    assert "bell-43-tower" not in str(dict(operator.session))
    shown = operator.post(held["Location"], {"password": "bell-tower-42"})
    assert "bo@example.org" in shown.content.decode()
    assert not User.objects.filter(email="bo@example.org").exists()
    operator.post("/admin/people/user/add/", whole)
    bo = User.objects.get(email="bo@example.org")
    assert [(one.user, one.provider) for one in Channel.objects.order_by("id")] == [(admin, "inbox"), (bo, "inbox")]


@pytest.mark.parametrize(
    ("field", "value"), [("email", "nobody"), ("email", ""), ("password1", "short"), ("password1", "password")]
)
def test_a_bad_sign_up_is_said_at_its_field_and_makes_nobody(client: Client, field: str, value: str) -> None:
    answer = client.post("/account/signup/", ANNA | {field: value})
    assert list(answer.context["form"].errors) == [field]
    assert answer.context["form"]["name"].value() == "Anna"
    assert not User.objects.exists()


def test_with_sign_up_off_the_page_says_so(client: Client, settings: Settings) -> None:
    settings.SIGN_UP = False
    assert "Sign-up is closed" in client.get("/account/signup/").content.decode()
    assert "Sign-up is closed" in client.post("/account/signup/", ANNA).content.decode()
    assert not User.objects.exists()
    assert "/account/signup/" not in client.get("/").content.decode()


def test_signing_in_and_out(client: Client, ada: User) -> None:
    give_password(ada)
    wrong = client.post("/account/login/", {"login": ada.email, "password": "nope"})
    assert wrong.context["form"].errors
    right = client.post("/account/login/", {"login": ada.email, "password": "bell-tower-42"})
    assert right["Location"] == "/reminders/"
    client.post("/account/logout/")
    assert client.get("/reminders/")["Location"].startswith("/account/login/")


def test_a_forgotten_password_is_replaced_by_mail(client: Client, ada: User) -> None:
    client.post("/account/password/reset/", {"email": ada.email})
    [letter] = mail.outbox
    assert letter.subject == "[Carillon] Choose a new password"
    link = re.search(r"http://\S+(/account/\S+)", str(letter.body))
    assert link is not None
    form = client.get(link[1], follow=True)
    client.post(form.request["PATH_INFO"], {"password1": "new-bell-43", "password2": "new-bell-43"})
    ada.refresh_from_db()
    assert ada.check_password("new-bell-43")


def test_a_person_changes_their_name_and_zone(browser: Client, ada: User) -> None:
    browser.post("/settings/", {"name": "Countess", "time_zone": "Asia/Kolkata"})
    ada.refresh_from_db()
    assert (ada.name, ada.time_zone) == ("Countess", "Asia/Kolkata")


def test_an_unknown_zone_is_refused_and_kept(browser: Client, ada: User) -> None:
    answer = browser.post("/settings/", {"name": "Countess", "time_zone": "Europe/Berln"})
    assert "There is no time zone “Europe/Berln”" in answer.context["form"].errors["time_zone"][0]
    assert answer.context["form"]["time_zone"].value() == "Europe/Berln"
    ada.refresh_from_db()
    assert (ada.name, ada.time_zone) == ("Ada", "Europe/Berlin")


@pytest.mark.parametrize("path", ["password/change/", "email/", "logout/", "reauthenticate/"])
def test_the_account_pages_wear_our_frame(client: Client, ada: User, path: str) -> None:
    give_password(ada)
    client.force_login(ada)
    page = client.get(f"/account/{path}").content.decode()
    assert 'class="skip"' in page and "carillon.css" in page


def test_settings_overwrite_nothing_that_changed_while_they_were_sent(ada: User) -> None:
    stored = {name: getattr(ada, name) for name in SettingsForm.base_fields}
    form = SettingsForm(stored | {"name": "Countess"}, instance=User.objects.get(pk=ada.pk))
    assert form.is_valid()
    User.objects.filter(pk=ada.pk).update(is_active=False, password="another", deletion_asked_at=NOON)
    form.save()
    ada.refresh_from_db()
    assert (ada.name, ada.is_active, ada.password, ada.deletion_asked_at) == ("Countess", False, "another", NOON)
