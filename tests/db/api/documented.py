"""Whether an answer is what the OpenAPI document says."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import jsonschema_rs  # comes with schemathesis

from api.v1 import api
from demo.receivers import Received


@cache
def _registry() -> jsonschema_rs.Registry:
    """The schemas, read once. Without it, each validator reads all of them."""
    return jsonschema_rs.Registry([("urn:api", {"components": api.get_openapi_schema()["components"]})])


@cache
def _validator(schema: str) -> Any:
    return jsonschema_rs.validator_for({"$ref": f"urn:api{schema}"}, registry=_registry(), validate_formats=True)


def check(schema: str, document: Any) -> None:
    """`schema` is the name of one of the document's."""
    found = [
        f"{schema}: {list(one.instance_path)}: {one.message}"
        for one in _validator(f"#/components/schemas/{schema}").iter_errors(document)
    ]
    assert not found, found


def check_post(name: str, request: Received) -> None:
    """`name` is the webhook's in the document."""
    schema = api.get_openapi_schema()
    posted = schema["webhooks"][name]["post"]
    for header in posted["parameters"]:
        jsonschema_rs.validate(header["schema"], request.headers[header["name"]], validate_formats=True)
    content = posted["requestBody"]["content"][request.headers["Content-Type"]]
    model = content["schema"]["$ref"].rpartition("/")[2]
    document = json.loads(request.body)
    check(model, document)
    # A schema does not forbid more members, as there may be more of them one day.
    for of, shown in ((model, document), ("WebhookMessage", {} if model == "ChangePost" else document["data"])):
        assert shown.keys() <= schema["components"]["schemas"][of]["properties"].keys()


def check_answer(response: Any) -> None:
    """A success of an operation has a documented status and body."""
    if response.status_code >= 300:
        return
    template = "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", response.resolver_match.route)
    methods = api.get_openapi_schema()["paths"].get(template, {})
    if (operation := methods.get(response.request["REQUEST_METHOD"].lower())) is None:  # such as HEAD
        return
    responses = {str(status): one for status, one in operation["responses"].items()}
    shown = responses[str(response.status_code)].get("content", {}).get("application/json")
    if shown:
        check(shown["schema"]["$ref"].rpartition("/")[2], response.json())
    else:
        assert response.content == b""
