"""A second factor: set up and shown at sign-in, demanded of staff where strangers reach the door, sealed at rest."""

from __future__ import annotations

import math
import re
from importlib import import_module
from io import StringIO
from urllib.parse import quote

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet
from django.apps import apps
from django.core import mail
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from people import teams
from people.models import Session, User
from people.sign_in import second_factor
from tests.authenticator import PASSWORD, code, new_codes, set_up, show, sign_in
from tests.make import make_user, signed_in
from tests.network import closed_port

# Mails of a change go out once it is committed.
pytestmark = pytest.mark.django_db(transaction=True)

SET_UP = "/account/second-factor/totp/activate/"
FACTORS = "/account/second-factor/"
STEP = "/account/second-factor/authenticate/"
GUARDED = [
    *("account_email", "account_change_password", "security-keys", "transfer:export", "people:account-download"),
    *("people:account-delete", "people:sign-out-elsewhere", "people:token-new"),
]


@pytest.fixture
def anna() -> User:
    user = make_user(email="anna@example.org", password=PASSWORD)
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return user


@pytest.fixture
def root() -> User:
    """As the first admin is made: without an address that anybody has confirmed."""
    return User.objects.create_superuser(email="admin@localhost", password=PASSWORD)


@pytest.fixture
def in_public(settings: Settings) -> None:
    settings.SECOND_FACTOR_FOR_STAFF = True


def with_factor(user: User) -> tuple[Client, str]:
    client = Client()
    sign_in(client, user.email)
    return client, set_up(client)


def test_signing_in_takes_the_password_and_then_a_code(anna: User) -> None:
    _, secret = with_factor(anna)
    client = Client()
    assert sign_in(client, anna.email, after="/channels/") == STEP
    assert client.get("/channels/")["Location"].startswith("/account/login/")
    assert "Wrong code" in show(client, "000000" if code(secret) != "000000" else "000001")
    assert show(client, code(secret, 1)) == "/channels/"
    assert client.get("/channels/").status_code == 200


def test_a_code_works_once_in_all_the_time_that_it_is_good_for(anna: User) -> None:
    _, secret = with_factor(anna)
    typed = code(secret, 1)
    first, second = Client(), Client()
    sign_in(first, anna.email)
    sign_in(second, anna.email)
    assert show(first, typed) == "/reminders/"
    assert "Wrong code" in show(second, typed)
    [used] = [key for key in cache._cache.get_client().keys("*totp.used*") if typed.encode() in key]  # type: ignore[attr-defined]
    assert cache._cache.get_client().ttl(used) > 60  # type: ignore[attr-defined]


def test_guessing_codes_ends_after_five(anna: User) -> None:
    _, secret = with_factor(anna)
    client = Client()
    sign_in(client, anna.email)
    right = {code(secret, away) for away in (-2, -1, 0, 1, 2, 3)}
    wrong = [guess for guess in ("100000", "200000", "300000", "400000", "500000", "600000") if guess not in right]
    for guess in wrong[:5]:
        assert "Wrong code" in show(client, guess)
    # From another address and with the right one, too.
    other = Client(REMOTE_ADDR="192.0.2.9")
    sign_in(other, anna.email)
    assert "Wait five minutes" in show(other, code(secret, 1))


def test_without_redis_no_code_is_taken_for_nobody_would_count_them(anna: User, settings: Settings) -> None:
    _, secret = with_factor(anna)
    client = Client()
    sign_in(client, anna.email)
    away = settings.CACHES["default"] | {"LOCATION": f"redis://127.0.0.1:{closed_port()}/0"}
    settings.CACHES = {"default": away}
    assert "Redis" in show(client, code(secret, 1))
    assert client.get("/channels/").status_code == 302


def test_a_recovery_code_stands_in_for_the_app_once(anna: User) -> None:
    owner, _ = with_factor(anna)
    codes = new_codes(owner)
    assert len(set(codes)) == 10
    client = Client()
    sign_in(client, anna.email)
    assert show(client, codes[0].replace(" ", "-")) == "/reminders/"
    again = Client()
    sign_in(again, anna.email)
    assert "Wrong code" in show(again, codes[0])


