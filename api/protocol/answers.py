"""Answers of operations, written without a second validation. Tests check them against the documented schemas."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import cache
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.utils.functional import Promise
from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from api.protocol.fields import written

_WRITERS: dict[type, Callable[[Any], Any]] = {
    UUID: str,
    datetime: written,
    date: date.isoformat,
    time: "{:%H:%M}".format,
    list: lambda values: [_written(one) for one in values],
}


def _written(value: Any) -> Any:
    write = _WRITERS.get(type(value))
    return value if write is None else write(value)


@dataclass(frozen=True, slots=True)
class _Source:
    of: str | Callable[[Any], Any]


def of(source: str | Callable[[Any], Any], description: str | None = None) -> Any:
    """A field of a document: the attribute `source` of the row, through null if it has dots, or what it computes."""
    field: FieldInfo = Field(description=description)
    field.metadata.append(_Source(source))
    return field


@cache
def _readers(model: type[BaseModel]) -> list[tuple[str, Callable[[Any], Any]]]:
    result = []
    for name, field in model.model_fields.items():
        source = next((one.of for one in field.metadata if isinstance(one, _Source)), name)
        if isinstance(source, str):
            source = _through(source.split(".")) if "." in source else attrgetter(source)
        result.append((name, source))
    return result


def _through(names: list[str]) -> Callable[[Any], Any]:
    def read(row: Any) -> Any:
        for name in names:
            row = None if row is None else getattr(row, name)
        return row

    return read


def fields_of(model: type[BaseModel], row: Any, **others: Any) -> dict[str, Any]:
    """The fields of a document as JSON has them: from `others`, else from `row`, by name or as `of` says."""
    result = {}
    for name, read in _readers(model):
        value = others[name] if name in others else read(row)
        write = _WRITERS.get(type(value))
        result[name] = value if write is None else write(value)
    return result


Show = type[BaseModel] | Callable[[Any], Any]
"""The document of a row, or what makes it."""


def shown(show: Show, row: Any) -> Any:
    return fields_of(show, row) if isinstance(show, type) else show(row)


def documents(model: type[BaseModel], rows: Iterable[Any]) -> list[dict[str, Any]]:
    return [fields_of(model, row) for row in rows]


def _plain(value: Any) -> Any:
    """For what JSON does not know, such as a label in the caller's language. Raises KeyError."""
    return str(value) if isinstance(value, Promise) else _WRITERS[type(value)](value)


_encode = json.JSONEncoder(ensure_ascii=False, default=_plain).encode


def answer(document: Any, status: int = 200, **headers: str) -> HttpResponse:
    """`document` as JSON."""
    return HttpResponse(to_json(document), status=status, content_type="application/json", headers=headers)


def to_json(document: Any) -> str:
    """JSON in UTF-8: other letters than ASCII would take two to three times the room as escapes."""
    return _encode(document)


def secret_answer(document: Any, status: int = 200, **headers: str) -> HttpResponse:
    """An answer that holds a secret: it is kept encrypted for an `Idempotency-Key`."""
    response = answer(document, status, **headers)
    response.holds_secret = True  # type: ignore[attr-defined]
    return response
