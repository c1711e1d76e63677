"""All that is wrong in a request is told at once: wrong types, broken rules, unknown references and fields."""

from __future__ import annotations

import json
import re
from itertools import groupby
from typing import Any, get_type_hints
from uuid import uuid4

import pytest
from django.http import HttpResponse

from api.protocol.fields import FormBody
from api.resources.transfer import load
from api.v1 import api as api_of_v1
from common.redis import rate_limiter
from events.models import Rule, Topic
from notifications.models import Channel
from people import teams
from people.models import User
from schedules.models import Schedule
from tests.db.api.conftest import Api
from tests.make import make_channel, make_connection, make_rule, make_schedule, make_watch
from watches.models import Watch

pytestmark = pytest.mark.django_db

UNKNOWN = str(uuid4())
DAILY = {"daily": {"time": "09:00"}}


def told(answer: HttpResponse) -> dict[str, str]:
    """The code of each field; each is named once."""
    assert answer.status_code == 422, answer.content
    errors = json.loads(answer.content)["errors"]
    assert all(len([*same]) == 1 for _, same in groupby(sorted(one["field"] for one in errors))), errors
    return {one["field"]: one.get("code", "") for one in errors}


NEW: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    (
        "/schedules",
        {"title": 5, "timing": {"daily": {"time": "25:00"}}, "channel_ids": [UNKNOWN], "grace": -1, "colour": "red"},
        {
            "title": "string_type",
            "colour": "extra_forbidden",
            "timing.daily.time": "time",
            "channel_ids": "invalid_choice",
            "grace": "min_value",
        },
    ),
    (
        "/schedules",
        {
            "timing": {"weekly": {"time": "25:00", "days": [], "off_days": "skip", "public_holidays": "Mars"}},
            **{"title": "", "starts_at": "2030-02-01T00:00", "ends_at": "2030-01-01T00:00", "channel_ids": []},
        },
        {
            "title": "required",
            "timing.weekly.days": "required",
            "timing.weekly.time": "time",
            "timing.weekly.public_holidays": "public_holidays",
            "ends_at": "window_order",
            "channel_ids": "required",
        },
    ),
    # A timing is one value: what is wrong in it hides its rule, and nothing else.
    (
        "/schedules",
        {"title": "T", "timing": {"daily": {"time": 9, "off_days": "never"}}, "channel_ids": [], "tags": ["a,b"]},
        {
            "timing.daily.time": "string_type",
            "timing.daily.off_days": "literal_error",
            "channel_ids": "required",
            "tags": "comma",
        },
    ),
    (
        "/schedules",
        {"title": "", "timing": {**DAILY, "cron": {"expression": "x"}}, "channel_ids": UNKNOWN, "time_zone": "Mars"},
        {
            "channel_ids": "list_type",
            "timing.cron": "one_timing",
            "timing.daily": "one_timing",
            "title": "required",
            "time_zone": "timezone_misspelt",
        },
    ),
    (
        "/schedules",
        {
            "title": "T",
            "timing": DAILY,
            "channel_ids": [UNKNOWN],
            "job": {"kind": "web_value", "errors_allowed": "3", "connection_id": UNKNOWN, "payload": {"colour": 1}},
        },
        {
            "job.errors_allowed": "int_type",
            "job.payload.colour": "unknown_field",
            "channel_ids": "invalid_choice",
            "job.connection_id": "unknown_connection",
            "job.payload.url": "required",
            "job.payload.expression": "required",
        },
    ),
    # An empty one would become the default.
    (
        "/schedules",
        {
            **{"title": "T", "timing": DAILY, "channel_ids": [UNKNOWN], "misfire": ""},
            "job": {"kind": "web_value", "on_error": "", "payload": {"url": "https://a.example", "expression": "a"}},
        },
        {"misfire": "value_error", "job.on_error": "value_error", "channel_ids": "invalid_choice"},
    ),
    # No consequence: whether there must be channels, or an order, depends on what is wrong.
    (
        "/schedules",
        {"title": "T", "timing": DAILY, "channel_ids": [], "job": {"kind": 5}, "in_order": 1, "escalate_after": 5},
        {"job.kind": "string_type", "in_order": "bool_type"},
    ),
    (
        "/schedules/preview",
        {"title": 5, "timing": DAILY, "channel_ids": [UNKNOWN]},
        {"title": "string_type", "channel_ids": "invalid_choice"},
    ),
    (
        "/schedules/check",
        {"title": 5, "job": {"kind": "web_value", "payload": {"url": [], "colour": 1}}},
        {
            "title": "string_type",
            "job.payload.url": "type",
            "job.payload.colour": "unknown_field",
            "job.payload.expression": "required",
        },
    ),
    (
        "/watches",
        {"name": 5, "period": 1, "channel_ids": [UNKNOWN], "lock": "db", "colour": "red"},
        {
            "name": "string_type",
            "colour": "extra_forbidden",
            "period": "min_value",
            "channel_ids": "invalid_choice",
            "longest_run": "required",
        },
    ),
    (
        "/watches",
        {"name": "W", "timing": {"weekly": 5}, "grace": 0, "channel_ids": [UNKNOWN], "longest_run": "1", "lock": "db"},
        {
            "timing.weekly": "model_type",
            "longest_run": "int_type",
            "grace": "min_value",
            "channel_ids": "invalid_choice",
        },
    ),
    (
        "/rules",
        {
            "name": 5,
            "type_pattern": "Order!",
            "title": "{nothing}",
            "channel_ids": [UNKNOWN],
            "conditions": [{"field": "colour", "operator": "exists"}],
            "throttle_count": 5,
        },
        {
            "name": "string_type",
            "type_pattern": "type_pattern",
            "conditions.0.field": "unknown_field",
            "title": "placeholder",
            "channel_ids": "invalid_choice",
            "throttle_seconds": "throttle_incomplete",
        },
    ),
    (
        "/rules",
        {"name": "R", "type_pattern": "*", "title": "T", "channel_ids": [UNKNOWN], "conditions": [{"field": 1}]},
        {"conditions.0.field": "string_type", "channel_ids": "invalid_choice", "conditions.0.operator": "missing"},
    ),
    (
        "/rules/preview",
        {"rule": {"name": 5, "type_pattern": "*", "title": "T", "channel_ids": [UNKNOWN]}, "event": {"type": "a.b"}},
        {"rule.name": "string_type", "rule.channel_ids": "invalid_choice"},
    ),
    (
        "/channels",
        {"kind": "webhook", "label": 5, "fields": {"url": "ftp://x", "colour": "red"}, "use": 1},
        {"label": "string_type", "use": "extra_forbidden", "fields.colour": "", "fields.url": ""},
    ),
    ("/channels", {"kind": "pigeon", "label": "x" * 81}, {"kind": "", "label": "max_length"}),
    # One error for what may be of several types.
    ("/channels", {"kind": "webhook", "fields": {"url": []}}, {"fields.url": "string_type"}),
    (
        "/rules",
        {"name": "R", "type_pattern": "*", "title": "T", "channel_ids": [UNKNOWN], "conditions": [{"value": []}]},
        {
            **dict.fromkeys(("conditions.0.field", "conditions.0.operator"), "missing"),
            "conditions.0.value": "string_type",
            "channel_ids": "invalid_choice",
        },
    ),
    (
        "/schedules",
        {"title": "T", "timing": {"monthly": {"day": "first", "time": "09:00"}}, "channel_ids": [UNKNOWN]},
        {"timing.monthly.day": "literal_error", "channel_ids": "invalid_choice"},
    ),
    (
        "/connections",
        {"kind": "pigeon", "label": "x" * 81, "fields": 5},
        {"fields": "dict_type", "kind": "unknown_kind", "label": "max_length"},
    ),
    (
        "/topics",
        {"name": 5, "slug": "Not one", "title": "{nothing}"},
        {"name": "string_type", "slug": "invalid", "title": "placeholder"},
    ),
    (
        "/notifications",
        {"title": 5, "channel_ids": [UNKNOWN], "send_at": "2001-01-01T00:00:00Z", "category": "not one"},
        {"title": "string_type", "send_at": "passed", "channel_ids": "invalid_choice", "category": "invalid"},
    ),
    (
        "/holidays",
        {"first": 5, "last": "x", "tags": ["a,b"]},
        {"first": "string_type", "last": "invalid", "tags": "comma"},
    ),
    (
        "/me/tokens",
        {"label": 5, "scopes": ["everything"], "expires_at": "2001-01-01T00:00:00Z"},
        {"label": "string_type", "expires_at": "passed", "scopes": "invalid_choice"},
    ),
]