def test_recovery_codes_are_shown_once_and_only_their_hashes_are_stored(anna: User) -> None:
    owner, _ = with_factor(anna)
    codes = new_codes(owner)
    row = Authenticator.objects.get(type="recovery_codes")
    # What allauth makes itself is not kept: `seed` would open all codes.
    assert set(row.data) == {"migrated_codes", "viewed_at"}
    assert row.data["migrated_codes"] == [second_factor.hash_code(code) for code in codes]
    assert all(len(code.replace(" ", "")) * math.log2(10) > 112 for code in codes)
    for page in (f"{FACTORS}recovery-codes/", FACTORS, f"{FACTORS}recovery-codes/download/", SET_UP):
        answer = owner.get(page, follow=True)
        assert not any(one in answer.content.decode() for one in (*codes, "sha256:")), page
    assert "10 left." in owner.get(FACTORS).content.decode()
    assert not any(code in str([one.get_decoded() for one in Session.objects.all()]) for code in codes)


def test_the_hash_of_a_recovery_code_signs_nobody_in(anna: User) -> None:
    with_factor(anna)
    client = Client()
    sign_in(client, anna.email)
    assert "Wrong code" in show(client, Authenticator.objects.get(type="recovery_codes").data["migrated_codes"][0])


def test_new_recovery_codes_end_the_old_ones_and_who_has_none_left_is_told(anna: User) -> None:
    owner, _ = with_factor(anna)
    old = new_codes(owner)
    assert owner.post(f"{FACTORS}recovery-codes/generate/")["Location"] == f"{FACTORS}recovery-codes/"
    new = new_codes(owner)
    assert len(new) == 10 and not set(old) & set(new)
    client = Client()
    sign_in(client, anna.email)
    assert "Wrong code" in show(client, old[0])
    Authenticator.objects.filter(type="recovery_codes").update(
        data={"migrated_codes": [second_factor.hash_code(new[9])]}
    )
    assert show(client, new[9]) == "/reminders/"
    assert "You have no recovery codes left." in client.get("/reminders/").content.decode()


def test_codes_of_a_seed_end_with_the_upgrade(anna: User) -> None:
    row = Authenticator.objects.create(user=anna, type="recovery_codes", data={"migrated_codes": []})
    Authenticator.objects.update(data={"seed": "x", "used_mask": 0})
    import_module("people.migrations.0006_recovery_codes").end_codes(apps, None)
    row.refresh_from_db()
    assert row.data == {"migrated_codes": []}


def test_a_new_password_by_mail_does_not_go_round_the_second_factor(anna: User) -> None:
    with_factor(anna)
    client = Client()
    client.post("/account/password/reset/", {"email": anna.email})
    [told] = [letter for letter in mail.outbox if "reset/key" in letter.body]
    link = re.search(r"https?://[^/]+(/account/password/reset/key/\S+)", str(told.body))
    assert link
    form = client.get(link[1])["Location"]
    client.post(form, {"password1": "another-tower-43", "password2": "another-tower-43"})
    assert client.get("/channels/").status_code == 302
    assert sign_in(client, anna.email, "another-tower-43") == STEP


@pytest.mark.usefixtures("in_public")
def test_in_public_the_admin_is_closed_to_staff_until_they_have_set_one_up(root: User) -> None:
    client = Client()
    assert sign_in(client, root.email, after="/admin/") == "/admin/"
    led = client.get("/admin/people/user/", follow=True)
    assert led.redirect_chain[-1][0] == "/account/second-factor/"
    client.get("/admin/", follow=True)
    set_up(client)
    assert "Continue to the admin" in client.get("/account/second-factor/recovery-codes/").content.decode()
    assert client.get("/admin/people/user/").status_code == 200


