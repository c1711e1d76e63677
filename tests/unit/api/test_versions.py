"""What breaks a program of the last release is named, and what is deprecated says so."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from api.protocol import deprecations
from api.protocol.deprecations import Deprecation

SCRIPT = runpy.run_path(str(Path(__file__).parents[3] / "script/api_changes"))
SHAPES: dict[str, Any] = {
    "Tree": {
        "type": "object",
        "properties": {"parts": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}},
    },
    "Body": {
        "type": "object",
        "additionalProperties": False,
        "required": ["title"],
        "properties": {
            "title": {"type": "string", "maxLength": 200, "description": "Words."},
            "state": {"type": "string", "enum": ["on", "off"], "default": "on"},
            "at": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
            "count": {"type": "integer", "minimum": 1},
            "kind": {"type": "string", "readOnly": True},
        },
    },
    "Answer": {
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": {"type": "string", "format": "uuid"},
            "state": {"type": "string", "enum": ["on", "off"]},
            "at": {"type": "string", "format": "date-time"},
            "tree": {"$ref": "#/components/schemas/Tree"},
        },
    },
}
OLD: dict[str, Any] = {
    "components": {"schemas": SHAPES},
    "paths": {
        "/things": {
            "post": {
                "operationId": "make",
                "parameters": [{"in": "query", "name": "limit", "required": False, "schema": {"type": "integer"}}],
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Body"}}},
                },
                "responses": {
                    "201": {
                        "headers": {"ETag": {}},
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Answer"}}},
                    }
                },
            }
        },
    },
}

Edit = Callable[[dict[str, Any], dict[str, Any], dict[str, Any]], object]


def changed(edit: Edit) -> list[str]:
    """What the comparison says where `edit` was made in the operation, the body or the answer."""
    new = deepcopy(OLD)
    schemas = new["components"]["schemas"]
    edit(new["paths"]["/things"]["post"], schemas["Body"], schemas["Answer"])
    return list(SCRIPT["Comparison"](OLD, new).breaks())


def test_the_same_breaks_nothing() -> None:
    assert changed(lambda operation, body, answer: None) == []


@pytest.mark.parametrize(
    "edit",
    [
        lambda operation, body, answer: operation["parameters"].append({"in": "query", "name": "x", "schema": {}}),
        lambda operation, body, answer: body["properties"].update(more={"type": "string"}),
        lambda operation, body, answer: body["properties"]["title"].update(maxLength=300, description="Others."),
        lambda operation, body, answer: body["properties"]["state"]["enum"].append("late"),
        lambda operation, body, answer: body["properties"]["count"].update(type="number"),
        lambda operation, body, answer: body["properties"]["kind"].update(enum=["a", "b"]),
        lambda operation, body, answer: body["required"].clear(),
        lambda operation, body, answer: answer["properties"].update(more={"type": "string"}),
        lambda operation, body, answer: answer["properties"]["state"]["enum"].append("late"),
        lambda operation, body, answer: answer["required"].append("at"),
        lambda operation, body, answer: operation["responses"].update({"202": {}}),
    ],
)
def test_what_is_more_breaks_nothing(edit: Edit) -> None:
    assert changed(edit) == []


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda operation, body, answer: operation["parameters"].clear(), "query limit is gone"),
        (
            lambda operation, body, answer: operation["parameters"][0].update(required=True),
            "query limit is now required",
        ),
        (lambda operation, body, answer: operation.update(operationId="create"), "operationId make is now create"),
        (lambda operation, body, answer: operation.update(responses={"200": {}}), "answers 201 no more"),
        (lambda operation, body, answer: operation["responses"]["201"].pop("headers"), "header ETag is gone"),
        (lambda operation, body, answer: body["properties"].pop("count"), "body.count is gone"),
        (lambda operation, body, answer: body["required"].append("count"), "body.count is now required"),
        (lambda operation, body, answer: body["properties"]["title"].update(maxLength=100), "maxLength 200 is now 100"),
        (lambda operation, body, answer: body["properties"]["title"].update(pattern="^a"), "pattern None is now ^a"),
        (lambda operation, body, answer: body["properties"]["count"].update(minimum=2), "minimum 1 is now 2"),
        (lambda operation, body, answer: body["properties"]["count"].update(type="string"), "integer is now string"),
        (lambda operation, body, answer: body["properties"]["state"]["enum"].remove("off"), "takes off no more"),
        (lambda operation, body, answer: body["properties"]["state"].update(default="off"), "default on is now off"),
        (lambda operation, body, answer: body["properties"]["at"]["anyOf"].pop(), "null is now string"),
        (lambda operation, body, answer: answer["properties"].pop("state"), "201.state is gone"),
        (lambda operation, body, answer: answer["required"].remove("id"), "201.id may now be missing"),
        (lambda operation, body, answer: answer["properties"]["id"].pop("format"), "format uuid is now None"),
        (
            lambda operation, body, answer: answer["properties"].update(at={"anyOf": [{"type": "null"}]}),
            "string is now null",
        ),
        (
            lambda operation, body, answer: answer["properties"].update(tree={"type": "object", "properties": {}}),
            "201.tree.parts is gone",
        ),
    ],
)
def test_what_a_program_cannot_do_any_more_is_named(edit: Edit, said: str) -> None:
    [found] = changed(edit)
    assert found.startswith("POST /things") and said in found


def test_a_post_of_ours_may_get_a_header_and_not_lose_one() -> None:
    header = {"in": "header", "name": "webhook-id", "required": True, "schema": {"type": "string"}}
    more = {"paths": {}, "webhooks": {"change": {"post": {"parameters": [header]}}}, "components": {}}
    less = {"paths": {}, "webhooks": {"change": {"post": {"parameters": []}}}, "components": {}}
    assert list(SCRIPT["Comparison"](less, more).breaks()) == []
    assert list(SCRIPT["Comparison"](more, less).breaks()) == ["POST change: header webhook-id is gone"]


def test_what_was_deprecated_until_a_day_may_go_then() -> None:
    old = deepcopy(OLD)
    for until, gone in (("2020-01-01", []), ("2999-01-01", ["POST /things is gone"])):
        old["paths"]["/things"]["post"]["x-sunset"] = until
        assert list(SCRIPT["Comparison"](old, {"paths": {}, "components": {}}).breaks()) == gone


def test_the_document_is_kept_without_its_prose() -> None:
    assert "Words." not in json.dumps(SCRIPT["without_prose"](OLD))
    assert SCRIPT["without_prose"](OLD)["components"]["schemas"]["Body"]["properties"].keys() >= {"title", "state"}


def test_an_operation_or_a_field_is_deprecated_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = Deprecation(date(2027, 1, 1), date(2028, 1, 1), "Use `more`.")
    monkeypatch.setattr(deprecations, "DEPRECATED", {"make": ends, "Tree.parts": ends})
    document = deepcopy(OLD)
    headers = deprecations.mark(document, "https://carillon.example/docs")
    assert headers == {
        "make": {
            "Deprecation": "@1798761600",
            "Sunset": "Sat, 01 Jan 2028 00:00:00 GMT",
            "Link": '<https://carillon.example/docs#make>; rel="deprecation"; type="text/html"',
        }
    }
    for marked in (
        document["paths"]["/things"]["post"],
        document["components"]["schemas"]["Tree"]["properties"]["parts"],
    ):
        assert (marked["deprecated"], marked["x-sunset"]) == (True, "2028-01-01")
        assert marked["description"] == "Deprecated; ends on 2028-01-01. Use `more`."
    monkeypatch.setattr(deprecations, "DEPRECATED", {"Tree.parts": ends})
    assert deprecations.mark(deepcopy(OLD), "/docs")["make"]["Link"].startswith("</docs#schema-Tree>")
    monkeypatch.setattr(deprecations, "DEPRECATED", {"gone": ends})
    with pytest.raises(KeyError):
        deprecations.mark(deepcopy(OLD), "/docs")
