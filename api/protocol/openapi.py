"""The OpenAPI document: ninja's, with the headers and the problems that follow from the kind of an operation."""

import json
import re
from collections.abc import Container, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation

from api.protocol import deprecations, links, webhooks
from api.protocol.descriptions import describe
from api.protocol.idempotency import WITHOUT_KEY
from api.protocol.problems import CODES, CONTENT_TYPE

_PROBLEM = {
    "type": "object",
    "description": "RFC 9457. `code` is for programs and stays the same; the texts are for people.",
    "required": ["type", "code", "title", "status"],
    "properties": {
        "type": {"type": "string", "format": "uri", "description": "The address of what `code` means."},
        "code": {"type": "string", "enum": sorted(CODES), "description": "What is wrong, for programs."},
        "title": {"type": "string", "description": "What is wrong, in one line."},
        "status": {"type": "integer", "description": "The status of the answer."},
        "detail": {"type": "string", "description": "What to do."},
        "errors": {
            "type": "array",
            "description": "One for each member of the body, and each parameter, that is not valid.",
            "items": {
                "type": "object",
                "required": ["field", "detail"],
                "properties": {
                    "field": {"type": "string", "description": "Its path: `timing.daily.time`, `query.limit`."},
                    "detail": {"type": "string", "description": "What is wrong with it, and what to do."},
                    "code": {"type": "string", "description": "The violated rule, where it has a name."},
                },
            },
        },
    },
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
_NONE_MATCH = {
    "in": "header",
    "name": "If-None-Match",
    "required": False,
    "schema": {"type": "string"},
    "description": "The `ETag` of the version that you have: the answer is 304 if it has not changed.",
}
# The tags of what has an `ETag`.
_WITH_VERSION = {"schedules", "watches", "channels", "rules", "topics", "types"}
# Except for these: a subscription has no version.
_WITHOUT_VERSION = {"subscribe", "unsubscribe"}
_VERSIONED = {
    f"#/components/schemas/{name}Document"
    for name in ("Schedule", "Channel", "NewChannel", "Rule", "Topic", "EventType", "Watch")
}
_TAGS = {
    "me": "Your account, its settings and its tokens",
    "teams": "Accounts that people share, and who is on call",
    "schedules": "Reminders: when they fire, what they send, and what came of it",
    "watches": "Scripts and services that report by pings, and messages if they do not",
    "status pages": "What strangers read of watches, and incidents in your words",
    "badges": "Pictures of the state of watches",
    "holidays": "Days on which reminders may be skipped or moved",
    "jobs": "Kinds of checks that a reminder can make before it sends",
    "channels": "Where messages go",
    "boards": "Pages that an account shares, and what is written there",
    "connections": "Accounts and addresses that jobs read",
    "notifications": "Messages, and the deliveries of each",
    "inbox": "Messages that you read here",
    "events": "Events, how they came in, and what followed from them",
    "types": "Schemas for the data of your events",
    "rules": "Which events become which messages",
    "runs": "What flows decide by events, step by step, and incidents",
    "topics": "Events for people who subscribe",
    "subscriptions": "What you subscribe to, and who subscribes to yours",
    "dead letters": "Deliveries that ended without success",
    "batches": "Messages to many people",
    "queues": "Messages that your programs pull",
    "locks": "Named locks that your programs take",
    "counters": "Named counters that your programs add to",
    "changes": "All changes of your account, in one order",
}


def _header(description: str, kind: str = "string", *, required: bool = False) -> dict[str, Any]:
    return {"description": description, "required": required, "schema": {"type": kind}}


_HEADERS = {
    "RateLimit-Limit": _header("How many requests this token may make in a minute", "integer"),
    "RateLimit-Remaining": _header("How many more it may make now", "integer"),
    "RateLimit-Reset": _header("After how many seconds it may make more", "integer"),
    "X-Request-ID": _header("The id of this request, which the log names too", required=True),
    "ETag": _header("The version of this document, for `If-Match`", required=True),
    "Location": _header("Where it can be read", required=True),
    "Link": _header('The next page, with `rel="next"`; absent on the last one'),
    "Idempotency-Replayed": _header("`true`: the answer of an earlier request with this key"),
    "Retry-After": _header("Seconds after which to try again", "integer"),
}
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


def _template(request: HttpRequest) -> str:
    """The path of a request in the document."""
    return _as_template(getattr(request.resolver_match, "route", ""))


@cache
def _as_template(route: str) -> str:
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route)


