"""Passwords are refused where they are easy to guess, and strangers lock nobody out of their own browser."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.test import Client

from people.models import User
from people.sign_in import second_factor
from tests.authenticator import PASSWORD, new_codes, set_up, sign_in
from tests.make import make_user, signed_in


@pytest.mark.parametrize(
    ("password", "is_fine"),
    [
        ("carillon2026", False),
        ("bell-42", False),
        ("2026-Carillon", False),
        ("lovelace1815!", False),
        ("ada.lovelace", False),
        ("password1", False),
        ("20261125", False),
        ("25.11.2026", False),
        ("73519462", True),
        ("73519462803751946280", True),
        ("carillon-tower-bell-43", True),
        ("tower-bell-43", True),
        ("x" * 5 + "y" * 5 + "q" * 60, True),
    ],
)
def test_passwords(password: str, is_fine: bool) -> None:
    user = User(email="ada@example.org", name="Ada Lovelace")
    if is_fine:
        validate_password(password, user)
    else:
        with pytest.raises(ValidationError):
            validate_password(password, user)


def anna() -> User:
    user = make_user(email="anna@example.org", password=PASSWORD)
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return user


def test_a_password_is_taken_exactly_as_it_was_typed() -> None:
    typed = "  Tür Bell " + "x" * 80 + "Z "
    user = make_user(email="anna@example.org", password=PASSWORD)
    client = Client()
    client.post("/account/login/", {"login": user.email, "password": PASSWORD})
    new = {"password1": typed, "password2": typed}
    client.post("/account/password/change/", {"oldpassword": "wrong-bell-43"} | new)
    user.refresh_from_db()
    assert user.check_password(PASSWORD)  # who changes it must know it
    assert client.post("/account/password/change/", {"oldpassword": PASSWORD} | new).status_code == 302
    for other in (typed.strip(), typed.lower(), typed[:72], typed.replace("ü", "u")):
        assert sign_in(Client(REMOTE_ADDR="198.51.100.3"), user.email, other) == "", other
    assert sign_in(Client(), user.email, typed) == "/reminders/"


def test_password_managers_fill_in_every_password_which_is_hidden() -> None:
    client = signed_in(password=PASSWORD)
    pages = [Client().get(f"/account/{page}/") for page in ("login", "signup")]
    pages += [client.get(f"/account/{page}/") for page in ("reauthenticate", "password/change")]
    for page in pages:
        fields = re.findall(r'<input[^>]*name="\w*password\w*"[^>]*>', page.content.decode())
        assert fields
        for field in fields:
            assert 'type="password"' in field and re.search('autocomplete="(current|new)-password"', field), field
    assert not any("paste" in script.read_text() for script in Path("static").glob("*.js"))


def test_strangers_lock_nobody_out_of_a_browser_that_has_signed_in() -> None:
    user, known = anna(), Client()
    sign_in(known, user.email)
    known.post("/account/logout/")
    for _ in range(6):
        sign_in(Client(REMOTE_ADDR="198.51.100.1"), user.email, "wrong-bell-43")
    assert sign_in(Client(REMOTE_ADDR="198.51.100.2"), user.email) == ""  # the right one, too
    assert sign_in(known, user.email) != ""


def test_a_known_browser_has_five_tries_too_and_is_known_for_its_person_only() -> None:
    user, client = anna(), Client()
    other = make_user(email="eve@example.org", password=PASSWORD)
    EmailAddress.objects.create(user=other, email=other.email, verified=True, primary=True)
    sign_in(client, other.email)
    client.post("/account/logout/")
    for _ in range(5):
        sign_in(Client(REMOTE_ADDR="198.51.100.1"), user.email, "wrong-bell-43")
    assert sign_in(client, user.email) == ""
    client.cookies["device"] = "forged:x:y"
    assert sign_in(client, user.email) == ""


@pytest.mark.django_db(transaction=True)
def test_a_factor_goes_only_with_itself_or_a_recovery_code(monkeypatch: pytest.MonkeyPatch) -> None:
    user, client = anna(), Client()
    sign_in(client, user.email)
    set_up(client)
    codes = new_codes(client)
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 600)
    page = "/account/second-factor/totp/deactivate/"
    client.post("/account/reauthenticate/", {"password": PASSWORD})
    for path in (page, "/account/second-factor/recovery-codes/generate/", "/account/second-factor/webauthn/add/"):
        assert client.post(path)["Location"].startswith("/account/second-factor/reauthenticate/"), path
    assert second_factor.is_set_up(user)
    client.post("/account/second-factor/reauthenticate/", {"code": codes[0]})
    assert client.post(page).status_code == 302
    assert not second_factor.is_set_up(user)
