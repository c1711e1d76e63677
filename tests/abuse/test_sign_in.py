"""Guessing passwords is slow, whatever the door, and a Redis that is away locks nobody out."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from people.models import User
from tests.make import make_user
from tests.providers.making import closed_port

pytestmark = pytest.mark.django_db

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
    assert "Too many failed" in sign_in(Client(), PASSWORD)


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


def test_the_admin_has_no_door_of_its_own(client: Client, anna: User) -> None:
    answer = client.post("/admin/login/", {"username": "anna@example.org", "password": PASSWORD})
    assert answer["Location"].startswith("/account/login/?next=")
    assert client.get("/admin/", follow=True).redirect_chain[-1][0].startswith("/account/login/?next=")


def test_somebody_who_is_not_staff_is_not_let_into_the_admin(client: Client, anna: User) -> None:
    client.force_login(anna, backend="django.contrib.auth.backends.ModelBackend")
    assert client.get("/admin/", follow=True).status_code == 403


def test_a_forwarded_address_counts_only_behind_a_proxy(anna: User, settings: Settings) -> None:
    settings.ACCOUNT_RATE_LIMITS = {"login_failed": "2/m/ip"}
    for number in range(2):
        sign_in(Client(), "wrong", HTTP_X_FORWARDED_FOR=f"192.0.2.{number}")
    assert "Too many failed" in sign_in(Client(), "wrong", HTTP_X_FORWARDED_FOR="192.0.2.77")
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    assert "Too many failed" not in sign_in(Client(), "wrong", HTTP_X_FORWARDED_FOR="192.0.2.78")
