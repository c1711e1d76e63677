"""Deprecated parts of the API: marked here, shown in the OpenAPI document, and named in the headers of answers."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any

from django.utils.http import http_date


@dataclass(frozen=True, slots=True)
class Deprecation:
    """Deprecated `since` a day, and there `until` another one, at least a year later. `instead`: a sentence."""

    since: date
    until: date
    instead: str


DEPRECATED: dict[str, Deprecation] = {}
"""By operation, `read_schedule`, or by a field of a schema, `ScheduleBody.urgent`."""

_SCHEMA = re.compile(r'"#/components/schemas/([^"]+)"')


def mark(document: dict[str, Any], page: str) -> dict[str, dict[str, str]]:
    """Mark in the document what is deprecated. Returns the headers (RFC 9745, RFC 8594) of operations that have it.

    `page` is the address of the documentation. Raises KeyError for what does not exist.
    """
    schemas = document["components"]["schemas"]
    operations = {one["operationId"]: one for methods in document["paths"].values() for one in methods.values()}
    headers: dict[str, dict[str, str]] = {}
    for name, deprecation in DEPRECATED.items():
        schema, _, field = name.partition(".")
        if not field:
            _mark(operations[name], deprecation)
            headers[name] = _headers(deprecation, f"{page}#{name}")
            continue
        _mark(schemas[schema]["properties"][field], deprecation)
        for operation_id, operation in operations.items():
            if schema in _reached(operation, schemas):
                headers.setdefault(operation_id, _headers(deprecation, f"{page}#schema-{schema}"))
    return headers


def _mark(one: dict[str, Any], deprecation: Deprecation) -> None:
    ends = f"Deprecated; ends on {deprecation.until}. {deprecation.instead}"
    one |= {"deprecated": True, "x-sunset": f"{deprecation.until}"}
    one["description"] = f"{one.get('description', '')} {ends}".strip()


def _headers(deprecation: Deprecation, page: str) -> dict[str, str]:
    since, until = (
        int(datetime.combine(day, time.min, UTC).timestamp()) for day in (deprecation.since, deprecation.until)
    )
    link = f'<{page}>; rel="deprecation"; type="text/html"'
    return {"Deprecation": f"@{since}", "Sunset": http_date(until), "Link": link}


def _reached(one: dict[str, Any], schemas: dict[str, Any]) -> set[str]:
    """The names of the schemas that an operation takes or answers with."""
    result: set[str] = set()
    waiting = set(_named(one))
    while waiting:
        result.add(name := waiting.pop())
        waiting |= set(_named(schemas[name])) - result
    return result


def _named(one: dict[str, Any]) -> Iterator[str]:
    return (match[1] for match in _SCHEMA.finditer(json.dumps(one)))