@pytest.mark.parametrize(("path", "body", "expected"), NEW, ids=lambda one: one if isinstance(one, str) else "")
def test_all_that_is_wrong_in_a_new_thing_is_told_at_once(
    api: Api, path: str, body: dict[str, Any], expected: dict[str, str]
) -> None:
    assert told(api.post(path, body)) == expected
    assert not any(model._default_manager.exists() for model in (Schedule, Watch, Rule, Channel, Topic))


CHANGED: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    (
        "schedule",
        {"title": 5, "grace": -1, "channel_ids": [UNKNOWN], "colour": "red", "state": "paused"},
        {
            "title": "string_type",
            "colour": "extra_forbidden",
            "state": "read_only",
            "grace": "min_value",
            "channel_ids": "invalid_choice",
        },
    ),
    (
        "schedule",
        {"timing": {"daily": {}}, "max_count": "3", "category": "not one"},
        {"timing.daily.time": "missing", "max_count": "int_type", "category": "invalid"},
    ),
    (
        "watch",
        {"name": 5, "grace": 0, "channel_ids": [UNKNOWN], "state": "up"},
        {"name": "string_type", "state": "read_only", "grace": "min_value", "channel_ids": "invalid_choice"},
    ),
    (
        "rule",
        {"name": 5, "title": "{nothing}", "channel_ids": [UNKNOWN], "id": UNKNOWN},
        {"name": "string_type", "id": "read_only", "title": "placeholder", "channel_ids": "invalid_choice"},
    ),
    (
        "channel",
        {"label": 5, "on_unknown": "guess", "fields": {"colour": "red"}, "kind": "email"},
        {"label": "string_type", "kind": "read_only", "fields.colour": "", "on_unknown": "invalid_choice"},
    ),
    (
        "topic",
        {"name": 5, "title": "{nothing}", "slug": "other"},
        {"name": "string_type", "slug": "read_only", "title": "placeholder"},
    ),
    (
        "connection",
        {"label": "x" * 81, "fields": {"colour": "red"}, "state": "failing", "more": 1},
        {"more": "extra_forbidden", "state": "read_only", "fields.colour": "", "label": "max_length"},
    ),
    (
        "settings",
        {"name": 5, "time_zone": "Mars", "more": 1},
        {"name": "string_type", "more": "extra_forbidden", "time_zone": "unknown_zone"},
    ),
]


