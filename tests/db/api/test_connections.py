"""Connections over the API: the same checks as on the pages, and never a secret in an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db.models import F
from pytest_django import Settings

from api.models import StoredAnswer
from demo.receivers import HTTPReceiver
from demo.receivers.github import GitHub, token
from jobs.changes import connections as changes
from jobs.models import Connection
from people.models import User
from tests.db.api.conftest import Api, wrong_fields
from tests.make import make_connection
from tests.network import served

pytestmark = pytest.mark.django_db

NEW = {"kind": "github", "label": "Mine", "fields": {"token": token("ada")}}


@pytest.fixture(autouse=True)
def github(settings: Settings) -> Iterator[HTTPReceiver]:
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with served(GitHub({"ada": {}, "grace": {}}).answer) as receiver:
        yield receiver


def test_a_connection_is_added_checked_and_read_without_its_secret(api: Api) -> None:
    made = api.post("/connections", NEW)
    assert (made.status_code, made.json()["summary"], made.json()["state"]) == (201, "ada", "working")
    path = made["Location"].removeprefix("/api/v1")
    listed, read = api.get("/connections?kind=github"), api.get(path)
    assert (listed.json()["items"], read["ETag"]) == ([read.json()], made["ETag"])
    for answer in (made, listed, read, api.post(f"{path}/check"), api.get("/connections/kinds")):
        assert token("ada") not in answer.content.decode()


def test_with_an_idempotency_key_it_is_added_once_and_checked_later(api: Api, github: HTTPReceiver) -> None:
    first, again = (api.post("/connections", NEW, Idempotency_Key="k") for _ in range(2))
    assert (first.content, first.json()["state"]) == (again.content, "unchecked")
    assert (Connection.objects.count(), github.requests) == (1, [])
    assert token("ada") not in StoredAnswer.objects.get().body
    checked = api.post(f"/connections/{first.json()['id']}/check", Idempotency_Key="c")
    assert (checked.json()["state"], checked.json()["summary"]) == ("working", "ada")


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"kind": "pigeon"}, ["kind"]),
        ({"kind": "github"}, ["fields.token"]),
        ({"kind": "github", "fields": {"token": "planted"}}, ["fields.token"]),
        ({"kind": "github", "fields": {"token": token("nobody")}}, ["fields"]),
        ({"kind": "github", "fields": {"token": token("ada"), "login": "x"}}, ["fields.login"]),
        ({"kind": "github", "fields": {"token": token("ada")}, "label": "x" * 81}, ["label"]),
        ({"kind": "calendar", "fields": {"url": "ftp://example.org/a.ics"}}, ["fields.url"]),
        ({"kind": "address", "fields": {"url": "https://example.org/", "headers": "Host: x"}}, ["fields.headers"]),
        ({"label": "x"}, ["kind"]),
    ],
)
def test_a_wrong_connection_is_refused_by_its_field(api: Api, body: dict[str, Any], fields: list[str]) -> None:
    assert wrong_fields(api.post("/connections", body)) == fields
    assert not Connection.objects.exists()


def test_what_is_not_given_stays(api: Api, ada: User) -> None:
    connection = make_connection(ada)
    path = f"/connections/{connection.id}"
    renamed = api("PATCH", path, {"label": "Work"})
    assert (renamed.json()["label"], renamed.json()["summary"]) == ("Work", "ada")
    other = api("PATCH", path, {"fields": {"token": token("grace")}})
    assert (other.json()["label"], other.json()["summary"]) == ("Work", "grace")
    assert wrong_fields(api("PATCH", path, {"fields": {"token": token("nobody")}})) == ["fields"]
    connection.refresh_from_db()
    assert connection.destination().secrets == {"token": token("grace")}


def test_headers_are_kept_for_the_same_address_and_deleted_by_null(api: Api, ada: User) -> None:
    with HTTPReceiver() as site:
        url = f"{site.origin}/prices.json"
        connection = make_connection(ada, "address", address={"url": url}, secrets={"X-Key": "planted-key"})
        path = f"/connections/{connection.id}"
        assert api("PATCH", path, {"fields": {"url": url}}).json()["fields"] == {"url": url}
        assert wrong_fields(api("PATCH", path, {"fields": {"url": f"{site.origin}/else"}})) == ["fields.headers"]
        connection.refresh_from_db()
        assert connection.destination().secrets == {"X-Key": "planted-key"}
        assert api("PATCH", path, {"fields": {"headers": None}}).status_code == 200
    connection.refresh_from_db()
    assert connection.destination().secrets == {}


def test_an_older_version_is_refused(api: Api, ada: User) -> None:
    connection = make_connection(ada)
    path = f"/connections/{connection.id}"
    tag = api.get(path)["ETag"]
    assert api("PATCH", path, {"label": "Work"}, If_Match=tag).status_code == 200
    for method in ("PATCH", "DELETE"):
        refused = api(method, path, {"label": "Late"}, If_Match=tag)
        assert (refused.status_code, refused.json()["current"]["label"]) == (412, "Work")


def test_a_change_during_the_question_to_its_source_is_not_overwritten(
    api: Api, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, ask = make_connection(ada), changes.ask_source

    def renamed_meanwhile(*given: Any) -> Any:
        Connection.objects.update(label="Theirs", version=F("version") + 1)
        return ask(*given)

    monkeypatch.setattr(changes, "ask_source", renamed_meanwhile)
    refused = api("PATCH", f"/connections/{connection.id}", {"label": "Mine", "fields": {"token": token("grace")}})
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    connection.refresh_from_db()
    assert (connection.label, connection.destination().secrets) == ("Theirs", {"token": token("ada")})


def test_one_of_a_kind_that_is_no_longer_installed_is_neither_checked_nor_changed(api: Api, ada: User) -> None:
    path = f"/connections/{make_connection(ada, 'gone').id}"
    for answer in (api.post(f"{path}/check"), api("PATCH", path, {"label": "Mine"})):
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert api.get(path).status_code == 200


def test_it_is_removed_with_its_secrets(api: Api, ada: User) -> None:
    connection = make_connection(ada)
    assert api("DELETE", f"/connections/{connection.id}").status_code == 204
    assert api.get(f"/connections/{connection.id}").status_code == 404
    assert Connection.objects.get().sealed_secrets == ""


def test_a_token_without_the_scope_only_reads(ada: User) -> None:
    connection, reader = make_connection(ada), Api(ada, ("read", "channel_ids"))
    assert reader.get(f"/connections/{connection.id}").status_code == 200
    assert reader.post("/connections", NEW).status_code == 403


def test_checks_are_limited(api: Api, ada: User) -> None:
    path = f"/connections/{make_connection(ada).id}/check"
    assert [api.post(path).status_code for _ in range(11)] == [200] * 10 + [429]
