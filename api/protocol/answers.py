"""Answers of operations, written without a second validation. Tests check them against the documented schemas."""

import json
from collections.abc import Callable
from datetime import date, datetime, time
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.utils.functional import Promise
from pydantic import BaseModel

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


def fields_of(model: type[BaseModel], row: object, **others: Any) -> dict[str, Any]:
    """The fields of a document as JSON has them: from `others`, else from the attributes of `row`."""
    result = {}
    for name in model.model_fields:
        value = others[name] if name in others else getattr(row, name)
        write = _WRITERS.get(type(value))
        result[name] = value if write is None else write(value)
    return result


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