class Api(NinjaAPI):
    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        return self._schema

    def parameters(self, request: HttpRequest) -> Container[str]:
        """Those of the query that the operation of this request has."""
        return self._parameters[_template(request), str(request.method).lower()]

    def deprecation(self, request: HttpRequest) -> dict[str, str]:
        """The headers of an operation that is deprecated, or has something that is."""
        if not deprecations.DEPRECATED:
            return {}
        operation = self._schema["paths"][_template(request)][str(request.method).lower()]
        return self._deprecated.get(operation["operationId"], {})

    @cached_property
    def _parameters(self) -> dict[tuple[str, str], set[str]]:
        return {
            (template, method): {one["name"] for one in operation["parameters"] if one["in"] == "query"}
            for template, methods in self._schema["paths"].items()
            for method, operation in methods.items()
        }

    @cached_property
    def _schema(self) -> OpenAPISchema:
        """Made once: it costs much, and anybody may ask for it."""
        schema = super().get_openapi_schema()
        schemas = schema["components"]["schemas"]
        schemas["Problem"] = _PROBLEM
        del schemas["PageParameters"]  # its parameters stand at each list
        schemas |= webhooks.schemas()
        describe(schemas)
        _add_examples(schemas)
        schema["components"]["headers"] = _HEADERS
        schema["servers"] = [{"url": settings.BASE_URL}]
        schema["tags"] = [{"name": name, "description": description} for name, description in _TAGS.items()]
        one = {template.rpartition("/{")[0] for template, methods in schema["paths"].items() if "get" in methods}
        for template, methods in schema["paths"].items():
            for method, operation in methods.items():
                _complete(operation, method, is_one="{" in template, can_be_read=template in one)
                _show_read_only(schemas, operation)
        schema["components"]["examples"] = dict(_show_examples(schemas, schema["paths"]))
        links.add(schema["paths"])
        schema["webhooks"] = webhooks.section()
        self._deprecated = deprecations.mark(schema, f"{settings.BASE_URL}/api/v1/docs")
        return schema


def _add_examples(schemas: dict[str, Any]) -> None:
    for name, examples in _EXAMPLES.items():
        schemas[name]["examples"] = [_example(schemas, schemas[name], given) for given in examples]
    for name, schema in schemas.items():
        if name.startswith("Page_"):
            items = _resolved(schemas, schema["properties"]["items"]["items"])
            schema["examples"] = [{"items": items.get("examples", []), "next": None}]


