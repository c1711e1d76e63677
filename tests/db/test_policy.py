"""What browsers are told to refuse, and that no page needs it: none holds a script or a style sheet of its own."""

from __future__ import annotations

import pytest
from django.conf import settings as configured
from django.test import Client
from pytest_django import Settings

from people.models import User
from tests.db.conftest import Story
from tests.db.walking import Page, walk
from tests.make import signed_in


def policy(client: Client, path: str) -> dict[str, str]:
    header = client.get(path)["Content-Security-Policy"]
    return dict(directive.strip().split(" ", 1) for directive in header.split(";"))


@pytest.mark.parametrize("path", ["/", "/account/login/", "/channels/", "/reminders/", "/nowhere/"])
def test_our_own_pages_run_nothing_inline_and_nothing_from_elsewhere(browser: Client, ada: User, path: str) -> None:
    told = policy(browser, path)
    assert told["default-src"] == "'none'"
    assert told["script-src"] == told["style-src"] == told["form-action"] == "'self'"
    assert told["frame-ancestors"] == told["base-uri"] == told["object-src"] == "'none'"
    assert browser.get(path)["X-Content-Type-Options"] == "nosniff"


def test_the_admin_gets_what_its_face_needs_and_no_more(operator: Client) -> None:
    told = policy(operator, "/admin/")
    assert told["script-src"] == "'self' 'unsafe-eval'"
    assert (told["style-src"], told["style-src-attr"]) == ("'self'", "'unsafe-inline'")
    assert told["default-src"] == "'none'"
    assert policy(operator, "/admin/outages/") == told


def test_cookies_are_out_of_the_reach_of_scripts_and_of_other_sites() -> None:
    assert configured.SESSION_COOKIE_HTTPONLY and configured.CSRF_COOKIE_HTTPONLY
    assert configured.SESSION_COOKIE_SAMESITE == configured.CSRF_COOKIE_SAMESITE == "Lax"


def complaints(pages: dict[str, Page], styled: bool = False) -> dict[str, list[str]]:
    found = {path: page.inline + page.foreign + ([] if styled else page.styled) for path, page in pages.items()}
    return {path: parts for path, parts in found.items() if parts}


def test_no_page_of_a_stranger_holds_anything_inline() -> None:
    pages = dict(walk(Client(), "/", "/account/password/reset/", "/account/second-factor/authenticate/"))
    assert {"/", "/account/login/", "/account/signup/", "/account/password/reset/"} <= pages.keys()
    assert complaints(pages) == {}


def test_no_page_of_a_person_holds_anything_inline(story: Story) -> None:
    client = signed_in(story.person)
    pages = dict(walk(client, "/", "/account/second-factor/", "/account/password/change/", "/account/logout/"))
    assert {"/settings/", "/history/", "/inbox/", "/channels/", "/reminders/new/", "/account/email/"} <= pages.keys()
    assert f"/reminders/{story.schedule.id}/" in pages
    assert len(pages) > 20
    assert complaints(pages) == {}
    assert [path for path, page in pages.items() if "/account/logout/" not in page.actions] == []


def test_no_page_of_the_admin_holds_a_script_or_a_style_sheet(operator: Client, story: Story) -> None:
    pages = dict(walk(operator, "/admin/"))
    assert f"/admin/notifications/delivery/{story.dead.id}/change/" in pages
    assert "/admin/outages/" in pages
    assert len(pages) > 60
    own = {path: page for path, page in pages.items() if path.startswith("/admin/") and "_popup" not in path}
    assert [path for path, page in own.items() if "/admin/logout/" not in page.actions] == []
    assert complaints(pages, styled=True) == {}


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/api/v1/schedules", {"Authorization": "Bearer x"}),
        ("GET", "/api/v1/schedules", {}),
        ("GET", "/settings/", {"Authorization": "Bearer x"}),
        ("POST", "/in/secret", {}),
        ("GET", "/calendar/secret.ics", {}),
        ("POST", "/account/login/", {}),
    ],
)
def test_a_secret_in_the_clear_is_refused_and_not_redirected(
    method: str, path: str, headers: dict[str, str], settings: Settings
) -> None:
    settings.SECURE_SSL_REDIRECT = True
    answer = Client().generic(method, path, headers=headers)
    assert answer.status_code == 403
    assert path.startswith("/api/") or answer["Content-Type"] == "text/plain; charset=utf-8"
    if path.startswith("/api/"):
        assert answer.json()["code"] == "not-encrypted"
    assert Client().generic(method, path, headers=headers, secure=True).status_code != 301


def test_a_page_in_the_clear_is_redirected(settings: Settings) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert Client().get("/reminders/").status_code == 301
