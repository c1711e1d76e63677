"""Rules over the API."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pydantic import TypeAdapter
from pytest_django import Settings

from api.resources.rules import PreviewBody, RuleBody, RuleDocument, RulePatch
from events.models import Rule
from notifications.models import Delivery, Notification
from people.models import User
from tests.db.api.conftest import Api, wrong_fields
from tests.make import happen, make_channel, make_rule, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def body(ada: User) -> dict[str, Any]:
    return {
        "name": "Big orders",
        "type_pattern": "order.*",
        "conditions": [{"field": "data.amount", "operator": "above", "value": 100}],
        "title": "Order {data.order_id}",
        "channel_ids": [str(make_channel(ada).id)],
    }


def test_a_rule_through_its_life(api: Api, ada: User, body: dict[str, Any]) -> None:
    made = api.post("/rules", body)
    rule = made.json()
    path = f"/rules/{rule['id']}"
    assert (made.status_code, made["Location"], made["ETag"]) == (201, f"/api/v1{path}", '"1"')
    assert rule["conditions"] == [{"field": "data.amount", "operator": "above", "value": 100}]
    assert api.get(path).json() == rule
    assert api.get("/rules").json() == {"items": [rule], "next": None}
    assert happen(ada).effects.get().outcome == "notified"
    changed = api("PATCH", path, {"throttle_count": 1, "throttle_seconds": 60}, If_Match='"1"')
    assert changed.json() == rule | {"throttle_count": 1, "throttle_seconds": 60, "version": 2} | {
        "updated_at": changed.json()["updated_at"]
    }
    assert happen(ada).effects.get().reason_code == "throttled"
    replaced = api("PUT", path, body | {"type_pattern": "bill.*"})
    assert (replaced.json()["throttle_count"], replaced["ETag"]) == (None, '"3"')
    assert not happen(ada).effects.exists()
    assert api.post(f"{path}/disable").json()["enabled"] is False
    assert api.post(f"{path}/enable").json()["enabled"] is True
    assert api("DELETE", path).status_code == 204
    assert api.get(path).status_code == 404
    assert api.post(f"{path}/restore").json()["version"] == 7
    assert api.post(f"{path}/restore").status_code == 404


def test_a_stale_version_changes_nothing_and_gets_the_current_one(api: Api, ada: User, body: dict[str, Any]) -> None:
    path = f"/rules/{api.post('/rules', body).json()['id']}"
    api("PATCH", path, {"name": "Theirs"})
    for method, end, sent in (
        ("PUT", "", body),
        ("PATCH", "", {"name": "Mine"}),
        ("DELETE", "", None),
        ("POST", "/disable", None),
    ):
        refused = api(method, path + end, sent, If_Match='"1"')
        assert (refused.status_code, refused.json()["current"]["name"]) == (412, "Theirs")
    assert api("PATCH", path, {"name": "Mine"}, If_Match='W/"2", "12"').status_code == 412
    assert Rule.objects.get().version == 2


def test_switching_twice_is_one_change(api: Api, body: dict[str, Any]) -> None:
    path = f"/rules/{api.post('/rules', body).json()['id']}"
    assert [api.post(f"{path}/disable")["ETag"] for _ in range(2)] == ['"2"', '"2"']


def test_what_a_rule_caused_is_not_sent_when_it_is_switched_off_or_deleted(api: Api, ada: User) -> None:
    for act, reason in (("disable", "rule-switched-off"), ("delete", "rule-withdrawn")):
        rule = make_rule(ada)
        caused = happen(ada).effects.get(rule=rule).notification_id
        if act == "delete":
            api("DELETE", f"/rules/{rule.id}")
        else:
            api.post(f"/rules/{rule.id}/disable")
        delivery = Delivery.objects.get(notification_id=caused)
        assert (delivery.state, delivery.reason_code) == ("cancelled", reason)


def test_a_repeated_request_makes_one_rule(api: Api, body: dict[str, Any]) -> None:
    answers = [api.post("/rules", body, Idempotency_Key="orders") for _ in range(2)]
    assert answers[0].content == answers[1].content
    assert Rule.objects.count() == 1


def test_a_person_has_a_limited_number(api: Api, ada: User, body: dict[str, Any], settings: Settings) -> None:
    settings.MOST_RULES = 1
    make_rule(make_user())
    gone = make_rule(ada, deleted_at="2026-06-01T12:00Z")
    assert api.post("/rules", body).status_code == 201
    for refused in (api.post("/rules", body), api.post(f"/rules/{gone.id}/restore")):
        [error] = refused.json()["errors"]
        assert (refused.status_code, error["field"], error["code"]) == (422, "(body)", "limit_reached")
    assert Rule.objects.for_user(ada).count() == 1


def test_it_needs_the_scope_of_events(ada: User, body: dict[str, Any]) -> None:
    reader = Api(ada, ("read",))
    assert reader.post("/rules", body).status_code == 403
    assert reader.get("/rules").status_code == 200


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"conditions": [{"field": "data.x"}]}, "conditions.0.operator"),
        ({"conditions": [{"field": "data.x", "operator": "equals", "value": [1]}]}, "conditions.0.value"),
        ({"conditions": [{"field": "data.x", "operator": "exists", "colour": 1}]}, "conditions.0.colour"),
        ({"conditions": "data.x > 5"}, "conditions"),
        ({"urgent": 1}, "urgent"),
        ({"enabled": False}, "enabled"),
        ({"throttle_count": "3"}, "throttle_count"),
    ],
)
def test_a_wrong_shape_is_refused_at_its_field(api: Api, body: dict[str, Any], sent: Any, field: str) -> None:
    refused = api.post("/rules", body | sent)
    assert refused.status_code == 422
    assert any(one["field"].startswith(field) for one in refused.json()["errors"])
    assert not Rule.objects.exists()


def test_a_preview_says_what_holds_and_what_it_would_say_and_does_nothing(
    api: Api, ada: User, body: dict[str, Any]
) -> None:
    event = happen(ada, data={"order_id": 7, "amount": 99})
    rule = body | {"body": "{data.amount} {data.none}", "source": "shop"}
    told = api.post("/rules/preview", {"rule": rule, "event_id": str(event.key)}).json()
    [condition] = told.pop("conditions")
    assert (condition["holds"], condition["reason"]["code"]) == (False, "unmet")
    [length] = told.pop("lengths")
    assert length["channel_id"] == body["channel_ids"][0]
    assert told == {
        "rings": False,
        "fits_type": True,
        "fits_source": True,
        "title": "Order 7",
        "body": "99 …",
        "missing": ["data.none"],
    }
    given = {"type": "order.paid", "source": "shop", "data": {"amount": 101}}
    assert api.post("/rules/preview", {"rule": rule, "event": given}).json()["rings"]
    assert not api.post("/rules/preview", {"rule": rule, "event": given | {"type": "a.b"}}).json()["rings"]
    assert not Rule.objects.exists()
    assert not Notification.objects.exists()


def test_a_condition_on_a_missing_field_says_so_in_the_preview(api: Api, body: dict[str, Any]) -> None:
    told = api.post("/rules/preview", {"rule": body, "event": {"type": "order.paid"}}).json()
    [condition] = told["conditions"]
    assert condition["reason"]["code"] == "missing-field"
    assert "data.amount" in condition["reason"]["text"]


def test_a_preview_needs_one_event_of_the_caller(api: Api, body: dict[str, Any]) -> None:
    theirs = happen(make_user())
    for sent, field in (
        ({"event_id": str(theirs.key)}, "event_id"),
        ({"event_id": str(uuid4())}, "event_id"),
        ({}, "(body)"),
        ({"event_id": str(theirs.key), "event": {"type": "a.b"}}, "(body)"),
        ({"event": {"type": "none"}}, "event.type"),
        ({"event": {"type": "a.b"}, "rule": body | {"title": "{amount}"}}, "rule.title"),
    ):
        refused = api.post("/rules/preview", {"rule": body} | sent)
        assert wrong_fields(refused) == [field]


def test_a_list_takes_as_many_statements_with_many_rules(api: Api, ada: User) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert api.get("/rules").status_code == 200
        return len(captured)

    make_rule(ada)
    statements()
    few = statements()
    for _ in range(9):
        make_rule(ada)
    assert statements() == few


@pytest.mark.parametrize("conditions", [[{"field": 3}], "none", [None], {}, [{"field": "data.x", "operator": "is"}]])
def test_damaged_conditions_are_read_as_none_and_mended_by_a_change(api: Api, ada: User, conditions: Any) -> None:
    rule = make_rule(ada, conditions=conditions)
    assert api.get(f"/rules/{rule.id}").json()["conditions"] == []
    assert api("PATCH", f"/rules/{rule.id}", {"name": "Mended"}).status_code == 200


def test_the_examples_are_valid(api: Api, ada: User) -> None:
    schemas = api.get("/openapi.json").json()["components"]["schemas"]
    examples = {name: one["examples"] for name, one in schemas.items() if "examples" in one}
    for model in (RuleBody, RulePatch, RuleDocument, PreviewBody):
        for example in examples[model.__name__]:
            TypeAdapter(model).validate_python(example, strict=False)
    [body] = examples["RuleBody"]
    made = api.post("/rules", body | {"channel_ids": [str(make_channel(ada).id)]})
    assert made.json().keys() == examples["RuleDocument"][0].keys()