@pytest.mark.usefixtures("in_public")
def test_in_public_every_page_of_the_admin_is_behind_it(root: User) -> None:
    client = Client()
    sign_in(client, root.email)
    for path in ("/admin/", "/admin/outages/", "/admin/people/user/1/change/", "/admin/jsi18n/", "/admin/nowhere/"):
        assert client.get(path).status_code == 302, path
    assert client.post("/admin/people/user/add/", {"email": "x@example.org"}).status_code == 302


@pytest.mark.usefixtures("in_public")
def test_a_session_that_knew_only_the_password_does_not_gain_the_admin_by_what_another_set_up(root: User) -> None:
    owner, secret = with_factor(root)
    thief = signed_in(root)
    assert owner.get("/admin/").status_code == 200
    led = thief.get("/admin/people/user/", follow=True)
    assert led.redirect_chain[-1][0] == "/account/second-factor/reauthenticate/?next=%2Fadmin%2Fpeople%2Fuser%2F"
    page = led.redirect_chain[-1][0]
    assert thief.post(page, {"code": "1"}).status_code == 200
    assert thief.get("/admin/").status_code == 302
    assert thief.post(page, {"code": code(secret, 1)})["Location"] == "/admin/people/user/"
    assert thief.get("/admin/").status_code == 200


def test_a_session_that_knew_only_the_password_takes_neither_the_factor_nor_the_account(
    anna: User,
) -> None:
    _, secret = with_factor(anna)
    other = signed_in(anna)
    deletion_of_a_team = f"/teams/{teams.create(anna, 'Family').pk}/delete/"
    assert other.post("/account/reauthenticate/", {"password": PASSWORD}).status_code == 302
    ends = ["", "recovery-codes/", "recovery-codes/download/", "recovery-codes/generate/", "totp/deactivate/"]
    for page in (*(f"{FACTORS}{end}" for end in ends), *map(reverse, GUARDED), deletion_of_a_team):
        asked = f"/account/second-factor/reauthenticate/?next={quote(page, safe='')}"
        assert other.get(page)["Location"] == other.post(page)["Location"] == asked
    assert second_factor.is_set_up(anna)
    other.post("/account/second-factor/reauthenticate/", {"code": code(secret, 1)})
    assert other.get(FACTORS).status_code == 200


@pytest.mark.usefixtures("in_public")
def test_a_factor_that_was_removed_opens_nothing_any_more(root: User) -> None:
    client, _ = with_factor(root)
    assert client.get("/admin/").status_code == 200
    call_command("second_factor", "remove", "Admin@localhost", stdout=StringIO())
    assert client.get("/admin/").status_code == 302
    assert sign_in(Client(), root.email) == "/reminders/"


@pytest.mark.usefixtures("in_public")
def test_somebody_who_is_not_staff_is_asked_for_nothing_and_not_let_in(anna: User) -> None:
    client = Client()
    assert sign_in(client, anna.email) == "/reminders/"
    assert client.get("/admin/", follow=True).status_code == 403


def test_on_a_machine_of_ones_own_the_admin_opens_and_says_once_what_it_would_like(root: User) -> None:
    client = Client()
    sign_in(client, root.email)
    assert "Set up a second factor</a>" in client.get("/admin/").content.decode()
    assert "Set up a second factor</a>" not in client.get("/admin/").content.decode()


def test_somebody_who_has_not_confirmed_the_address_cannot_lock_its_owner_out() -> None:
    user = make_user(email="victim@example.org", password=PASSWORD)
    EmailAddress.objects.create(user=user, email=user.email, verified=False, primary=True)
    client = Client()
    sign_in(client, user.email)
    asked = client.get(SET_UP, follow=True)  # before the password
    assert asked.redirect_chain[-1][0] == "/account/email/"
    assert "Confirm your email address first." in asked.content.decode()
    client.post(f"/account/reauthenticate/?next={SET_UP}", {"password": PASSWORD})
    client.post(SET_UP, {"code": "123456"})
    assert not second_factor.is_set_up(user)