def _show_examples(schemas: dict[str, Any], paths: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Add to each answer the example of what it has; these examples, by name."""
    for methods in paths.values():
        for operation in methods.values():
            for response in operation["responses"].values():
                name = _shown(response).rpartition("/")[2]
                if examples := schemas.get(name, {}).get("examples"):
                    response["content"]["application/json"]["examples"] = {
                        name: {"$ref": f"#/components/examples/{name}"}
                    }
                    yield name, {"value": examples[0]}


def _resolved(schemas: dict[str, Any], schema: dict[str, Any], *, may_be_null: bool = True) -> dict[str, Any]:
    """The schema itself, or the one that it refers to; for a value that is not null also where null is allowed."""
    if not may_be_null:
        schema = next((one for one in schema.get("anyOf", ()) if "$ref" in one), schema)
    resolved: dict[str, Any] = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return resolved


def _example(schemas: dict[str, Any], schema: dict[str, Any], given: Any) -> Any:
    """In the order of the schema. A required field that is not given has nothing in it."""
    schema = _resolved(schemas, schema, may_be_null=given is None)
    if isinstance(given, list):
        return [_example(schemas, schema.get("items", {}), one) for one in given]
    if "properties" not in schema:
        return _NOTHING.get(schema.get("type", "")) if given is None else given
    given = given or {}
    return {
        name: _example(schemas, of, given.get(name))
        for name, of in schema["properties"].items()
        if name in {*given, *schema.get("required", ())}
    }


def _complete(operation: dict[str, Any], method: str, *, is_one: bool, can_be_read: bool) -> None:
    """`is_one`: of one row; `can_be_read`: each row has an address of its own."""
    for parameter in operation["parameters"]:
        _leave_out_null(parameter["schema"])
    statuses = set(_refusals(operation, method, is_one))
    operation["parameters"] += _request_headers(operation, method, is_one)
    if _MATCH in operation["parameters"]:
        statuses |= {"400", "412"}
    if _NONE_MATCH in operation["parameters"]:
        operation["responses"]["304"] = {"description": "You have this version"}
    content = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for status, response in operation["responses"].items():
        response["headers"] = _headers(*_of_success(operation, str(status), response, can_be_read))
    for status in sorted(statuses):
        headers = _headers(*(("Retry-After",) if status in ("409", "429", "503") else ()))
        operation["responses"][status] = {"description": _REASONS[status], "headers": headers, "content": content}


def _refusals(operation: dict[str, Any], method: str, is_one: bool) -> Iterator[str]:
    """The statuses that follow from the method, the address and the body."""
    yield from ("401", "403", "429")
    if operation["parameters"]:
        yield "422"
    if "requestBody" in operation:
        yield from ("400", "413", "415", "422")
    if is_one:
        yield "404"
    if method != "get":
        yield from ("409", "503")
    if method == "post":
        yield from ("400", "422")


def _request_headers(operation: dict[str, Any], method: str, is_one: bool) -> Iterator[dict[str, Any]]:
    name = operation["operationId"]
    if method == "get":
        if any(_shown(one) in _VERSIONED for one in operation["responses"].values()):
            yield _NONE_MATCH
        return
    if method == "post" and name not in WITHOUT_KEY:
        yield _KEY
    if is_one and _WITH_VERSION.intersection(operation["tags"]) and name not in _WITHOUT_VERSION:
        yield _MATCH


def _leave_out_null(schema: dict[str, Any]) -> None:
    """An optional parameter is left out; nobody can send null in an address."""
    choices = [one for one in schema.pop("anyOf", ()) if one != {"type": "null"}]
    schema |= choices[0] if len(choices) == 1 else {"anyOf": choices} if choices else {}


def _show_read_only(schemas: dict[str, Any], operation: dict[str, Any]) -> None:
    """A body that may be sent as `GET` answers it (`Replacement`) has the other members of the answer, too."""
    body = schemas.get(_shown(operation.get("requestBody", {})).rpartition("/")[2], {})
    if body.get("additionalProperties") is True:
        shown = schemas[_shown(operation["responses"][200]).rpartition("/")[2]]["properties"]
        body["additionalProperties"] = False
        body["properties"] = {name: of | {"readOnly": True} for name, of in shown.items()} | body["properties"]


def _headers(*names: str) -> dict[str, Any]:
    everywhere = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "X-Request-ID")
    return {name: {"$ref": f"#/components/headers/{name}"} for name in (*everywhere, *names)}


def _of_success(operation: dict[str, Any], status: str, response: dict[str, Any], can_be_read: bool) -> Iterator[str]:
    shown = _shown(response)
    if shown in _VERSIONED:
        yield "ETag"
    if status == "201" and can_be_read:
        yield "Location"
    if shown.startswith("#/components/schemas/Page_"):
        yield "Link"
    if _KEY in operation["parameters"]:
        yield "Idempotency-Replayed"


def _shown(response: dict[str, Any]) -> str:
    """The reference to what an answer shows, or a body holds."""
    return str(response.get("content", {}).get("application/json", {}).get("schema", {}).get("$ref", ""))
