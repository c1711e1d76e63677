"""What every call goes through: the token, its scopes, the rate limit."""

from __future__ import annotations

import gzip
from datetime import timedelta
from uuid import uuid4

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import resolve
from django.utils import timezone
from pytest_django import Settings

from api.models import StoredAnswer
from api.protocol import deprecations, middleware
from api.v1 import api as api_of_v1
from people import teams, tokens
from people.models import ApiToken, User
from schedules.models import Holiday
from tests.db.api.conftest import Api
from tests.make import make_rule, make_schedule, make_user

pytestmark = pytest.mark.django_db


def test_a_call_names_the_account_and_its_token(api: Api, ada: User) -> None:
    answer = api.get("/me")
    assert answer.status_code == 200
    document = answer.json()
    assert document["email"] == ada.email
    assert document["token"]["prefix"] == api.row.prefix
    assert api.token not in answer.content.decode()


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", "Basic YTpi", "Bearer \u00e4"])
def test_a_call_without_a_valid_token_is_refused(header: str) -> None:
    answer = Client().get("/api/v1/me", headers={"Authorization": header})
    assert answer.status_code == 401
    assert answer["Content-Type"] == "application/problem+json"
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert answer.json()["code"] == "unauthorised"


def test_a_signed_in_browser_is_no_token(browser: Client) -> None:
    assert browser.get("/api/v1/me").status_code == 401


def test_an_expired_a_revoked_and_a_switched_off_token_are_refused(ada: User) -> None:
    expired, revoked, off = Api(ada), Api(ada), Api(ada)
    ApiToken.objects.filter(id=expired.row.id).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert tokens.revoke(ada, revoked.row.id)
    assert [api.get("/me").status_code for api in (expired, revoked, off)] == [401, 401, 200]
    User.objects.filter(id=ada.id).update(is_active=False)
    assert off.get("/me").status_code == 401


def test_a_staff_token_is_no_way_around_the_second_factor(api: Api, ada: User, settings: Settings) -> None:
    settings.SECOND_FACTOR_FOR_STAFF = True
    membership = teams.find_membership(ada, teams.create(ada, "Family").pk)
    assert membership is not None
    of_team = Api(membership.team)
    assert {one.get("/me").status_code for one in (api, of_team)} == {200}
    User.objects.filter(id=ada.id).update(is_staff=True)
    assert {one.get("/me").status_code for one in (api, of_team)} == {401}


def test_the_token_is_stored_as_a_hash_only(api: Api) -> None:
    stored = ApiToken.objects.values().get()
    assert api.token not in str(stored)
    assert api.token.startswith(stored["prefix"])


def test_the_last_use_is_written_at_most_once_a_minute(api: Api) -> None:
    api.get("/me")
    first = ApiToken.objects.get().last_used_at
    api.get("/me")
    assert first is not None
    assert ApiToken.objects.get().last_used_at == first
    tokens.record_use(api.row, first + timedelta(seconds=30))  # found before the first use was written
    assert ApiToken.objects.get().last_used_at == first


def test_calls_over_the_limit_wait_and_others_know_how_many_are_left(api: Api, ada: User, settings: Settings) -> None:
    settings.API_REQUESTS_PER_MINUTE = 2
    left = [api.get("/me")["RateLimit-Remaining"] for _ in range(2)]
    refused = api.get("/me")
    assert left == ["1", "0"]
    assert refused.status_code == 429
    assert refused.json()["allowed"] is False
    assert 1 <= int(refused["Retry-After"]) <= 60
    assert int(refused["RateLimit-Reset"]) == refused.json()["reset"]
    assert Api(ada).get("/me").status_code == 200


