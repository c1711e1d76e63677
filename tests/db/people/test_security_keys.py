"""Security keys (WebAuthn) as a second factor: added, used, renamed, removed, refused."""

from __future__ import annotations

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.core import mail
from django.test import Client
from pytest_django import Settings

from people.models import User
from people.sign_in import second_factor
from people.web.factor_forms import MOST_KEYS
from tests.authenticator import PASSWORD, new_codes, set_up, show, sign_in
from tests.make import make_user, signed_in
from tests.security_key import ADD, AGAIN, STEP, SecurityKey, add_key, options_on, send, show_key

pytestmark = pytest.mark.django_db(transaction=True)  # mails of a change go out once it is committed

RECOVERY = "/account/second-factor/recovery-codes/"


@pytest.fixture
def anna() -> User:
    return make_person("anna@example.org")


@pytest.fixture
def owner(anna: User) -> Client:
    """Signed in with the password."""
    return entered(anna)


def make_person(email: str, **more: object) -> User:
    user = make_user(email=email, password=PASSWORD, **more)
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return user


def entered(user: User) -> Client:
    client = Client()
    sign_in(client, user.email)
    return client


def key_row(user: User) -> Authenticator:
    return Authenticator.objects.get(user=user, type="webauthn")


def test_signing_in_takes_the_password_and_then_the_key(anna: User, owner: Client) -> None:
    key, client = SecurityKey(), Client()
    assert add_key(owner, key) == RECOVERY
    assert sign_in(client, anna.email, after="/channels/") == STEP
    assert client.get("/channels/").status_code == 302
    assert show_key(client, key) == "/channels/"
    assert client.get("/channels/").status_code == 200
    assert key_row(anna).last_used_at is not None


def test_another_key_or_another_challenge_signs_nobody_in(anna: User, owner: Client) -> None:
    key, client = SecurityKey(), Client()
    add_key(owner, key)
    sign_in(client, anna.email)
    assert "was not recognised" in show_key(client, SecurityKey())
    old = key.get(options_on(client.get(STEP).content.decode()))
    client.get(STEP)
    assert "was not recognised" in send(client, STEP, old)
    forged = key.get(options_on(client.get(STEP).content.decode()))
    forged["response"]["signature"] = SecurityKey().get({"rpId": "localhost", "challenge": ""})["response"]["signature"]
    assert "was not recognised" in send(client, STEP, forged)
    assert client.get("/channels/").status_code == 302


@pytest.mark.parametrize(
    "sent", ["", "x", "[]", '"x"', "{}", '{"id": "a\\u0000"}', '{"response": 7}', '{"id":"' + "x" * 30_000]
)
def test_what_is_no_answer_of_a_key_is_refused(anna: User, owner: Client, sent: str) -> None:
    key, client = SecurityKey(), Client()
    add_key(owner, key)
    sign_in(client, anna.email)
    assert client.post(STEP, {"credential": sent}).status_code == 200
    owner.get(ADD)
    assert owner.post(ADD, {"name": "Other", "credential": sent}).status_code == 200
    assert Authenticator.objects.filter(type="webauthn").count() == 1


def test_a_page_of_another_origin_gets_nothing_out_of_a_key(anna: User, owner: Client) -> None:
    assert second_factor.key_origin().startswith("http://localhost")
    for origin in ("https://evil.example", "https://evil.localhost", "http://localhost:1"):
        assert "was not recognised" in add_key(owner, SecurityKey(origin))
    key = SecurityKey()
    add_key(owner, key)
    key.origin = "https://evil.localhost"
    client = Client()
    sign_in(client, anna.email)
    assert "was not recognised" in show_key(client, key)


@pytest.mark.parametrize(
    ("base_url", "origin"),
    [
        ("http://127.0.0.1:8000", "http://localhost:8000"),
        ("https://carillon.example.org", "https://carillon.example.org"),
        ("https://carillon.example.org:443", "https://carillon.example.org"),
        ("https://carillon.example.org:8443", "https://carillon.example.org:8443"),
    ],
)
def test_keys_are_bound_to_the_host_of_base_url(owner: Client, settings: Settings, base_url: str, origin: str) -> None:
    settings.BASE_URL = base_url
    assert second_factor.key_origin() == origin
    key = SecurityKey()
    owner.post(f"/account/reauthenticate/?next={ADD}", {"password": PASSWORD})
    options = options_on(owner.get(ADD, headers={"host": "localhost"}).content.decode())
    assert options["rp"]["id"] == origin.partition("://")[2].partition(":")[0]
    assert send(owner, ADD, key.create(options), name="") == RECOVERY


def test_a_key_that_was_removed_signs_nobody_in_any_more(anna: User, owner: Client) -> None:
    lost, kept, client = SecurityKey(), SecurityKey(), Client()
    add_key(owner, lost, "Lost")
    row = key_row(anna)
    add_key(owner, kept, "Kept")
    assert owner.post(f"/account/second-factor/webauthn/keys/{row.pk}/remove/", follow=True).status_code == 200
    sign_in(client, anna.email)
    assert "was not recognised" in show_key(client, lost)
    assert show_key(client, kept) == "/reminders/"


