"""`/api/v1/docs`: the OpenAPI document as a page."""

import json
import re
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from api.protocol.problems import CODES
from api.v1 import api


@csrf_exempt  # so that another method gets 405
@require_safe
def reference(request: HttpRequest) -> HttpResponse:
    return render(request, "api/reference.html", {"operations": _operations()})


@cache
def _operations() -> SafeString:
    """Its content, the same for everybody: to render it takes longer than any other page."""
    return render_to_string("api/operations.html", _content())


def _content() -> dict[str, Any]:
    document = api.get_openapi_schema()
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            groups.setdefault(operation["tags"][0], []).append(_operation(method, path, operation))
    schemas = document["components"]["schemas"].items()
    return {
        "info": document["info"],
        "groups": groups.items(),
        "codes": [(code, _prose(meaning)) for code, meaning in CODES.items()],
        "schemas": [_schema(name, schema) for name, schema in sorted(schemas)],
    }


def _operation(method: str, path: str, operation: dict[str, Any]) -> dict[str, Any]:
    responses = operation["responses"]
    body = operation.get("requestBody")
    return {
        "id": operation["operationId"],
        "method": method.upper(),
        "path": path,
        "summary": operation["summary"],
        "description": _prose(operation["description"]),
        "parameters": [_field(one["name"], one["schema"] | one, one["required"]) for one in operation["parameters"]],
        "body": body and _type(body["content"]["application/json"]["schema"]),
        "answers": [
            (status, _type(content["schema"]))
            for status, response in responses.items()
            if (content := response.get("content", {}).get("application/json"))
        ],
        "problems": [
            (status, _prose(response["description"]))
            for status, response in responses.items()
            if "application/problem+json" in response.get("content", {})
        ],
    }


def _schema(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    required = schema.get("required", [])
    examples = schema.get("examples", [])
    return {
        "id": name,
        "name": _title(name),
        "description": _prose(schema.get("description", "")),
        "fields": [_field(field, one, field in required) for field, one in schema.get("properties", {}).items()],
        "example": json.dumps(examples[0], indent=2, ensure_ascii=False) if examples else "",
    }


def _field(name: str, schema: dict[str, Any], required: bool) -> dict[str, Any]:
    default = schema.get("default")
    return {
        "name": name,
        "required": required,
        "type": _type(schema),
        "limits": _limits(schema),
        "default": None if default is None or required else json.dumps(default),
        "description": _prose(schema.get("description", "")),
    }


def _type(schema: dict[str, Any]) -> list[tuple[str, str]]:
    """Words, each with the name of the schema that it links to, if it has one."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return [(_title(name), name)]
    for choice in schema.keys() & {"anyOf", "oneOf", "allOf"}:
        words = [word for option in schema[choice] for word in [("or", ""), *_type(option)]]
        return words[1:]
    if "enum" in schema or "const" in schema:
        return [(" | ".join(map(str, schema.get("enum", [schema.get("const")]))), "")]
    if schema.get("type") == "array":
        return [("list of", ""), *_type(schema.get("items", {}))]
    return [(str(schema.get("format") or schema.get("type") or "any"), "")]


def _limits(schema: dict[str, Any]) -> str:
    if "minimum" in schema:
        return f"{schema['minimum']:,} to {schema['maximum']:,}"
    return f"at most {schema['maxLength']:,} characters" if "maxLength" in schema else ""


def _title(name: str) -> str:
    """pydantic writes `Page[Schedule]` as `Page_Schedule_`."""
    return re.sub(r"^Page_(.+)_$", r"Page of \1", name)


def _prose(text: str) -> SafeString:
    """Text with `code`."""
    return mark_safe(re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text)))  # noqa: S308
