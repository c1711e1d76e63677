"""The theme: kept with the account, and in a cookie for pages before the sign-in."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import Settings

from people.models import User
from tests.make import signed_in

pytestmark = pytest.mark.django_db


def theme_of(client: Client, path: str = "/") -> str:
    page = client.get(path, follow=True).content.decode()
    return page.partition('data-theme="')[2].partition('"')[0]


def test_a_choice_is_kept_with_the_account_and_in_the_browser(client: Client, browser: Client, ada: User) -> None:
    assert theme_of(browser) == "system"
    assert browser.post("/theme/", {"theme": "dark", "next": "/channels/?q=x"})["Location"] == "/channels/?q=x"
    ada.refresh_from_db()
    assert (ada.theme, theme_of(browser), theme_of(signed_in(ada))) == ("dark", "dark", "dark")
    browser.logout()
    browser.cookies["theme"] = "dark"  # which signing out keeps in a real browser
    assert theme_of(browser, "/account/login/") == "dark"


def test_somebody_who_is_not_signed_in_has_a_cookie(client: Client, settings: Settings) -> None:
    answer = client.post("/theme/", {"theme": "light", "next": "/account/login/"})
    assert answer["Location"] == "/account/login/"
    assert answer.cookies["theme"]["httponly"] and answer.cookies["theme"]["samesite"] == "Lax"
    page = client.get("/account/login/").content.decode()
    assert '<meta name="color-scheme" content="light">' in page
    assert 'data-theme="light"' in page
    client.post("/account/signup/", {"email": "new@example.org", "password1": "bell-tower-42"})
    assert User.objects.get(email="new@example.org").theme == "light"


@pytest.mark.parametrize("stored", ["", "blue", '"><script>'])
def test_an_unknown_cookie_counts_as_none(client: Client, stored: str) -> None:
    client.cookies["theme"] = stored
    assert theme_of(client, "/account/login/") == "system"


def test_an_unknown_theme_is_refused(browser: Client, ada: User) -> None:
    assert browser.post("/theme/", {"theme": "blue"}).status_code == 400
    assert browser.post("/theme/").status_code == 400
    assert "theme" in browser.post("/settings/", {"time_zone": "UTC", "theme": "blue"}).context["form"].errors
    ada.refresh_from_db()
    assert ada.theme == "system"


@pytest.mark.parametrize("back", ["", "x", "https://evil.example/", "//evil.example/", "javascript:alert(1)"])
def test_it_leads_to_no_other_site(client: Client, back: str) -> None:
    assert client.post("/theme/", {"theme": "dark", "next": back})["Location"] == "/"


def test_settings_hold_it_too(browser: Client, ada: User) -> None:
    browser.post("/settings/", {"time_zone": "UTC", "theme": "dark", "keyboard_shortcuts": "on"})
    assert theme_of(browser) == "dark"
    browser.post("/settings/", {"time_zone": "UTC"})
    assert theme_of(browser) == "dark"


def test_the_admin_follows(ada: User) -> None:
    ada.is_staff = ada.is_superuser = True
    ada.save()
    staff = signed_in(ada)
    assert 'class="dark"' not in staff.get("/admin/").content.decode()
    staff.post("/theme/", {"theme": "dark"})
    assert 'class="dark"' in staff.get("/admin/").content.decode()


def test_keyboard_shortcuts_can_be_turned_off(browser: Client, ada: User) -> None:
    assert "data-on>" in browser.get("/channels/").content.decode()
    browser.post("/settings/", {"time_zone": "UTC"})
    page = browser.get("/channels/").content.decode()
    assert "data-on>" not in page and "Turn on in the settings" in page