def test_secrets_lie_sealed_in_the_rows_and_in_the_session_of_who_sets_up(anna: User) -> None:
    client = Client()
    sign_in(client, anna.email)
    client.post(f"/account/reauthenticate/?next={SET_UP}", {"password": PASSWORD})
    page = client.get(SET_UP).content.decode()
    secret = re.search(r"<code>([A-Z2-7 ]+)</code>", page)[1].replace(" ", "")  # type: ignore[index]
    assert secret in page  # in the link that opens the app, and nowhere else but in the list and the QR code
    assert secret not in str([session.get_decoded() for session in Session.objects.all()])
    assert client.post(SET_UP, {"code": "nonsense"}).status_code == 200
    assert client.post(SET_UP, {"code": code(secret)}).status_code == 302
    assert secret not in str(list(Authenticator.objects.values_list("data", flat=True)))
    assert secret not in str([session.get_decoded() for session in Session.objects.all()])


def test_the_admin_shows_who_has_a_factor_and_never_what_it_holds(anna: User, root: User) -> None:
    with_factor(anna)
    client = signed_in(root)
    row = Authenticator.objects.get(type="totp")
    page = client.get(f"/admin/mfa/authenticator/{row.pk}/change/").content.decode()
    assert "anna@example.org" in page
    assert row.data["secret"] not in page
    client.post("/account/reauthenticate/", {"password": PASSWORD})
    assert client.post(f"/admin/mfa/authenticator/{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert client.get("/admin/mfa/authenticator/?q=anna").content.decode().count("anna@example.org") >= 2


def test_keys_of_second_factors_are_rotated_and_what_no_key_opens_is_named(anna: User, settings: Settings) -> None:
    old, new, other = (Fernet.generate_key().decode() for _ in range(3))
    settings.ENCRYPTION_KEYS = [old]
    _, secret = with_factor(anna)
    settings.ENCRYPTION_KEYS = [new, old]
    out = StringIO()
    call_command("rotate_keys", stdout=out, stderr=out)
    assert "second factors: 1 sealed with the first key, 0 were already, 0 unreadable" in out.getvalue()
    settings.ENCRYPTION_KEYS = [new]
    client = Client()
    sign_in(client, anna.email)
    assert show(client, code(secret, 1)) == "/reminders/"
    settings.ENCRYPTION_KEYS = [other]
    with pytest.raises(CommandError, match="1 secrets of second factors"):
        call_command("rotate_keys", stdout=out, stderr=out)
    assert "second factor of anna@example.org: no key opens it" in out.getvalue()


def test_with_a_key_that_is_lost_the_sign_in_says_so(anna: User, settings: Settings) -> None:
    with_factor(anna)
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    client = Client()
    sign_in(client, anna.email)
    assert "The configured encryption keys cannot read" in show(client, "123456")


def test_an_operator_is_told_who_has_none(anna: User) -> None:
    out = StringIO()
    call_command("second_factor", "show", "anna@example.org", stdout=out)
    assert out.getvalue() == "anna@example.org has no second factor.\n"
    with pytest.raises(CommandError, match="has no second factor"):
        call_command("second_factor", "remove", "anna@example.org")
    with pytest.raises(CommandError, match="Nobody signs in as"):
        call_command("second_factor", "remove", "nobody@example.org")


def test_people_are_told_by_mail_of_each_change(anna: User) -> None:
    client, _ = with_factor(anna)
    assert client.post("/account/second-factor/totp/deactivate/").status_code == 302
    assert [letter.subject for letter in mail.outbox] == [
        "[Carillon] A second factor was set up",
        "[Carillon] Your second factor was removed",
    ]
    assert "127.0.0.1" in str(mail.outbox[0].body)
    assert not second_factor.is_set_up(anna) and not Authenticator.objects.exists()


def test_a_mail_server_that_is_away_undoes_nothing(anna: User, settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", closed_port()
    with_factor(anna)
    assert second_factor.is_set_up(anna)
