"""What browsers are told to refuse on our behalf."""

from __future__ import annotations

import pytest
from django.conf import settings as configured
from django.test import Client

from people.models import User
from tests.make import make_user


def policy(client: Client, path: str) -> dict[str, str]:
    header = client.get(path)["Content-Security-Policy"]
    return dict(directive.strip().split(" ", 1) for directive in header.split(";"))


@pytest.mark.parametrize("path", ["/", "/account/login/", "/channels/", "/reminders/", "/nowhere/"])
def test_our_own_pages_run_nothing_inline_and_nothing_from_elsewhere(browser: Client, ada: User, path: str) -> None:
    told = policy(browser, path)
    assert told["default-src"] == "'none'"
    assert told["script-src"] == told["style-src"] == told["form-action"] == "'self'"
    assert told["frame-ancestors"] == told["base-uri"] == "'none'"
    assert browser.get(path)["X-Content-Type-Options"] == "nosniff"


def test_the_admin_gets_what_its_face_needs_and_no_more(client: Client) -> None:
    staff = make_user(is_staff=True, is_superuser=True)
    client.force_login(staff)
    told = policy(client, "/admin/")
    assert told["script-src"] == "'self' 'unsafe-eval'"
    assert (told["style-src"], told["style-src-attr"]) == ("'self'", "'unsafe-inline'")
    assert told["default-src"] == "'none'"
    assert policy(client, "/admin/outages/") == told


def test_cookies_are_out_of_the_reach_of_scripts_and_of_other_sites() -> None:
    assert configured.SESSION_COOKIE_HTTPONLY
    assert configured.SESSION_COOKIE_SAMESITE == configured.CSRF_COOKIE_SAMESITE == "Lax"
