"""Guessing passwords is slow, whatever the door, and a Redis that is away locks nobody out."""

from __future__ import annotations

import re
from datetime import timedelta
from statistics import median
from time import process_time

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core import mail
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from config.processes import server
from people.models import User
from people.sign_in import mailboxes
from tests.make import make_user, signed_in
from tests.network import closed_port

PASSWORD = "bell-tower-42"


@pytest.fixture
def anna() -> User:
    return make_user(email="anna@example.org", password=PASSWORD)


def sign_in(client: Client, password: str, **headers: str) -> str:
    answer = client.post("/account/login/", {"login": "anna@example.org", "password": password}, **headers)
    return "" if answer.status_code == 302 else answer.content.decode()


def test_after_five_wrong_passwords_the_right_one_is_refused_too(anna: User) -> None:
    # From everywhere: whoever guesses has many addresses.
    for number in range(5):
        assert "Too many failed" not in sign_in(Client(REMOTE_ADDR=f"192.0.2.{number}"), "wrong")
    assert "Too many failed attempts. Wait five minutes, then try again" in sign_in(Client(), PASSWORD)


def test_after_ten_wrong_passwords_of_any_accounts_an_ip_address_is_refused(anna: User) -> None:
    guess, stranger = {"password": "wrong"}, Client(REMOTE_ADDR="192.0.2.1")
    for number in range(10):
        stranger.post("/account/login/", guess | {"login": f"somebody{number}@example.org"})
    assert "Too many failed attempts" in sign_in(stranger, PASSWORD)
    assert sign_in(Client(REMOTE_ADDR="192.0.2.2"), PASSWORD) == ""


def test_a_forgotten_password_is_asked_for_five_times_a_minute(anna: User) -> None:
    asked = [Client().post("/account/password/reset/", {"email": "anna@example.org"}) for _ in range(6)]
    assert [answer.status_code for answer in asked] == [302] * 5 + [429]
    assert "Wait a minute, then try again" in asked[-1].content.decode()


def test_right_passwords_do_not_count(anna: User) -> None:
    for _ in range(7):
        assert sign_in(Client(), PASSWORD) == ""


def test_the_attempts_are_counted_where_all_processes_see_them(anna: User) -> None:
    sign_in(Client(), "wrong")
    keys = [key for key in cache._cache.get_client().keys("*") if b"login_failed" in key]  # type: ignore[attr-defined]
    assert keys


def test_without_redis_people_still_sign_in(anna: User, settings: Settings) -> None:
    away = settings.CACHES["default"] | {"LOCATION": f"redis://127.0.0.1:{closed_port()}/0"}
    settings.CACHES = {"default": away}
    assert "wrong" not in sign_in(Client(), PASSWORD)
    assert sign_in(Client(), PASSWORD) == ""


def test_without_redis_wrong_passwords_are_counted_by_the_process(anna: User, settings: Settings) -> None:
    away = settings.CACHES["default"] | {"LOCATION": f"redis://127.0.0.1:{closed_port()}/0"}
    settings.CACHES = {"default": away}
    for _ in range(5):
        assert "wrong" in sign_in(Client(), "wrong")
    assert "Too many failed attempts" in sign_in(Client(), PASSWORD)


