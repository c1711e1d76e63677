"""Tokens that a token makes, over the API: never more than it may itself, and never longer."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from api.models import StoredAnswer
from api.protocol.fields import written
from people import tokens
from people.models import ApiToken, SecurityEvent, User
from tests.db.api.conftest import Api, at_most, wrong_fields
from tests.make import make_user

pytestmark = pytest.mark.django_db

NEW = {"label": "Backup", "scopes": ["read", "notifications"]}


def ask(token: str, path: str = "/me") -> HttpResponse:
    return Client().get(f"/api/v1{path}", headers={"Authorization": f"Bearer {token}"})


def test_a_token_is_made_shown_once_and_works(api: Api) -> None:
    made = api.post("/me/tokens", NEW)
    assert made.status_code == 201, made.content
    document = made.json()
    token = document.pop("token")
    assert ask(token).json()["token"]["scopes"] == NEW["scopes"]
    read = api.get(made["Location"].removeprefix("/api/v1"))
    assert read.json() == document | {"last_used_at": read.json()["last_used_at"]}
    assert document["made_by_id"] == str(api.row.id)
    assert token not in api.get("/me/tokens").content.decode()
    assert token not in str(list(ApiToken.objects.values()))
    assert SecurityEvent.objects.filter(type="token-made", detail__token=document["prefix"]).exists()


def test_a_right_that_is_named_twice_is_given_once(api: Api) -> None:
    made = api.post("/me/tokens", NEW | {"scopes": ["read", "read"]})
    assert (made.status_code, made.json()["scopes"]) == (201, ["read"])


def test_it_cannot_make_tokens_itself_whatever_it_asks_for(api: Api) -> None:
    assert wrong_fields(api.post("/me/tokens", NEW | {"scopes": ["read", tokens.MAKE]})) == ["scopes"]
    child = api.post("/me/tokens", NEW).json()["token"]
    headers = {"Authorization": f"Bearer {child}"}
    refused = Client().post("/api/v1/me/tokens", NEW, content_type="application/json", headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (403, "scope")


def test_without_the_scope_none_is_made_or_rotated(ada: User, api: Api) -> None:
    others = Api(ada, tuple(scope for scope in tokens.SCOPES if scope != tokens.MAKE))
    made = api.post("/me/tokens", NEW).json()
    assert others.post("/me/tokens", NEW).status_code == 403
    assert others.post(f"/me/tokens/{made['id']}/rotate").status_code == 403
    assert ApiToken.objects.count() == 3


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"scopes": ["read", "events"]}, "scopes"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["everything"]}, "scopes"),
        ({"label": ""}, "label"),
        ({"label": "x" * 81}, "label"),
        ({"expires_at": "2001-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "2999-01-01T00:00:00Z"}, "expires_at"),
        ({"days": 30}, "days"),
    ],
)
def test_more_than_its_own_is_refused_by_its_field(ada: User, given: dict[str, Any], field: str) -> None:
    maker = Api(ada, ("read", "notifications", tokens.MAKE))
    ApiToken.objects.filter(id=maker.row.id).update(expires_at=timezone.now() + timedelta(days=30))
    assert wrong_fields(maker.post("/me/tokens", NEW | given)) == [field]
    assert ApiToken.objects.count() == 1


def test_it_ends_with_the_token_that_makes_it_or_earlier(ada: User) -> None:
    maker, end = Api(ada), timezone.now() + timedelta(days=30)
    ApiToken.objects.filter(id=maker.row.id).update(expires_at=end)
    assert maker.post("/me/tokens", NEW).json()["expires_at"] == written(end)
    sooner = written(end - timedelta(days=1))
    assert maker.post("/me/tokens", NEW | {"expires_at": sooner}).json()["expires_at"] == sooner


def test_revoking_a_token_revokes_those_that_it_has_made(ada: User, api: Api) -> None:
    maker, other = Api(ada), Api(ada)
    child, kept = maker.post("/me/tokens", NEW).json(), other.post("/me/tokens", NEW).json()
    assert api("DELETE", f"/me/tokens/{maker.row.id}").status_code == 204
    assert [ask(one["token"]).status_code for one in (child, kept)] == [401, 200]


def test_a_token_that_is_revoked_meanwhile_makes_none(api: Api, ada: User) -> None:
    row = ApiToken.objects.select_related("user").get()
    assert tokens.revoke(ada, row.id)
    with pytest.raises(tokens.Revoked):
        tokens.create_by(row, "Late", ["read"], None)


def test_rotating_replaces_the_secret_and_keeps_the_rest(api: Api) -> None:
    made = api.post("/me/tokens", NEW).json()
    rotated = api.post(f"/me/tokens/{made['id']}/rotate")
    assert rotated.status_code == 200, rotated.content
    changed = {"token", "prefix"}
    document = rotated.json()
    assert {name for name in document if document[name] != made[name]} == changed
    assert [ask(one["token"]).status_code for one in (made, document)] == [401, 200]
    assert SecurityEvent.objects.filter(type="token-rotated").exists()


def test_only_ones_own_children_are_rotated(api: Api, ada: User) -> None:
    """Otherwise a token with few rights could learn the secret of one with many."""
    other = Api(ada)
    child = other.post("/me/tokens", NEW).json()
    for key in (api.row.id, other.row.id, child["id"]):
        assert api.post(f"/me/tokens/{key}/rotate").status_code == 409
    assert ask(child["token"]).status_code == other.get("/me").status_code == 200
    assert api.post(f"/me/tokens/{uuid4()}/rotate").status_code == 404


def test_a_repeated_request_gets_the_same_token_which_is_kept_encrypted(api: Api) -> None:
    first, again = (api.post("/me/tokens", NEW, Idempotency_Key="1") for _ in range(2))
    assert (first.status_code, again.content) == (201, first.content)
    assert ApiToken.objects.count() == 2
    assert first.json()["token"] not in StoredAnswer.objects.get().body


def test_a_stranger_reads_rotates_and_revokes_none(api: Api) -> None:
    made, stranger = api.post("/me/tokens", NEW).json(), Api(make_user())
    path = f"/me/tokens/{made['id']}"
    answers = [stranger.get(path), stranger.post(f"{path}/rotate"), stranger("DELETE", path)]
    assert [one.status_code for one in answers] == [404, 404, 404]
    assert ask(made["token"]).status_code == 200


def test_a_person_has_so_many(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MOST", 2)
    assert [api.post("/me/tokens", NEW).status_code for _ in range(2)] == [201, 409]


def test_making_one_takes_nine_statements(api: Api) -> None:
    api.get("/me")
    with at_most(9):
        api.post("/me/tokens", NEW)
