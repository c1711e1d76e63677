"""Events of security leave one line and one row each, bounded, and without secrets."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from common.uuid7 import first_of
from people import tokens
from people.models import SecurityEvent, User
from people.sign_in import security_log
from people.tasks import prune
from tests.authenticator import PASSWORD, set_up
from tests.make import make_user, signed_in

Type = SecurityEvent.Type


@pytest.fixture(autouse=True)
def counted_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one minute."""
    monkeypatch.setattr(security_log, "counts", security_log._Counts())
    monkeypatch.setattr(security_log.time, "monotonic", lambda: 1_000.0)


@pytest.fixture
def anna() -> User:
    user = make_user(email="anna@example.org", password=PASSWORD)
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return user


def events(user: User | None) -> list[str]:
    return list(SecurityEvent.objects.filter(user=user).order_by("pk").values_list("type", flat=True))


def test_each_step_of_an_account_is_recorded_once(anna: User) -> None:
    client = Client(headers={"user-agent": "Firefox/140.0"})
    client.post("/account/login/", {"login": anna.email, "password": "wrong-bell-43"})
    client.post("/account/login/", {"login": anna.email, "password": PASSWORD})
    client.post("/account/reauthenticate/", {"password": PASSWORD})
    client.post("/account/email/", {"action_add": "", "email": "new@example.org"})
    client.post("/account/email/", {"action_remove": "", "email": "new@example.org"})
    row, _ = tokens.create(anna, "CI", ["read"], None)
    tokens.revoke(anna, row.pk)
    tokens.revoke(anna, row.pk)
    new = {"oldpassword": PASSWORD, "password1": "harbour-crane-77", "password2": "harbour-crane-77"}
    client.post("/account/password/change/", new)
    client.post("/account/logout/")
    client.post("/account/password/reset/", {"email": anna.email})
    assert events(anna) == [
        "sign-in-failed", "signed-in", "address-added", "address-removed", "token-made", "token-revoked",
        "password-changed", "signed-out", "reset-requested",
    ]  # fmt: skip
    first = SecurityEvent.objects.filter(user=anna).earliest("pk")
    assert (first.address, first.agent) == ("127.0.0.1", "Firefox/140.0")


def test_factors_are_recorded(anna: User, django_capture_on_commit_callbacks: Any) -> None:
    client = signed_in(anna)
    client.post("/account/reauthenticate/", {"password": PASSWORD})
    with django_capture_on_commit_callbacks(execute=True):
        set_up(client)
    client.post("/account/second-factor/reauthenticate/", {"code": "1"})
    assert events(anna)[0] == "factor-added"
    assert events(anna)[-1] == "factor-failed"