@pytest.mark.parametrize(
    ("path", "status"), [("me", 401), ("schedules", 401), ("nothing", 404), ("openapi.json", 200), ("docs", 200)]
)
def test_without_a_valid_token_requests_are_counted_by_address(settings: Settings, path: str, status: int) -> None:
    settings.API_REQUESTS_PER_MINUTE = 2

    def ask(address: str = "192.0.2.1", **headers: str) -> HttpResponse:
        return Client(REMOTE_ADDR=address).get(
            f"/api/v1/{path}", headers={"Authorization": f"Bearer carillon_{uuid4().hex}", **headers}
        )

    answers = [ask() for _ in range(2)]
    assert [(one.status_code, one["RateLimit-Remaining"]) for one in answers] == [(status, "1"), (status, "0")]
    refused = ask(**{"X-Forwarded-For": "192.0.2.2"})
    assert (refused.status_code, refused.json()["code"]) == (429, "too-many-requests")
    assert 1 <= int(refused["Retry-After"]) <= 60
    assert ask("192.0.2.2").status_code == status
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    assert ask(**{"X-Forwarded-For": "192.0.2.2, 192.0.2.3"}).status_code == status


def test_an_address_of_ipv6_counts_as_its_network(settings: Settings) -> None:
    settings.API_REQUESTS_PER_MINUTE = 1
    told = [Client(REMOTE_ADDR=f"2001:db8:0:{net}::{host}").get("/api/v1/me") for net, host in ((1, 1), (1, 2), (2, 1))]
    assert [answer.status_code for answer in told] == [401, 429, 401]


def test_a_valid_token_passes_where_its_address_has_asked_too_much(api: Api, settings: Settings) -> None:
    settings.API_REQUESTS_PER_MINUTE = 1
    assert [Client().get("/api/v1/me").status_code for _ in range(2)] == [401, 429]
    assert api.get("/me").status_code == 200


def test_the_limit_fails_open_while_redis_is_away(api: Api, settings: Settings) -> None:
    settings.API_REQUESTS_PER_MINUTE = 1
    settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": "redis://127.0.0.1:1/0"}}
    assert {api.get("/me").status_code for _ in range(3)} == {200}
    assert {Client().get("/api/v1/me").status_code for _ in range(3)} == {401}


@pytest.mark.parametrize("path", ["/nothing", "/schedules/", "/schedules/none", "/"])
def test_an_unknown_path_says_where_the_known_ones_are(api: Api, path: str) -> None:
    answer = api.get(path)
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")
    assert "/api/v1/docs" in answer.json()["detail"]


def test_a_part_of_the_path_that_must_be_an_id_is_named(api: Api) -> None:
    assert api.get("/schedules/none").json()["detail"].startswith("“none” is not an id, which looks like 0")
    assert api.post("/schedules/none/restore").json()["detail"].startswith("“none” is not an id")
    assert "is not an id" not in api.get("/nothing").json()["detail"]