@pytest.mark.parametrize(("thing", "body", "expected"), CHANGED, ids=lambda one: one if isinstance(one, str) else "")
def test_all_that_is_wrong_in_a_change_is_told_at_once(
    api: Api, ada: User, thing: str, body: dict[str, Any], expected: dict[str, str]
) -> None:
    channel = make_channel(ada)
    match thing:
        case "schedule":
            path = f"/schedules/{make_schedule(ada, [channel]).id}"
        case "watch":
            path = f"/watches/{make_watch(ada, [channel]).id}"
        case "rule":
            path = f"/rules/{make_rule(ada).id}"
        case "topic":
            path = f"/topics/{Topic.objects.create(user=ada, slug='news', name='News').slug}"
        case "connection":
            path = f"/connections/{make_connection(ada).id}"
        case "settings":
            path = "/me/settings"
        case _:
            path = f"/channels/{channel.id}"
    before = api.get(path).content
    assert told(api("PATCH", path, body)) == expected
    assert api.get(path).content == before


def test_each_operation_whose_body_a_form_checks_tells_what_is_wrong_in_it(api: Api, ada: User) -> None:
    """One that forgets to ask for it would take a part of the body."""
    channel = make_channel(ada)
    made = {
        "team_id": teams.create(ada, "Night watch").pk,
        "schedule_id": make_schedule(ada, [channel]).id,
        "channel_id": channel.id,
        "board_id": make_channel(ada, "board").id,
        "connection_id": make_connection(ada).id,
        "rule_id": make_rule(ada).id,
        "watch_id": make_watch(ada, [channel]).id,
        "slug": "news",
    }
    for name, path, body in (
        ("topic_id", "/topics", {"name": "News", "slug": "news"}),
        ("holiday_id", "/holidays", {"first": "2090-08-03", "last": "2090-08-17"}),
        ("webhook_id", "/status-webhooks", {"url": "https://example.org/hook", "types": ["delivery.*"]}),
        ("event_type_id", "/event-types", {"name": "order.paid", "data_schema": {}}),
        ("address_id", "/inbound", {"label": "Shop"}),
        ("page_id", "/status-pages", {"title": "Status", "slug": "status", "watch_ids": [str(made["watch_id"])]}),
        ("incident_id", "/status-pages/{page_id}/incidents", {"title": "Down"}),
    ):
        answer = api.post(path.format(**made), body, Idempotency_Key=name)
        assert answer.status_code == 201, answer.content
        made[name] = answer.json()["id"]
    for prefix, router in api_of_v1._routers:
        for path, view in router.path_operations.items():
            for operation in view.operations:
                body = get_type_hints(operation.view_func).get("body")
                if isinstance(body, type) and issubclass(body, FormBody):
                    url = re.sub(r"{(\w+:)?(\w+)}", lambda one: str(made[one[2]]), prefix + path)
                    [method] = operation.methods
                    assert told(api(method, url, {"colour": "red"}))["colour"] == "extra_forbidden", (method, url)


