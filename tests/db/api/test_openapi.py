"""The OpenAPI document says what there is, and its examples are right."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pydantic import BaseModel, TypeAdapter

from api.protocol.descriptions import SHARED
from api.protocol.idempotency import WITHOUT_KEY
from api.resources.schedules.documents import ScheduleBody, ScheduleDocument, SchedulePatch
from api.v1 import api as api_of_v1
from events.pure import schemes
from jobs.batches import audiences
from people.models import User
from tests.db.api import documented
from tests.db.api.conftest import Api
from tests.make import make_channel

pytestmark = pytest.mark.django_db


@pytest.fixture
def schema(api: Api) -> dict[str, Any]:
    document: dict[str, Any] = api.get("/openapi.json").json()
    return document


def test_anybody_may_read_the_document() -> None:
    answer = Client().get("/api/v1/openapi.json")
    assert (answer.status_code, answer.json()["openapi"]) == (200, "3.1.0")


def test_each_operation_says_what_it_does_and_which_problems_it_gives(schema: dict[str, Any]) -> None:
    operations = [
        (template, method, operation)
        for template, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    names = [operation["operationId"] for _, _, operation in operations]
    assert len(set(names)) == len(names) >= 16
    for template, method, operation in operations:
        assert operation["summary"] and operation["description"], template
        assert {"401", "403", "429"} <= operation["responses"].keys()
        assert ("404" in operation["responses"]) == ("{" in template)
        headers = {one["name"] for one in operation["parameters"] if one["in"] == "header"}
        takes_key = method == "post" and operation["operationId"] not in WITHOUT_KEY
        assert ("Idempotency-Key" in headers) == takes_key
        changes_one = (
            method != "get"
            and "{" in template
            and {"schedules", "watches", "channels", "rules", "topics", "types"} & set(operation["tags"])
        )
        assert ("If-Match" in headers) == ("412" in operation["responses"]) == bool(changes_one)


def test_an_id_and_an_instant_are_named_as_such(schema: dict[str, Any]) -> None:
    ends = {"uuid": ("_id", "_ids"), "date-time": ("_at", "_at")}
    named = [
        (name, field, ends[one["format"]])
        for name, model in schema["components"]["schemas"].items()
        for field, of in model.get("properties", {}).items()
        for one in (of, of.get("items", {}), *of.get("anyOf", []))
        if one.get("format") in ends
    ]
    assert len(named) > 100
    # `onceAt` is an older system's, and only taken; `timestamp` is Standard Webhooks', `time` CloudEvents'.
    others = ("onceAt", "timestamp", "time")
    assert [one for one in named if not f"_{one[1]}".endswith(one[2]) and one[1] not in others] == []


def _properties(where: str, schema: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The schema's name, the property's, and its schema; also of objects within."""
    for name, shown in schema.get("properties", {}).items():
        yield where, name, shown
        yield from _properties(where, shown)
        yield from _properties(where, shown.get("items", {}))


def test_each_property_says_what_it_is(schema: dict[str, Any]) -> None:
    found = [one for name, model in schema["components"]["schemas"].items() for one in _properties(name, model)]
    assert len(found) > 800
    assert [(where, name) for where, name, shown in found if not shown.get("description")] == []


def test_no_shared_description_is_unused(schema: dict[str, Any]) -> None:
    shown = [one for name, model in schema["components"]["schemas"].items() for one in _properties(name, model)]
    assert SHARED.keys() <= {name for _, name, one in shown if one["description"] == SHARED.get(name)}


def test_what_has_few_values_lists_them(schema: dict[str, Any]) -> None:
    closed = ("state", "outcome", "origin", "operator", "scheme", "misfire", "on_unknown", "schedule_type", "result")
    plain = [
        (model, name)
        for model, shown in schema["components"]["schemas"].items()
        for name, of in shown.get("properties", {}).items()
        if name in closed and not any("enum" in one for one in (of, *of.get("anyOf", [])))
    ]
    assert plain == []