def test_the_first_admin_chooses_a_password_by_a_link_that_works_once_within_an_hour(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = server._invite_first_admin()
    link = said.removeprefix(f"Choose the password of admin@localhost within an hour: {settings.BASE_URL}")
    root = User.objects.get()
    assert (root.email, root.is_superuser, root.has_usable_password()) == ("admin@localhost", True, False)
    with monkeypatch.context() as later:
        then = PasswordResetTokenGenerator()._now() + timedelta(minutes=61)
        later.setattr(PasswordResetTokenGenerator, "_now", lambda self: then)
        assert Client().get(link).status_code == 200  # it does not lead to the form
    client, new = Client(), {"password1": PASSWORD, "password2": PASSWORD}
    form = client.get(link)["Location"]
    assert server._invite_first_admin().startswith("Choose the password")  # nobody has yet
    assert client.post(form, new).status_code == 302
    assert server._invite_first_admin() == ""
    assert Client().get(link).status_code == 200
    answer = Client().post("/account/login/", {"login": root.email, "password": PASSWORD})
    assert answer["Location"] == "/reminders/"


def test_only_an_installation_without_an_admin_gets_one(settings: Settings) -> None:
    make_user(email="root@example.org", is_superuser=True, is_staff=True)
    assert server._invite_first_admin() == ""
    assert not User.objects.filter(email="admin@localhost").exists()


def test_an_account_that_has_the_address_of_the_first_admin_is_not_made_one(db: None) -> None:
    make_user(email="admin@localhost")
    assert "createsuperuser" in server._invite_first_admin()
    assert not User.objects.filter(is_superuser=True).exists()


def test_a_forgotten_passwords_link_works_once_within_an_hour(anna: User, monkeypatch: pytest.MonkeyPatch) -> None:
    Client().post("/account/password/reset/", {"email": anna.email})
    found = re.search(r"https?://[^/]+(/account/password/reset/key/\S+)", str(mail.outbox[0].body))
    assert found
    for minutes, leads in ((59, True), (61, False)):
        with monkeypatch.context() as later:
            then = PasswordResetTokenGenerator()._now() + timedelta(minutes=minutes)
            later.setattr(PasswordResetTokenGenerator, "_now", lambda self, then=then: then)
            assert Client().get(found[1]).has_header("Location") is leads
    client, new = Client(), {"password1": "harbour-crane-77", "password2": "harbour-crane-77"}
    saved = client.post(client.get(found[1])["Location"], new, follow=True)
    assert b'class="button primary" href="/account/login/"' in saved.content
    assert b"successfully changed" not in saved.content  # its heading says so
    assert b'href="/account/password/reset/"' in Client().get(found[1]).content  # it leads on, too
    assert client.post(found[1].replace(found[1].split("-", 1)[1], "set-password/"), new).status_code == 200
    anna.refresh_from_db()
    assert anna.check_password("harbour-crane-77")


@pytest.mark.parametrize(
    ("sender", "leads"),
    [
        ("http://testserver/inbox/?q=a", "?next=/inbox/%3Fq%3Da"),
        ("http://other.example/inbox/", "?next="),
        ("http://testserver//other.example/inbox/", "?next="),
        ("http://[", "?next="),
        ("", "?next="),
    ],
)
def test_a_form_that_is_sent_after_its_session_leads_back_to_its_page(
    client: Client, db: None, sender: str, leads: str
) -> None:
    answer = client.post("/teams/act/", headers={"Referer": sender})
    assert answer["Location"] == f"/account/login/{leads}"
    assert b"You are signed out" in client.get(answer["Location"]).content
    part = client.post("/teams/act/", headers={"Referer": sender, "HX-Request": "true"})
    assert part["HX-Redirect"] == answer["Location"]


def test_the_admin_has_no_door_of_its_own(client: Client, anna: User) -> None:
    answer = client.post("/admin/login/", {"username": "anna@example.org", "password": PASSWORD})
    assert answer["Location"].startswith("/account/login/?next=")
    assert client.get("/admin/", follow=True).redirect_chain[-1][0].startswith("/account/login/?next=")


def test_somebody_who_is_not_staff_is_not_let_into_the_admin(client: Client, anna: User) -> None:
    client.force_login(anna)
    assert client.get("/admin/", follow=True).status_code == 403


def test_a_forwarded_address_counts_only_behind_a_proxy(anna: User, settings: Settings) -> None:
    settings.ACCOUNT_RATE_LIMITS = {"login_failed": "2/m/ip"}
    for number in range(2):
        sign_in(Client(), "wrong", HTTP_X_FORWARDED_FOR=f"192.0.2.{number}")
    assert "Too many failed" in sign_in(Client(), "wrong", HTTP_X_FORWARDED_FOR="192.0.2.77")
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    assert "Too many failed" not in sign_in(Client(), "wrong", HTTP_X_FORWARDED_FOR="192.0.2.78")


def test_neither_sign_in_nor_a_forgotten_password_tells_who_has_an_account(anna: User) -> None:
    def told(path: str, **fields: str) -> tuple[int, str, str]:
        answer = Client().post(path, fields)
        shown = re.sub(r'value="[^"]*"', "", answer.content.decode())
        return answer.status_code, answer.headers.get("Location", ""), shown

    unknown, known = "nobody@example.org", anna.email
    assert told("/account/login/", login=unknown, password="x") == told("/account/login/", login=known, password="x")
    assert told("/account/password/reset/", email=unknown) == told("/account/password/reset/", email=known)


def test_where_addresses_are_confirmed_sign_up_does_not_tell_either(anna: User, settings: Settings) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"

    def sign_up(email: str) -> tuple[str, str]:
        client = Client()
        answer = client.post("/account/signup/", {"email": email, "password1": "tower-bell-43"})
        assert client.get("/reminders/").status_code == 302
        return answer["Location"], client.get(answer["Location"]).content.decode().replace(email, "…")

    assert sign_up("nobody@example.org") == sign_up(anna.email)
    assert [letter.subject for letter in mail.outbox] == [
        "[Carillon] Confirm your email address",
        "[Carillon] You already have an account",
    ]
    link = re.search(r"https?://[^/]+(/account/confirm-email/\S+)", str(mail.outbox[0].body))
    assert link
    Client().post(link[1])
    answer = Client().post("/account/login/", {"login": "nobody@example.org", "password": "tower-bell-43"})
    assert answer["Location"] == "/reminders/"


@pytest.mark.parametrize("history", ["signed up just now", "mailed as often as may be", "confirmed"])
def test_sign_up_does_not_tell_either_whatever_was_sent_to_the_address_before(settings: Settings, history: str) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"

    def sign_up(email: str) -> tuple[int, str, set[str], str]:
        client = Client()
        answer = client.post("/account/signup/", {"email": email, "password1": "tower-bell-43"})
        page = client.get(answer["Location"]).content.decode()
        return answer.status_code, answer["Location"], set(answer.cookies), page.replace(email, "…")

    if history == "confirmed":
        known = make_user(email="known@example.org")
        EmailAddress.objects.create(user=known, email=known.email, verified=True, primary=True)
    else:
        sign_up("known@example.org")
    if history == "mailed as often as may be":
        while mailboxes.may_send(mailboxes.Purpose.CONFIRMATION, "known@example.org"):
            pass
    assert sign_up("known@example.org") == sign_up("new@example.org")


def test_sign_up_takes_as_long_for_an_address_that_has_an_account(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    settings.ACCOUNT_RATE_LIMITS = {"signup": None}
    monkeypatch.setattr(PBKDF2PasswordHasher, "iterations", 400_000)  # takes much longer than all that differs

    def seconds(email: str) -> float:
        begun = process_time()
        Client().post("/account/signup/", {"email": email, "password1": "tower-bell-43"})
        return process_time() - begun

    seconds("first@example.org")  # imports and compiles
    known = [make_user(email=f"known{number}@example.org").email for number in range(5)]
    # In turn, so that what else the machine does takes part in both.
    pairs = [(seconds(email), seconds(f"new{number}@example.org")) for number, email in enumerate(known)]
    assert median(first for first, _ in pairs) == pytest.approx(median(second for _, second in pairs), rel=0.3)


def test_whoever_has_the_machine_signs_in_although_their_address_gets_no_mail(settings: Settings) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    User.objects.create_superuser(email="admin@localhost", password=PASSWORD)
    answer = Client().post("/account/login/", {"login": "admin@localhost", "password": PASSWORD})
    assert answer["Location"] == "/reminders/"


@pytest.mark.parametrize("path", ["/account/signup/", "/account/password/reset/"])
def test_with_the_mail_server_away_one_is_told_and_learns_nothing_of_accounts(
    anna: User, settings: Settings, path: str
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", closed_port()
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    pages = [
        Client()
        .post(path, {"email": email, "password1": "tower-bell-43"}, follow=True)
        .content.decode()
        .replace(email, "…")
        for email in ("nobody@example.org", anna.email)
    ]
    assert pages[0] == pages[1]
    assert "Carillon could not send an email" in pages[0]


@pytest.mark.parametrize("password", ["bell-42", "password123", "11.03.1984", "anna@example"])
def test_a_weak_password_is_refused_with_its_reason(password: str) -> None:
    answer = Client().post("/account/signup/", {"email": "anna@example.org", "password1": password})
    assert answer.status_code == 200
    assert answer.context["form"].errors["password1"]


def test_a_new_password_signs_out_everywhere_else(anna: User) -> None:
    here, there = Client(), Client()
    for client in (here, there):
        client.post("/account/login/", {"login": anna.email, "password": PASSWORD})
        assert client.get("/reminders/").status_code == 200
    fields = {"oldpassword": PASSWORD, "password1": "tower-bell-43", "password2": "tower-bell-43"}
    assert here.post("/account/password/change/", fields).status_code == 302
    assert here.get("/reminders/").status_code == 200
    assert there.get("/reminders/").status_code == 302


def test_a_session_ends_with_the_browser_unless_one_asks_to_be_kept_signed_in(anna: User) -> None:
    brief, long = Client(), Client()
    brief.post("/account/login/", {"login": anna.email, "password": PASSWORD})
    long.post("/account/login/", {"login": anna.email, "password": PASSWORD, "remember": "on"})
    assert brief.session.get_expire_at_browser_close()
    assert long.session.get_expiry_age() == pytest.approx(14 * 24 * 3600, abs=60)


@pytest.mark.parametrize("there", ["http://[::1", "https://evil.example/", "//evil.example", "javascript:alert(1)"])
@pytest.mark.parametrize("page", ["login", "signup", "password/reset", "reauthenticate", "second-factor/authenticate"])
def test_a_link_leads_nowhere_else_and_fails_no_page(client: Client, page: str, there: str) -> None:
    for answer in (client.get(f"/account/{page}/", {"next": there}), client.post(f"/account/{page}/", {"next": there})):
        assert answer.status_code in (200, 302)
        assert answer.headers.get("Location", "/").startswith("/account/") or answer.status_code == 200


def test_signing_in_leads_to_no_other_house(client: Client) -> None:
    make_user(email="anna@example.org", password=PASSWORD)
    signed_in = {"login": "anna@example.org", "password": PASSWORD, "next": "http://[::1"}
    assert client.post("/account/login/", signed_in)["Location"] == "/reminders/"


def test_whoever_an_operator_enters_in_capitals_signs_in_and_is_one_with_their_address(settings: Settings) -> None:
    staff = signed_in(is_staff=True, is_superuser=True)
    fields = {"email": "Grace@Example.ORG", "usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}
    staff.post("/admin/people/user/add/", fields)
    assert User.objects.filter(email="grace@example.org").exists()
    answer = Client().post("/account/login/", {"login": "Grace@example.org", "password": PASSWORD})
    assert answer["Location"] == "/reminders/"
    again = Client().post("/account/signup/", {"email": "grace@example.org", "password1": "tower-bell-43"})
    assert again.status_code == 200
