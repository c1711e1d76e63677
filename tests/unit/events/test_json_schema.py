"""JSON Schemas that people write: read, refused with words, and bounded."""

from __future__ import annotations

import json
import time
from typing import Any
from unittest.mock import patch

import pytest

from events.pure import json_schema

ORDER = {
    "type": "object",
    "required": ["order_id"],
    "properties": {
        "order_id": {"type": "integer"},
        "paid_at": {"type": "string", "format": "date-time"},
        "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "items": {"type": "array", "uniqueItems": True, "items": {"$ref": "#/$defs/item"}},
        "state": {"enum": ["open", "paid"]},
        "by": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
    },
    "patternProperties": {"^x_": {"type": "integer"}},
    "additionalProperties": False,
    "$defs": {"item": {"type": "object", "properties": {"name": {"type": ["string", "null"]}}}},
}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
MOST_SECONDS = 5
"""Of one check on a busy machine; its budget is half a second of CPU time."""


def misfit(schema: Any, data: Any) -> tuple[str, str] | None:
    found = json_schema.misfit(json_schema.read(json.dumps(schema)), data, json_schema.new_budget())
    return None if found is None else (found.path, found.keyword)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"order_id": 1, "by": "Ada", "state": "paid", "items": [{"name": None}, {}]}, None),
        ({"order_id": 1, "paid_at": "2026-03-29T18:00:00+02:00", "code": "ABC"}, None),
        ({}, ("data", "required")),
        ({"order_id": "1"}, ("data.order_id", "type")),
        ({"order_id": True}, ("data.order_id", "type")),
        ({"order_id": 1, "more": 1}, ("data", "additionalProperties")),
        ({"order_id": 1, "x_more": 1}, None),
        ({"order_id": 1, "x_more": "1"}, ("data.x_more", "type")),
        ({"order_id": 1, "paid_at": "yesterday"}, ("data.paid_at", "format")),
        ({"order_id": 1, "code": "abc"}, ("data.code", "pattern")),
        ({"order_id": 1, "items": [{}, {"name": 1}]}, ("data.items.1.name", "type")),
        ({"order_id": 1, "items": [{"name": "a"}, {"name": "a"}]}, ("data.items", "uniqueItems")),
        ({"order_id": 1, "items": [{"a": [1]}, {"a": [1.0]}]}, ("data.items", "uniqueItems")),
        ({"order_id": 1, "items": [{"a": 1}, {"a": True}, {"a": "1"}, {"a": 1.5}]}, None),
        ({"order_id": 1, "state": "lost"}, ("data.state", "enum")),
        ({"order_id": 1, "by": None}, ("data.by", "oneOf")),
    ],
)
def test_the_first_misfit_is_named_by_path_and_keyword(data: Any, expected: tuple[str, str] | None) -> None:
    assert misfit(ORDER, data) == expected


def test_draft_7_is_read_by_its_own_rules() -> None:
    draft = {"$schema": DRAFT_7, "definitions": {"id": {"type": "integer"}}}
    schema = draft | {"properties": {"pair": {"items": [{"$ref": "#/definitions/id"}, {"type": "string"}]}}}
    assert misfit(schema, {"pair": [1, "a"]}) is None
    assert misfit(schema, {"pair": [1, 2]}) == ("data.pair.1", "type")
    with pytest.raises(json_schema.Unusable, match=r"properties\.pair\.items"):
        json_schema.read(json.dumps({"properties": schema["properties"]}))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[]", "Write an object"),
        ('{"a": 1, "a": 2}', "there twice"),
        ("[" * 40 + "]" * 40, "levels"),
        (json.dumps({"description": "x" * json_schema.LARGEST}), "KiB"),
        ('{"type": "objct"}', "type: Write one of string"),
        ('{"properties": {"a": {"minLength": -1}}}', "properties.a.minLength: This must be at least 0"),
        ('{"properties": {"a": {"$ref": "https://example.org/schema.json"}}}', "properties.a: “$ref” must lead"),
        ('{"$ref": "#/$defs/none"}', "must lead to a part"),
        ('{"$ref": "#/$defs/a%41", "$defs": {"a%41": {}}}', "must lead to a part"),
        (json.dumps({"$schema": DRAFT_7, "$defs": {"a": {"minLength": "x"}}, "$ref": "#/$defs/a"}), "“$ref” must lead"),
        ('{"properties": {"a": {"$id": "https://example.org/a"}}}', "properties.a: “$id” is not supported"),
        ('{"unevaluatedProperties": false}', "is not supported"),
        ('{"$schema": "https://example.org/mine"}', "$schema: Use the draft"),
        ('{"properties": {"a": {"pattern": "(?=a)b"}}}', "properties.a: This is not a pattern of RE2"),
        ('{"patternProperties": {"((a{50}){50}){50}": true}}', "pattern"),
        ('{"$ref": "#"}', "does not end"),
    ],
)  # fmt: skip
def test_what_is_no_schema_is_refused_with_words_and_a_path(text: str, said: str) -> None:
    with pytest.raises(json_schema.Unusable) as refused:
        json_schema.read(text)
    assert any(said in problem for problem in refused.value.problems), refused.value.problems