def test_no_address_is_visited_for_a_request_that_is_refused_anyway(
    api: Api, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    visited: list[str] = []
    monkeypatch.setattr(rate_limiter, "allows", lambda key, *_: visited.append(key))  # None: not now
    posts = {"url": "https://example.org/hook", "types": ["delivery.*"]}
    webhook = api.post("/status-webhooks", posts, Idempotency_Key="1").json()["id"]
    new = {"url": "https://example.org/new"}
    for method, path, body, wrong in (
        ("POST", "/channels", {"kind": "webhook", "fields": new}, {"colour": "red"}),
        ("PATCH", f"/channels/{make_channel(ada, 'webhook').id}", {"fields": new}, {"label": 5}),
        ("POST", "/status-webhooks", posts, {"label": 5}),
        ("PATCH", f"/status-webhooks/{webhook}", new, {"types": 5}),
    ):
        assert list(told(api(method, path, body | wrong))) == list(wrong)
        assert not visited
        assert api(method, path, body).status_code < 300
        assert visited.pop() == "visit:example.org"


def test_all_that_is_wrong_in_an_entry_of_a_file_is_told_at_once(ada: User) -> None:
    reminder = {"title": 5, "timing": {"daily": {"time": "25:00"}}, "channel_ids": ["2"], "in_order": "no"}
    file = {
        "settings": {"name": 5, "time_zone": "Mars"},
        "channels": [{"kind": "webhook", "label": 5, "fields": {"url": "ftp://x"}}, {"kind": 5, "label": "x" * 81}],
        "connections": [{"kind": "pigeon", "label": 5}],
        "topics": [{"name": 5, "slug": "Not one"}],
        "subscriptions": [{"topic_id": UNKNOWN, "channel_ids": 5}],
        "rules": [{"name": 5, "type_pattern": "Order!", "title": "T", "channel_ids": ["2"]}],
        "reminders": [reminder, reminder | {"audience": {"kind": "everybody"}, "channel_ids": 5}],
        "watches": [{"name": 5, "grace": 0, "period": 60, "channel_ids": "2"}],
    }
    outcome = load.load(ada, load.check(file | {"format": load.FORMAT, "version": load.VERSION}))
    assert not outcome.added
    troubles = [(one.section, one.field) for one in outcome.troubles]
    assert {section: [field for of, field in troubles if of == section] for section, _ in troubles} == {
        "settings": ["name", "time_zone"],
        "channels": ["label", "fields.url", "kind", "label"],
        "connections": ["label", "kind"],
        "topics": ["name", "slug"],
        "subscriptions": ["channel_ids", "topic_id"],
        "rules": ["name", "channel_ids", "type_pattern"],
        "reminders": [
            *("title", "in_order", "channel_ids", "timing.daily.time"),
            *("title", "channel_ids", "in_order", "audience", "timing.daily.time"),
        ],
        "watches": ["name", "channel_ids", "grace"],
    }