def test_without_the_last_key_the_password_alone_signs_in_and_recovery_codes_end(anna: User, owner: Client) -> None:
    add_key(owner, SecurityKey())
    owner.post(f"/account/second-factor/webauthn/keys/{key_row(anna).pk}/remove/")
    assert not Authenticator.objects.filter(user=anna).exists()
    assert sign_in(Client(), anna.email) == "/reminders/"
    subjects = [letter.subject for letter in mail.outbox]
    assert subjects == ["[Carillon] A security key was added", "[Carillon] A security key was removed"]


def test_a_key_has_a_name_that_can_be_changed(anna: User, owner: Client) -> None:
    add_key(owner, SecurityKey(), "")
    page = f"/account/second-factor/webauthn/keys/{key_row(anna).pk}/edit/"
    assert "Security key" in owner.get("/account/second-factor/").content.decode()
    assert "Give the security key a name." in owner.post(page, {"name": ""}).content.decode()
    assert owner.post(page, {"name": "x" * 81}).status_code == 200
    shown = owner.post(page, {"name": "<b>Blue"}, follow=True).content.decode()
    assert "&lt;b&gt;Blue" in shown and "Recovery codes" in shown


def test_a_recovery_code_stands_in_for_a_lost_key(anna: User, owner: Client) -> None:
    add_key(owner, SecurityKey())
    [code, *_] = new_codes(owner)
    client = Client()
    sign_in(client, anna.email)
    assert show(client, code) == "/reminders/"


def test_app_and_key_stand_in_for_each_other(anna: User, owner: Client) -> None:
    key, client = SecurityKey(), Client()
    set_up(owner)
    assert add_key(owner, key) == "/account/second-factor/"
    sign_in(client, anna.email)
    assert show_key(client, key) == "/reminders/"
    owner.post("/account/second-factor/totp/deactivate/")
    assert second_factor.is_set_up(anna)
    again = Client()
    assert sign_in(again, anna.email) == STEP


def test_a_session_that_knew_only_the_password_neither_adds_nor_removes_a_key(anna: User, owner: Client) -> None:
    key = SecurityKey()
    add_key(owner, key)
    thief = signed_in(anna)
    thief.post("/account/reauthenticate/", {"password": PASSWORD})
    keys = f"/account/second-factor/webauthn/keys/{key_row(anna).pk}/"
    for page in (ADD, f"{keys}edit/", f"{keys}remove/", RECOVERY, "/account/second-factor/"):
        assert thief.get(page)["Location"].startswith(f"{AGAIN}?next="), page
        assert thief.post(page)["Location"].startswith(f"{AGAIN}?next="), page
    assert show_key(thief, key, f"{AGAIN}?next={ADD}") == ADD
    assert thief.get(ADD).status_code == 200


def test_a_key_of_somebody_else_is_not_found(anna: User, owner: Client) -> None:
    add_key(owner, SecurityKey())
    stranger = entered(make_person("eve@example.org"))
    stranger.post("/account/reauthenticate/", {"password": PASSWORD})
    for act in ("edit", "remove"):
        page = f"/account/second-factor/webauthn/keys/{key_row(anna).pk}/{act}/"
        assert (stranger.get(page).status_code, stranger.post(page).status_code) == (404, 404)


def test_guessing_ends_after_five_tries(anna: User, owner: Client) -> None:
    key, client = SecurityKey(), Client()
    add_key(owner, key)
    sign_in(client, anna.email)
    for _ in range(5):
        assert "was not recognised" in show_key(client, SecurityKey())
    assert "Wait five minutes" in show_key(client, key)


def test_nobody_has_more_than_a_few_keys(anna: User, owner: Client) -> None:
    add_key(owner, SecurityKey())
    row = key_row(anna)
    for _ in range(MOST_KEYS - 1):
        row.pk = None
        row.save(force_insert=True)
    assert f"You have {MOST_KEYS} security keys" in add_key(owner, SecurityKey())


def test_the_address_must_be_confirmed_before_a_key_is_added() -> None:
    user = make_user(email="victim@example.org", password=PASSWORD)
    EmailAddress.objects.create(user=user, email=user.email, verified=False, primary=True)
    client = entered(user)
    assert client.get(ADD)["Location"] == client.post(ADD)["Location"] == "/account/email/"


def test_in_public_a_key_opens_the_admin_to_staff(settings: Settings) -> None:
    settings.SECOND_FACTOR_FOR_STAFF = True
    root = User.objects.create_superuser(email="admin@localhost", password=PASSWORD)
    key, client = SecurityKey(), entered(root)
    assert client.get("/admin/", follow=True).redirect_chain[-1][0] == "/account/second-factor/"
    add_key(client, key)
    assert client.get("/admin/people/user/").status_code == 200
    other = signed_in(root)
    led = other.get("/admin/people/user/", follow=True).redirect_chain[-1][0]
    assert led == f"{AGAIN}?next=%2Fadmin%2Fpeople%2Fuser%2F"
    assert show_key(other, key, led) == "/admin/people/user/"
    assert other.get("/admin/people/user/").status_code == 200
    Authenticator.objects.filter(user=root).delete()
    assert other.get("/admin/people/user/").status_code == 302