def test_a_long_path_is_not_searched_for_an_id(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    monkeypatch.setattr(middleware, "resolve", lambda path: searched.append(path) or resolve(path))
    assert Client().get("/api/v1/x" + "/x" * 10_000).status_code == 404
    assert searched == []
    assert Client().get("/api/v1/x/x/x").status_code == 404
    assert len(searched) == 2


def test_an_unknown_parameter_is_named_and_changes_nothing(api: Api, ada: User) -> None:
    answer = api.get("/schedules?limit=1&colour=red")
    assert (answer.status_code, [one["field"] for one in answer.json()["errors"]]) == (422, ["query.colour"])
    refused = api.post("/holidays?dry=1", {"first_day": "2030-12-24", "last_day": "2030-12-26"})
    assert (refused.status_code, Holiday.objects.count()) == (422, 0)
    assert api.get("/schedules?limit=1").status_code == 200


def test_an_empty_cursor_is_none(api: Api, ada: User) -> None:
    made = make_schedule(ada, [])
    for path in (
        "/schedules?cursor=",
        "/holidays?cursor=",
        f"/schedules/{made.id}/occurrences?cursor=",
        "/changes?cursor=",
    ):
        assert api.get(path).status_code == 200, path


def test_head_says_what_get_would(api: Api, ada: User) -> None:
    path = f"/schedules/{make_schedule(ada, []).id}"
    shown, head = api.get(path), api("HEAD", path)
    assert (head.status_code, head["ETag"], head["Content-Type"]) == (200, shown["ETag"], "application/json")
    assert api("HEAD", "/nothing").status_code == 404


def test_options_says_which_methods_there_are(api: Api) -> None:
    answer = api("OPTIONS", "/schedules")
    assert (answer.status_code, answer.content) == (204, b"")
    assert {"GET", "POST", "OPTIONS"} <= set(answer["Allow"].split(", "))
    assert api("OPTIONS", "/nothing").status_code == 404


def test_a_version_that_the_caller_has_is_not_sent_again(api: Api, ada: User) -> None:
    path = f"/schedules/{make_schedule(ada, []).id}"
    etag = api.get(path)["ETag"]
    for known in (etag, f'"0", {etag}', f"W/{etag}", "*"):
        answer = api.get(path, If_None_Match=known)
        assert (answer.status_code, answer.content, answer["ETag"]) == (304, b"", etag)
        assert "RateLimit-Limit" in answer and "Content-Length" not in answer
    assert api.get(path, If_None_Match='"0"').status_code == 200


def test_a_compressed_body_is_refused_with_what_to_do(api: Api) -> None:
    answer = api("POST", "/holidays", gzip.compress(b"{}"), Content_Encoding="gzip")
    assert (answer.status_code, answer["Accept-Encoding"]) == (415, "identity")


def test_another_method_names_those_that_are_there(api: Api) -> None:
    for path in ("/me", "/docs"):
        answer = api("PUT", path)
        assert (answer.status_code, answer["Content-Type"]) == (405, "application/problem+json")
        assert "GET" in answer["Allow"]


def test_a_token_of_fewer_scopes_gets_no_answer_that_was_kept_for_another(api: Api, ada: User) -> None:
    body = {"kind": "webhook", "fields": {"url": "https://example.org/"}}
    made = api.post("/channels", body, Idempotency_Key="k")
    assert (made.status_code, Api(ada).post("/channels", body, Idempotency_Key="k").content) == (201, made.content)
    for scopes in ((), ("read",), ("read", "schedules")):
        assert Api(ada, scopes).post("/channels", body, Idempotency_Key="k").json()["code"] == "key-reused"


def test_a_request_for_another_version_gets_no_answer_that_was_kept_for_the_first(api: Api, ada: User) -> None:
    path = f"/rules/{make_rule(ada).id}/disable"
    assert api.post(path, If_Match='"1"', Idempotency_Key="k").status_code == 200
    assert api.post(path, If_Match='"2"', Idempotency_Key="k").json()["code"] == "key-reused"


def test_a_key_that_is_used_again_after_a_day_counts_for_another_day(api: Api) -> None:
    for value in (1, 2, 2):
        assert api.post("/counters", {"name": "builds"}, Idempotency_Key="k").json()["value"] == value
        if value == 1:
            StoredAnswer.objects.update(created_at=timezone.now() - timedelta(hours=25))


def test_a_kept_answer_changes_no_other_answer(api: Api) -> None:
    def make(key: str) -> bytes:
        body = {"kind": "webhook", "fields": {"url": f"https://example.org/{key}"}}
        return api.post("/channels", body, Idempotency_Key=key).content

    first, second = make("1"), make("2")
    other = Api(make_user())
    other.post("/channels", {"kind": "inbox", "fields": {}}, Idempotency_Key="1")
    assert first != second
    assert (make("1"), make("2")) == (first, second)


def test_an_operation_that_is_deprecated_says_so_in_each_answer(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"Deprecation": "@1798761600", "Link": '</docs#list_rules>; rel="deprecation"'}
    api_of_v1.get_openapi_schema()
    assert "Deprecation" not in api.get("/rules")
    monkeypatch.setattr(deprecations, "DEPRECATED", {"list_rules": None})
    monkeypatch.setattr(api_of_v1, "_deprecated", {"list_rules": said})
    for query in ("", "?limit=none"):
        answer = api.get(f"/rules{query}")
        assert (answer["Deprecation"], answer["Link"]) == (said["Deprecation"], said["Link"])
    for number in range(2):
        make_rule(api.row.user, name=f"Rule {number}")
    assert api.get("/rules?limit=1")["Link"].endswith(f'rel="next", {said["Link"]}')
    assert "Deprecation" not in api.get("/me")
