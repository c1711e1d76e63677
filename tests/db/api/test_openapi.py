"""The OpenAPI document says what there is, and its examples are right."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from pydantic import TypeAdapter

from api.idempotency import WITHOUT_KEY
from api.schedules.body import ScheduleBody, SchedulePatch
from api.schedules.document import ScheduleDocument
from api.v1 import api as api_of_v1
from people.models import User
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
            and {"schedules", "channels", "rules", "topics"} & set(operation["tags"])
        )
        assert ("If-Match" in headers) == ("412" in operation["responses"]) == bool(changes_one)


def test_the_examples_are_valid(schema: dict[str, Any], api: Api, ada: User) -> None:
    examples = {name: one["examples"] for name, one in schema["components"]["schemas"].items() if "examples" in one}
    for model in (ScheduleBody, SchedulePatch, ScheduleDocument):
        for example in examples[model.__name__]:
            TypeAdapter(model).validate_python(example, strict=False)
    [body] = examples["ScheduleBody"]
    made = api.post("/schedules", body | {"channels": [str(make_channel(ada).id)]})
    assert made.status_code == 201
    assert made.json().keys() == examples["ScheduleDocument"][0].keys()


def test_the_document_is_made_once() -> None:
    assert api_of_v1.get_openapi_schema() is api_of_v1.get_openapi_schema()