@pytest.mark.parametrize(("value", "fits"), [(19.99, True), (4.35, True), (19.995, False), (1e300, True), (7, True)])
def test_a_multiple_is_counted_in_decimals(value: float, fits: bool) -> None:
    assert (misfit({"properties": {"price": {"multipleOf": 0.01}}}, {"price": value}) is None) == fits


def test_nothing_is_fetched() -> None:
    with (
        patch("socket.socket", side_effect=AssertionError),
        patch("urllib.request.urlopen", side_effect=AssertionError),
    ):
        for name in ("$ref", "$dynamicRef", "$recursiveRef"):
            with pytest.raises(json_schema.Unusable):
                json_schema.read(json.dumps({"properties": {"a": {name: "http://127.0.0.1:1/schema"}}}))
        # The names of properties are no keywords.
        assert misfit({"properties": {"$ref": {"type": "string"}}}, {"$ref": "http://127.0.0.1:1/"}) is None


TWICE = {f"a{number}": {"allOf": 2 * [{"$ref": f"#/$defs/a{number + 1}"}]} for number in range(30)}
LOOP = {"properties": {"a": {"$ref": "#/properties/a"}}}


@pytest.mark.parametrize(
    ("schema", "data"),
    [
        ({"properties": {"a": {"$ref": "#/$defs/a0"}}, "$defs": TWICE | {"a30": {"type": "string"}}}, {"a": "x"}),
        (LOOP, {"a": 1}),
        ({"patternProperties": {f"k{number}.*z": {} for number in range(900)}}, {f"k{n}": 1 for n in range(10_000)}),
        ({"properties": {"a": {"items": {"items": {"items": {}}}}}}, {"a": 30 * [30 * [60 * [1]]]}),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": 40_000 * [{}]}),
        ({"properties": {"a": {"pattern": "(a|b)*a(a|b){99}c"}}}, {"a": 64_000 * "ab"}),
        ({"properties": {"a": {"anyOf": 900 * [{"type": "string"}]}}}, {"a": {"b": 128_000 * "x"}}),
        ({"properties": {"a": {"oneOf": 200 * [{"enum": [list(range(30))]}]}}}, {"a": list(range(20_000))}),
    ],
)
def test_a_check_costs_bounded_time(schema: Any, data: Any) -> None:
    ready = json_schema.read(json.dumps(schema))
    began = time.thread_time()
    json_schema.misfit(ready, data, json_schema.new_budget())
    assert time.thread_time() - began < MOST_SECONDS


def test_what_costs_too_much_is_a_misfit_and_not_a_fault() -> None:
    doubling = {"properties": {"a": {"$ref": "#/$defs/a0"}}, "$defs": TWICE | {"a30": {"type": "integer"}}}
    assert misfit(doubling, {"a": 1}) == ("data", "cost")
    assert misfit(LOOP, {"a": 1}) == ("data", "cost")