def test_enums_have_what_the_code_may_answer(schema: dict[str, Any]) -> None:
    schemas = schema["components"]["schemas"]
    assert set(schemas["AudienceDocument"]["properties"]["kind"]["enum"]) == audiences.AUDIENCES.keys()
    assert set(schemas["InboundBody"]["properties"]["scheme"]["enum"]) == schemes.SCHEMES.keys()
    assert set(schemas["CheckDocument"]["properties"]["outcome"]["enum"]) >= {"waiting", "spread", "retrying"}


def test_each_answer_has_an_example_and_the_examples_are_valid(schema: dict[str, Any]) -> None:
    named = {
        content["schema"]["$ref"].rpartition("/")[2]: content.get("examples")
        for methods in schema["paths"].values()
        for operation in methods.values()
        for status, response in operation["responses"].items()
        if status.startswith("2") and (content := response.get("content", {}).get("application/json"))
    }
    assert len(named) > 60
    assert [name for name, examples in named.items() if not examples] == []
    for name, model in schema["components"]["schemas"].items():
        for example in model.get("examples", []):
            documented.check(name, example)


def test_each_link_leads_to_an_operation_that_takes_its_parameters(schema: dict[str, Any]) -> None:
    operations = {one["operationId"]: one for methods in schema["paths"].values() for one in methods.values()}
    links = [
        link
        for operation in operations.values()
        for response in operation["responses"].values()
        for link in response.get("links", {}).values()
    ]
    for link in links:
        taken = {one["name"] for one in operations[link["operationId"]]["parameters"] if one["in"] == "path"}
        assert link["parameters"].keys() == taken, link
    with_id = {name for name, one in operations.items() if any(each["in"] == "path" for each in one["parameters"])}
    assert {link["operationId"] for link in links} == with_id


def test_answers_have_their_own_kinds_of_timing_only(schema: dict[str, Any]) -> None:
    taken = schema["components"]["schemas"]["Timing"]["properties"]
    answered = schema["components"]["schemas"]["TimingDocument"]["properties"]
    assert {name for name in taken if not taken[name].get("deprecated")} == answered.keys()
    assert all(name == name.lower() for name in answered)


def test_no_two_answers_share_a_name(schema: dict[str, Any]) -> None:
    found = {name: set(schema["components"]["schemas"][name]["properties"]) for name in ("Replayed", "ReplayedBatch")}
    assert found == {"Replayed": {"replayed", "stale"}, "ReplayedBatch": {"replayed"}}
    # The document keeps one schema of each name: of two classes, the last would describe both.
    names = [model.__name__ for model in set(_models(BaseModel)) if model.__module__.startswith("api.")]
    assert sorted(names) == sorted(set(names))


def test_the_types_of_the_client_are_those_of_the_document() -> None:
    script = runpy.run_path(str(Path(__file__).parents[3] / "script" / "client_types"))
    assert script["text"]() == script["FILE"].read_text(), "run script/client_types"


def test_nothing_breaks_the_programs_of_the_last_release() -> None:
    """docs/api.md says what may change. A release renews docs/openapi-1.json.gz by `script/api_changes --write`."""
    script = runpy.run_path(str(Path(__file__).parents[3] / "script" / "api_changes"))
    assert list(script["Comparison"](script["released"](), script["today"]()).breaks()) == []


def _models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in base.__subclasses__():
        yield model
        yield from _models(model)


def test_the_examples_are_valid(schema: dict[str, Any], api: Api, ada: User) -> None:
    examples = {name: one["examples"] for name, one in schema["components"]["schemas"].items() if "examples" in one}
    for model in (ScheduleBody, SchedulePatch, ScheduleDocument):
        for example in examples[model.__name__]:
            TypeAdapter(model).validate_python(example, strict=False)
    [body] = examples["ScheduleBody"]
    made = api.post("/schedules", body | {"channel_ids": [str(make_channel(ada).id)]})
    assert made.status_code == 201
    assert made.json().keys() == examples["ScheduleDocument"][0].keys()


def test_the_document_is_made_once() -> None:
    assert api_of_v1.get_openapi_schema() is api_of_v1.get_openapi_schema()