def test_an_unknown_address_is_not_kept_because_it_may_be_a_password(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        Client().post("/account/login/", {"login": "hunter2@example.org", "password": "hunter2-hunter2"})
    assert events(None) == ["sign-in-failed"]
    assert "hunter2" not in str(list(SecurityEvent.objects.values())) + caplog.text
    assert "security event=sign-in-failed user=None address=127.0.0.1" in caplog.text


def test_a_lock_out_is_recorded_with_its_person(anna: User) -> None:
    for _ in range(6):
        Client().post("/account/login/", {"login": anna.email, "password": "wrong-bell-43"})
    assert events(anna) == ["sign-in-failed"] * 5 + ["locked-out"]


def test_refusals_are_recorded_with_the_page(anna: User) -> None:
    User.objects.filter(pk=anna.pk).update(is_staff=True)
    signed_in(anna).get("/admin/people/user/")
    Client().get("/api/v1/schedules", headers={"authorization": "Bearer carillon_nonsense"})
    _, token = tokens.create(anna, "CI", ["read"], None)
    Client().post("/api/v1/events", {}, "application/json", headers={"authorization": f"Bearer {token}"})
    assert events(anna) == ["access-denied", "token-made", "access-denied"]
    assert events(None) == ["token-refused"]
    assert [row.detail["page"] for row in SecurityEvent.objects.filter(type="access-denied")]
    assert token not in str(list(SecurityEvent.objects.values()))


def test_a_new_account_is_compared_with_no_stored_one() -> None:
    with CaptureQueriesContext(connection) as captured:
        make_user()
    assert not [one["sql"] for one in captured if one["sql"].startswith("SELECT") and "is_superuser" in one["sql"]]


def test_rights_are_recorded_with_who_gave_them(operator: Client, anna: User) -> None:
    fields = {"email": anna.email, "is_active": "on", "is_staff": "on"}
    operator.post(f"/admin/people/user/{anna.pk}/change/", fields)
    row = SecurityEvent.objects.get(user=anna)
    root = User.objects.get(is_superuser=True)
    assert (row.type, row.detail) == ("rights-changed", {"is_staff": True, "by": root.pk})
    anna.groups.add(Group.objects.create(name="Clerks"))
    Group.objects.get().permissions.add(Permission.objects.all()[0])
    assert [event.detail.keys() for event in SecurityEvent.objects.order_by("pk")[1:]] == [
        {"by", "of", "ids", "change"},
        {"by", "of", "ids", "change"},
    ]


def test_a_password_that_staff_set_is_recorded(operator: Client, anna: User) -> None:
    new = {"password1": "harbour-crane-77", "password2": "harbour-crane-77", "usable_password": "true"}
    operator.post(f"/admin/people/user/{anna.pk}/password/", new)
    assert events(anna) == ["password-changed"]


def test_strangers_fill_neither_the_table_nor_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        for number in range(200):
            request = RequestFactory(REMOTE_ADDR=f"198.51.100.{number}").get("/")
            security_log.record(Type.SIGN_IN_FAILED, None, request)
    assert SecurityEvent.objects.count() == security_log.MOST_OF_STRANGERS
    assert (
        len([row for row in caplog.records if row.name == "people.sign_in.security_log"])
        == SecurityEvent.objects.count() + 1
    )


def test_one_network_is_one_source_and_hides_nobody_elses_events(anna: User) -> None:
    client = signed_in(anna)
    for number in range(60):
        request = RequestFactory(REMOTE_ADDR=f"2001:db8::{number:x}").get("/")
        security_log.record(Type.TOKEN_REFUSED, None, request)
    assert SecurityEvent.objects.count() == security_log.MOST_OF_SOURCE
    client.post("/account/logout/")
    assert events(anna) == ["signed-out"]


def test_refusals_hide_neither_a_new_token_nor_wrong_passwords(anna: User) -> None:
    request = RequestFactory(REMOTE_ADDR="198.51.100.1").get("/")
    request.user = anna
    for number in range(100):
        security_log.record(Type.ACCESS_DENIED, anna, request)
        stranger = RequestFactory(REMOTE_ADDR=f"203.0.113.{number}").get("/")
        security_log.record(Type.TOKEN_REFUSED, None, stranger)
    security_log.record(Type.TOKEN_MADE, anna, request)
    security_log.record(Type.SIGN_IN_FAILED, anna, stranger)
    assert {*events(anna)} == {"access-denied", "token-made", "sign-in-failed"}


def test_a_minute_later_events_are_recorded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, now = security_log._Counts(), 1_000.0
    monkeypatch.setattr(security_log.time, "monotonic", lambda: now)
    assert [counts.allow({"a": 1}), counts.allow({"a": 1}), counts.allow({"b": 1})] == [True, False, True]
    now += 60
    assert counts.allow({"a": 1})


def test_old_events_are_deleted(anna: User) -> None:
    old = first_of(timezone.now() - timedelta(days=security_log.KEPT_DAYS, minutes=1))
    SecurityEvent.objects.create(pk=old, type=Type.SIGNED_IN, user=anna)
    security_log.record(Type.SIGNED_OUT, anna)
    assert prune() == 1
    assert events(anna) == ["signed-out"]


def test_a_person_reads_their_own_events_by_an_index(anna: User) -> None:
    security_log.record(Type.SIGNED_IN, anna)
    security_log.record(Type.ADDRESS_ADDED, anna, email_address="new@example.org")
    security_log.record(Type.LOCKED_OUT, make_user())
    page = signed_in(anna).get("/settings/activity/")
    assert [one["row"].type for one in page.context["events"]] == ["address-added", "signed-in"]
    assert "new@example.org" in page.content.decode()
    other = make_user()
    SecurityEvent.objects.bulk_create(SecurityEvent(type=Type.SIGNED_IN, user=other) for _ in range(500))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE people_securityevent")  # of few rows, the primary key costs as much
        cursor.execute("EXPLAIN SELECT * FROM people_securityevent WHERE user_id = %s ORDER BY id DESC", [anna.pk])
        assert "security_event_of_person" in " ".join(row[0] for row in cursor.fetchall())


@pytest.mark.parametrize("query", ["", "?q=anna", "?q=127.0.0.1", "?type=signed-in", "?when=day"])
def test_operators_read_and_search_events_and_change_none(operator: Client, anna: User, query: str) -> None:
    request = RequestFactory().get("/")
    security_log.record(Type.SIGNED_IN, anna, request)
    row = SecurityEvent.objects.get()
    page = operator.get(f"/admin/people/securityevent/{query}")
    assert str(row.pk) in page.content.decode()
    assert operator.get(f"/admin/people/securityevent/{row.pk}/change/").status_code == 200
    assert operator.post(f"/admin/people/securityevent/{row.pk}/delete/", {"post": "yes"}).status_code == 403


def test_a_row_that_cannot_be_written_stops_nobody(anna: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")

    monkeypatch.setattr(SecurityEvent.objects, "create", broken)
    client = Client()
    assert client.post("/account/login/", {"login": anna.email, "password": PASSWORD}).status_code == 302
    assert client.get("/settings/").status_code == 200
