"""The OpenAPI document: ninja's, with the headers and the problems that follow from the kind of an operation."""

import json
from functools import cached_property
from pathlib import Path
from typing import Any

from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation

from api.protocol.idempotency import WITHOUT_KEY
from api.protocol.problems import CONTENT_TYPE

_PROBLEM = {
    "type": "object",
    "description": "RFC 9457. `code` is for programs and stays the same; the texts are for people.",
    "required": ["type", "code", "title", "status"],
    "properties": {
        "type": {"type": "string"},
        "code": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "detail"],
                "properties": {
                    "field": {"type": "string"},
                    "detail": {"type": "string"},
                    "code": {"type": "string", "description": "The violated rule, where it has a name."},
                },
            },
        },
    },
    "examples": [
        {
            "type": "/api/v1/problems/invalid",
            "code": "invalid",
            "title": "Something in this request is not valid.",
            "status": 422,
            "detail": "See errors.",
            "errors": [
                {"field": "timing.daily.time", "detail": "Write the time as hours and minutes.", "code": "time"}
            ],
        }
    ],
}
_KEY = {
    "in": "header",
    "name": "Idempotency-Key",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
    "description": "The same request with the same key has one effect, and gets the same answer for a day.",
}
_MATCH = {
    "in": "header",
    "name": "If-Match",
    "required": False,
    "schema": {"type": "string", "pattern": '^(\\*|"[0-9a-f]+"(, *"[0-9a-f]+")*)$'},
    "description": "The `ETag` of the version that you have read. Another one is refused, with the current document.",
}
# The tags of what has an `ETag`.
_WITH_VERSION = {"schedules", "channels", "rules", "topics"}
# Except for these: a subscription has no version.
_WITHOUT_VERSION = {"subscribe", "unsubscribe"}
_REASONS = {
    "400": "The body is not JSON that can be read, or Idempotency-Key or If-Match is not valid",
    "401": "The token is missing or not valid",
    "403": "The token has too small a scope",
    "404": "It does not exist, or it is not yours",
    "409": "Not possible as things stand; with Retry-After: the same request, or another change of yours, is under way",
    "412": "It has changed since you read it; `current` is the document now",
    "413": "The body is too large",
    "415": "The body is not JSON in UTF-8",
    "422": "A field or a parameter is not valid, or the Idempotency-Key belongs to another request",
    "429": "Too many requests; see Retry-After. Without that header, a limit of a day",
    "503": "Nothing was changed; see Retry-After",
}
_EXAMPLES: dict[str, list[dict[str, Any]]] = json.loads((Path(__file__).parents[1] / "examples.json").read_text())
_NOTHING: dict[str, Any] = {"string": "", "integer": 0, "boolean": False, "array": [], "object": {}}


class Api(NinjaAPI):
    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        return self._schema

    @cached_property
    def _schema(self) -> OpenAPISchema:
        """Takes 0.3 s to make, and anybody may ask for it."""
        schema = super().get_openapi_schema()
        schemas = schema["components"]["schemas"]
        for name, examples in _EXAMPLES.items():
            schemas[name]["examples"] = [_example(schemas[name], given) for given in examples]
        schemas["Problem"] = _PROBLEM
        for template, methods in schema["paths"].items():
            for method, operation in methods.items():
                _complete(operation, method, is_one="{" in template)
        return schema


def _example(schema: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """In the order of the schema. A required field that is not given has nothing in it."""
    found = {name: given.get(name, _NOTHING.get(of.get("type"))) for name, of in schema["properties"].items()}
    return {name: value for name, value in found.items() if name in given or name in schema.get("required", ())}


def _complete(operation: dict[str, Any], method: str, *, is_one: bool) -> None:
    statuses = {"401", "403", "429"}
    if operation["parameters"]:
        statuses.add("422")
    if "requestBody" in operation:
        statuses |= {"400", "413", "415", "422"}
    if is_one:
        statuses.add("404")
    if method != "get":
        statuses |= {"409", "503"}
    if method == "post":
        statuses |= {"400", "422"}
        if operation["operationId"] not in WITHOUT_KEY:
            operation["parameters"].append(_KEY)
    is_versioned = _WITH_VERSION & set(operation["tags"]) and operation["operationId"] not in _WITHOUT_VERSION
    if is_one and method != "get" and is_versioned:
        operation["parameters"].append(_MATCH)
        statuses |= {"400", "412"}
    content = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for status in sorted(statuses):
        operation["responses"][status] = {"description": _REASONS[status], "content": content}
