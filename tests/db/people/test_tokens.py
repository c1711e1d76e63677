"""API tokens on the settings page: made, shown once, listed, revoked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from common.database import encryption
from people import tokens
from people.models import ApiToken, User
from people.tasks import prune
from tests.db.api.conftest import Api
from tests.make import make_user, signed_in

pytestmark = pytest.mark.django_db

NEW = "/settings/tokens/new/"


def typed(**overrides: Any) -> dict[str, Any]:
    return {"label": "Backup", "scopes": ["read", "notifications"], "days": "30", "made_as": str(uuid4())} | overrides


def test_a_token_is_shown_once_and_works(browser: Client, ada: User) -> None:
    page = browser.post(NEW, typed())
    token = page.context["token"]
    assert (page.status_code, token in page.content.decode()) == (200, True)
    answer = Client().get("/api/v1/me", headers={"Authorization": f"Bearer {token}"})
    assert answer.json()["token"]["scopes"] == ["read", "notifications"]
    row = ApiToken.objects.get()
    assert row.expires_at is not None
    assert abs(row.expires_at - timezone.now() - timedelta(days=30)) < timedelta(minutes=1)
    listed = browser.get("/settings/").content.decode()
    assert row.prefix in listed and "Backup" in listed and token not in listed
    assert "no-store" in page["Cache-Control"]


def test_a_form_that_is_sent_twice_makes_one_token(browser: Client) -> None:
    form = typed()
    browser.post(NEW, form)
    again = browser.post(NEW, form, follow=True)
    assert "already sent" in again.content.decode()
    assert ApiToken.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"label": ""}, "label"),
        ({"label": "x" * 81}, "label"),
        ({"label": "a\0b"}, "label"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["everything"]}, "scopes"),
        ({"days": "31"}, "days"),
        ({"made_as": "1"}, "made_as"),
    ],
)
def test_a_wrong_field_is_told_and_what_was_typed_stays(browser: Client, fields: dict[str, Any], wrong: str) -> None:
    page = browser.post(NEW, typed(**fields))
    assert list(page.context["form"].errors) == [wrong]
    assert not ApiToken.objects.exists()
    if wrong != "label":
        assert 'value="Backup"' in page.content.decode()


@pytest.mark.parametrize(("query", "chosen"), [("", ["read"]), ("?preset=all", [*tokens.SCOPES][:-1])])
def test_the_presets_choose_the_rights(browser: Client, query: str, chosen: list[str]) -> None:
    assert browser.get(f"{NEW}{query}").context["form"]["scopes"].value() == chosen


def test_a_token_that_only_reads_changes_nothing(ada: User) -> None:
    reading = Api(ada, ("read",))
    assert reading.get("/me/tokens").status_code == 200
    assert reading("DELETE", f"/me/tokens/{reading.row.id}").status_code == 403


def test_a_person_has_so_many_tokens(browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MOST", 2)
    for _ in range(2):
        browser.post(NEW, typed())
    assert "the limit" in browser.post(NEW, typed()).content.decode()
    assert ApiToken.objects.count() == 2
    assert tokens.revoke(ada, ApiToken.objects.earliest("id").id)
    browser.post(NEW, typed())
    assert len(tokens.valid_tokens(ada)) == 2


def test_revoking_asks_first_and_ends_the_token(browser: Client, ada: User) -> None:
    api = Api(ada)
    path = f"/settings/tokens/{api.row.id}/revoke/"
    assert "Revoke token</button>" in browser.get(path).content.decode()
    assert api.get("/me").status_code == 200
    assert "is revoked" in browser.post(path, follow=True).content.decode()
    assert api.get("/me").status_code == 401
    assert "is revoked" not in browser.post(path, follow=True).content.decode()
    assert "You have no tokens" in browser.get("/settings/").content.decode()


def test_an_expired_token_is_listed_as_such(browser: Client, ada: User) -> None:
    tokens.create(ada, "Old", ["read"], timezone.now() - timedelta(days=1))
    assert "Expired" in browser.get("/settings/").content.decode()


def test_tokens_are_listed_and_revoked_over_the_api(ada: User) -> None:
    api, other, theirs = Api(ada), Api(ada), Api(make_user())
    assert [one["id"] for one in api.get("/me/tokens").json()["items"]] == [str(other.row.id), str(api.row.id)]
    assert api("DELETE", f"/me/tokens/{theirs.row.id}").status_code == 404
    assert [api("DELETE", f"/me/tokens/{other.row.id}").status_code for _ in range(2)] == [204, 404]
    assert other.get("/me").status_code == 401
    assert api("DELETE", f"/me/tokens/{api.row.id}").status_code == 204
    assert api.get("/me").status_code == 401


def test_staff_need_the_second_factor_to_make_one_where_it_is_required(settings: Settings) -> None:
    settings.SECOND_FACTOR_FOR_STAFF = True
    staff = signed_in(is_staff=True)
    for answer in (staff.get(NEW), staff.post(NEW, typed())):
        assert answer["Location"] == "/account/second-factor/"
    assert not ApiToken.objects.exists()


def test_a_session_that_has_not_shown_the_persons_second_factor_makes_none(browser: Client, ada: User) -> None:
    Authenticator.objects.create(user=ada, type=Authenticator.Type.TOTP, data={"secret": encryption.seal("x")})
    for answer in (browser.get(NEW), browser.post(NEW, typed())):
        assert answer["Location"].startswith("/account/second-factor/reauthenticate/")
    assert not ApiToken.objects.exists()


def test_tokens_are_deleted_three_months_after_they_were_revoked(ada: User) -> None:
    for days in (None, 89, 91):
        row, _ = tokens.create(ada, str(days), ["read"], None)
        ApiToken.objects.filter(pk=row.pk).update(revoked_at=days and timezone.now() - timedelta(days=days))
    assert prune() == 1
    assert set(ApiToken.objects.values_list("label", flat=True)) == {"None", "89"}
