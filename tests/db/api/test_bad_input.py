"""Whatever is wrong with a request: a problem document with the field and the remedy, nothing written, no trace."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

import pytest
from django.conf import settings
from django.core import signing
from django.http import HttpResponse
from django.test import Client

from notifications.models import Channel
from people.models import User
from schedules.models import Schedule, ScheduleEvent
from tests.db.api.conftest import Api, wrong_fields
from tests.make import NOON, make_channel, make_schedule, make_user

pytestmark = pytest.mark.django_db


def body_of(**overrides: Any) -> dict[str, Any]:
    return {"title": "Rent", "timing": {"daily": {"time": "09:00"}}, "time_zone": "UTC", "channel_ids": []} | overrides


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def raw(text: str | bytes) -> bytes:
    """A body whose `data` is the text itself."""
    whole = json.dumps(body_of(data="<>")).encode()
    return whole.replace(b'"<>"', text if isinstance(text, bytes) else text.encode())


# What is sent, the status, the code.
BODIES: list[tuple[bytes, int, str]] = [
    (b"", 422, "invalid"),
    (b"{", 400, "bad-json"),
    (b"null", 422, "invalid"),
    (b"[]", 422, "invalid"),
    (b'"text"', 422, "invalid"),
    (b"\xff\xfe", 400, "bad-json"),
    (b"\xef\xbb\xbf{}", 400, "bad-json"),
    (raw(b'{"a": "\xe9"}'), 400, "bad-json"),
    (raw('{"a": "\\u0000"}'), 400, "bad-json"),
    (raw('{"\\u0000": 1}'), 400, "bad-json"),
    (raw('{"a": "\\ud800"}'), 400, "bad-json"),
    (raw('{"a": "\\udc00\\ud800"}'), 400, "bad-json"),
    (raw('{"a": 1, "a": 2}'), 400, "bad-json"),
    (raw('{"a": {"b": 1, "\\u0062": 2}}'), 400, "bad-json"),
    (raw('{"a": NaN}'), 400, "bad-json"),
    (raw('{"a": -Infinity}'), 400, "bad-json"),
    (raw('{"a": 1e400}'), 400, "bad-json"),
    (raw('{"a": -1e19}'), 400, "bad-json"),
    (raw('{"a": ' + "9" * 5_000 + "}"), 400, "bad-json"),
    (raw('{"a": ' + "[" * 40 + "]" * 40 + "}"), 400, "bad-json"),
    (raw('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"), 400, "bad-json"),
    (raw('{"a": "' + "x" * 300_000 + '"}'), 413, "too-large"),
    (b"title=Rent&timing=daily", 400, "bad-json"),
]

# Some 240 KiB of names.
MANY = {f"{number:x}": 0 for number in range(20_000)}

# The field that is named, and what is sent for it.
FIELDS: list[tuple[str, dict[str, Any]]] = [
    ("nonsense", {"nonsense": 1}),
    ("Title", {"Title": "Rent"}),
    ("title", {"title": 1}),
    ("title", {"title": None}),
    ("title", {"title": ["Rent"]}),
    ("channel_ids", {"channel_ids": "all"}),
    ("channel_ids.0", {"channel_ids": [1]}),
    ("urgent", {"urgent": "true"}),
    ("urgent", {"urgent": 1}),
    ("grace", {"grace": "60"}),
    ("grace", {"grace": 60.0}),
    ("max_count", {"max_count": True}),
    ("excluded.0", {"excluded": [20261225]}),
    ("timing", {"timing": "daily"}),
    ("timing", {"timing": None}),
    ("timing", {"timing": {}}),
    ("timing.daily.time", {"timing": {"daily": {"time": 9}}}),
    ("timing.daily.at", {"timing": {"daily": {"time": "09:00", "at": "x"}}}),
    ("timing.daily.time", {"timing": {"daily": {}}}),
    ("timing.daily.time", {"timing": {"daily": {"time": "09:00+02:00"}}}),
    ("timing.once.at", {"timing": {"once": {"at": "2999-01-01T09:00Z"}}}),
    ("timing.weekly.days.1", {"timing": {"weekly": {"time": "09:00", "days": [0, "1"]}}}),
    ("starts_at", {"starts_at": "2999-01-01T09:00:00+02:00"}),
    ("category", {"category": "two words"}),
    ("data", {"data": [1, 2]}),
    ("data", {"data": "text"}),
    ("data", {"data": {"a": "x" * 16_380}}),
    ("data", {"data": {"a": "ü" * 8_190}}),
    ("time_zone", {"time_zone": "Mars/Base"}),
]


@pytest.fixture
def inbox(ada: User) -> Channel:
    return make_channel(ada)


@pytest.fixture(autouse=True)
def no_trace(caplog: pytest.LogCaptureFixture) -> Any:
    """Nothing logs a traceback or an error."""
    yield
    assert [one.getMessage() for one in caplog.records if one.exc_info or one.levelno >= logging.ERROR] == []


def is_problem(answer: HttpResponse, status: int, code: str) -> dict[str, Any]:
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json"), answer.content
    document: dict[str, Any] = json.loads(answer.content)
    assert (document["status"], document["code"]) == (status, code)
    assert document["type"] == f"{settings.BASE_URL}/api/v1/docs#problem-{code}"
    assert document["title"] and (document.get("detail") or document.get("errors"))
    return document


@pytest.mark.parametrize(("body", "status", "code"), BODIES, ids=lambda one: str(one)[-50:])
def test_a_body_that_cannot_be_read_is_refused(api: Api, body: bytes, status: int, code: str) -> None:
    is_problem(api.post("/schedules", body), status, code)
    assert not Schedule.objects.exists()


@pytest.mark.parametrize(("field", "overrides"), FIELDS, ids=lambda one: str(one)[:60])
def test_a_wrong_field_is_named_and_nothing_is_written(
    api: Api, inbox: Channel, field: str, overrides: dict[str, Any]
) -> None:
    body = body_of(channel_ids=[str(inbox.id)]) | overrides
    errors = is_problem(api.post("/schedules", body), 422, "invalid")["errors"]
    assert [one["field"] for one in errors] == [field]
    assert len(errors[0]["detail"]) > 10
    assert not Schedule.objects.exists()


@pytest.mark.parametrize(
    ("field", "overrides"), [one for one in FIELDS if one[0] != "starts_at"], ids=lambda one: str(one)[:60]
)
def test_a_wrong_field_of_a_patch_is_named_and_nothing_is_written(
    api: Api, ada: User, inbox: Channel, field: str, overrides: dict[str, Any]
) -> None:
    made = make_schedule(ada, [inbox])
    errors = is_problem(api("PATCH", f"/schedules/{made.id}", overrides), 422, "invalid")["errors"]
    assert [one["field"] for one in errors] == [field]
    assert Schedule.objects.get().version == 1
    assert ScheduleEvent.objects.count() == 1


def test_the_last_of_many_names_that_is_there_twice_is_found_at_once(api: Api) -> None:
    names = [f'"{number:x}":0' for number in range(25_000)]
    before = time.process_time()
    detail = is_problem(api.post("/schedules", f"{{{','.join([*names, names[-1]])}}}".encode()), 400, "bad-json")[
        "detail"
    ]
    assert f"{24_999:x}" in detail
    assert time.process_time() - before < 2


@pytest.mark.parametrize("field", ["channel_ids", "excluded"])
def test_only_the_first_of_very_many_wrong_items_is_named(api: Api, inbox: Channel, field: str) -> None:
    body = body_of(channel_ids=[str(inbox.id)]) | {field: [1] * 120_000}
    answer = api.post("/schedules", json.dumps(body, separators=(",", ":")).encode())
    assert [one["field"] for one in is_problem(answer, 422, "invalid")["errors"]] == [f"{field}.0"]
    answer = api("PATCH", "/me/settings", {"weekly_hours": {"mon": [1] * 80_000}})
    assert [one["field"] for one in is_problem(answer, 422, "invalid")["errors"]] == ["weekly_hours.mon.0"]


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/schedules", MANY, "(body)"),
        ("/schedules", body_of(timing=MANY), "timing"),
        ("/schedules", body_of(timing={"daily": MANY}), "timing.daily"),
        ("/schedules", body_of(job=MANY), "job"),
        ("/schedules", body_of(job={"kind": "feed", "payload": MANY}), "job.payload"),
        ("/schedules", body_of(audience=MANY), "audience"),
        ("/channels", {"kind": "webhook", "fields": MANY}, "fields"),
        ("/connections", {"kind": "github", "fields": MANY}, "fields"),
        ("/status-webhooks", {"headers": MANY}, "headers"),
        ("/events", [MANY], "0"),
        ("/rules", {"conditions": [MANY]}, "conditions.0"),
    ],
)
def test_very_many_unknown_fields_are_one_error(api: Api, path: str, body: Any, field: str) -> None:
    answer = api.post(path, body)
    errors = {one["field"]: one["detail"] for one in is_problem(answer, 422, "invalid")["errors"]}
    assert field in errors and len(errors) < 10, errors
    assert "19,990 more" in errors[field] or "20,000 fields" in errors[field]
    assert len(answer.content) < 2_000


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_very_many_unknown_fields_beside_those_of_the_answer_are_one_error(
    api: Api, inbox: Channel, method: str
) -> None:
    made = api.post("/schedules", body_of(channel_ids=[str(inbox.id)])).json()
    answer = api(method, f"/schedules/{made['id']}", made | MANY)
    (error,) = is_problem(answer, 422, "invalid")["errors"]
    assert error["field"] == "(body)" and len(answer.content) < 2_000


def test_a_few_unknown_fields_are_named_each(api: Api) -> None:
    named = wrong_fields(api.post("/schedules", {f"x{number}": 0 for number in range(10)}))
    assert {f"x{number}" for number in range(10)} < set(named)


def test_two_timings_are_refused_by_their_names(api: Api, inbox: Channel) -> None:
    timing = {"dailyTime": {"hour": 9, "minute": 0}, "cron": {"expression": "* * * * *"}}
    body = body_of(timing=timing, channel_ids=[str(inbox.id)])
    errors = is_problem(api.post("/schedules", body), 422, "invalid")["errors"]
    assert [one["field"] for one in errors] == ["timing.cron", "timing.dailyTime"]


@pytest.mark.parametrize(
    ("timing", "zone", "field", "code"),
    [
        ({"cron": {"expression": "0 25 * * *"}}, "UTC", "timing.cron.expression", "cron_field"),
        ({"once": {"at": "2031-02-30T09:00"}}, "UTC", "timing.once.at", "once_date"),
        ({"dailyTime": {"hour": 9, "minute": 0}}, "Europe/Berlim", "time_zone", "timezone_misspelt"),
    ],
)
def test_a_violated_rule_has_its_code(
    api: Api, inbox: Channel, timing: dict[str, Any], zone: str, field: str, code: str
) -> None:
    refused = api.post("/schedules", body_of(timing=timing, time_zone=zone, channel_ids=[str(inbox.id)]))
    [error] = json.loads(refused.content)["errors"]
    assert (error["field"], error["code"]) == (field, code)


def test_data_of_16_kib_is_kept_as_it_is(api: Api, inbox: Channel) -> None:
    data = {"a": "x" * 16_374, "b": 1}
    answer = api.post("/schedules", body_of(channel_ids=[str(inbox.id)], data={"a": "x" * 16_376}))
    assert answer.status_code == 201
    assert is_problem(api.post("/schedules", body_of(data=data)), 422, "invalid")["errors"][0]["field"] == "data"
    odd = {"": None, "ü": [[], {}, 0.1, -0.0, 1e18, 1e-300, 2**62, "\u2028"], "nested": nested(28)}
    kept = api.post("/schedules", body_of(channel_ids=[str(inbox.id)], data=odd))
    assert kept.json()["data"] == odd == api.get(f"/schedules/{kept.json()['id']}").json()["data"]


@pytest.mark.parametrize(
    ("path", "field", "allowed"),
    [
        ("/schedules?limit=0", "query.limit", "at least 1"),
        ("/schedules?limit=201", "query.limit", "at most 200"),
        ("/schedules?limit=many", "query.limit", "a whole number"),
        ("/schedules?limit=1.5", "query.limit", "a whole number"),
        (f"/schedules?limit={'9' * 5_000}", "query.limit", "number"),
        ("/schedules?state=asleep", "query.state", "active"),
        ("/notifications?schedule_id=1", "query.schedule_id", "an id"),
        ("/dead-letters?channel_id=x", "query.channel_id", "an id"),
        (f"/schedules?search={'x' * 201}", "query.search", "at most 200"),
    ],
)
def test_a_wrong_parameter_says_in_our_words_what_is_allowed(api: Api, path: str, field: str, allowed: str) -> None:
    [error] = is_problem(api.get(path), 422, "invalid")["errors"]
    assert error["field"] == field
    assert allowed in error["detail"]
    assert "Input" not in error["detail"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "query.limit"),
        ("limit=201", "query.limit"),
        ("limit=many", "query.limit"),
        ("state=asleep", "query.state"),
        ("due_before=tomorrow", "query.due_before"),
        ("due_before=2026-01-01T00:00:00", "query.due_before"),
        ("due_before=99999-01-01T00:00:00Z", "query.due_before"),
        ("search=%00", "query.search"),
        ("category=%00", "query.category"),
        (f"search={'x' * 201}", "query.search"),
        ("cursor=nonsense", "query.cursor"),
        ("cursor=%00", "query.cursor"),
        ("cursor=WyIvIiwiMSJd:1:x", "query.cursor"),
    ],
)
def test_a_wrong_parameter_is_named(api: Api, query: str, field: str) -> None:
    errors = is_problem(api.get(f"/schedules?{query}"), 422, "invalid")["errors"]
    assert [one["field"] for one in errors] == [field]


def test_a_cursor_is_good_for_its_own_list_only(api: Api, ada: User, inbox: Channel) -> None:
    one, other = (make_schedule(ada, [inbox]) for _ in range(2))
    cursor = api.get("/schedules?limit=1").json()["next"]
    assert api.get(f"/schedules?cursor={cursor}").status_code == 200
    forged = signing.dumps(["/api/v1/schedules", "x"], salt="another")
    for path in (f"/schedules/{one.id}/occurrences?cursor={cursor}", f"/schedules?cursor={cursor[:-1]}x"):
        is_problem(api.get(path), 422, "invalid")
    is_problem(api.get(f"/schedules/{other.id}/explain?cursor={forged}"), 422, "invalid")


def test_a_cursor_of_the_release_before_is_refused_and_does_not_begin_again(
    api: Api, ada: User, inbox: Channel
) -> None:
    path = f"/schedules/{make_schedule(ada, [inbox]).id}/occurrences"
    before = signing.dumps([f"/api/v1{path}", NOON.isoformat()], salt="api.cursor", compress=True)
    is_problem(api.get(f"{path}?cursor={before}"), 422, "invalid")
    assert api.get(path).status_code == 200


@pytest.mark.parametrize("act", ["skip", "unskip", "snooze"])
@pytest.mark.parametrize("value", ["2026-01-01T00:00:00", "2026-01-01", "soon", 1, None, "9999-12-31T23:59:59Z"])
def test_an_instant_that_is_none_is_refused(api: Api, ada: User, inbox: Channel, act: str, value: Any) -> None:
    field = "snooze_ends_at" if act == "snooze" else "slot_at"
    made = make_schedule(ada, [inbox])
    errors = is_problem(api.post(f"/schedules/{made.id}/{act}", {field: value}), 422, "invalid")["errors"]
    assert [one["field"] for one in errors] == [field]
    assert Schedule.objects.get().version == 1


def test_what_has_no_address_or_not_this_method_is_a_problem_too(api: Api, ada: User, inbox: Channel) -> None:
    made = make_schedule(ada, [inbox])
    for path in ("/nothing", "/schedules/", "/schedules/1", f"/schedules/{made.id}/nothing", "/schedules/%00"):
        is_problem(api.get(path), 404, "not-found")
    is_problem(Client().get("/api/"), 404, "not-found")
    is_problem(Client().get("/api/v2/schedules"), 404, "not-found")
    for method, path in (("PUT", "/schedules"), ("POST", f"/schedules/{made.id}"), ("GET", "/schedules/preview")):
        refused = api(method, path)
        is_problem(refused, 405, "method-not-allowed")
        assert refused["Allow"]


def test_a_body_of_another_type_or_charset_is_refused(api: Api) -> None:
    body = json.dumps(body_of())
    for kind, status in (
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("application/json; charset=latin-1", 415),
    ):
        answer = Client().post(
            "/api/v1/schedules", body, content_type=kind, headers={"Authorization": f"Bearer {api.token}"}
        )
        assert is_problem(answer, status, "not-json")["detail"]


def test_a_token_of_too_small_a_scope_writes_nothing(ada: User, inbox: Channel) -> None:
    made, reading = make_schedule(ada, [inbox]), Api(ada, ("read", "channel_ids"))
    for method, path, body in (
        ("POST", "/schedules", body_of()),
        ("PATCH", f"/schedules/{made.id}", {"title": "Tea"}),
        ("DELETE", f"/schedules/{made.id}", None),
        ("POST", f"/schedules/{made.id}/run", None),
    ):
        assert "schedules" in is_problem(reading(method, path, body), 403, "scope")["detail"]
    assert Schedule.objects.get().version == 1


def test_a_used_key_with_another_body_is_refused_and_a_refused_one_may_be_used_again(api: Api, inbox: Channel) -> None:
    right = body_of(channel_ids=[str(inbox.id)])
    is_problem(api.post("/schedules", body_of(), Idempotency_Key="k"), 422, "invalid")
    first = api.post("/schedules", right, Idempotency_Key="k")
    again = api.post("/schedules", right, Idempotency_Key="k")
    assert (first.status_code, again.content, again["Location"]) == (201, first.content, first["Location"])
    is_problem(api.post("/schedules", right | {"title": "Tea"}, Idempotency_Key="k"), 422, "key-reused")
    is_problem(api.post("/schedules", right, Idempotency_Key="ü"), 400, "bad-key")
    assert Api(make_user()).post("/schedules", right, Idempotency_Key="k").status_code == 422
    assert Schedule.objects.count() == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/events", []),
        ("/events", [{"type": "a.b"}] * 101),
        ("/schedules/bulk", {"action": "hide", "ids": []}),
    ],
)
def test_what_is_allowed_is_said_in_our_words(api: Api, path: str, body: Any) -> None:
    [error] = api.post(path, body).json()["errors"]
    assert "should" not in error["detail"] and "character" not in error["detail"]
