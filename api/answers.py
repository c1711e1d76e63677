"""Answers of operations, written without a second validation. Tests check them against the documented schemas."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpResponse


def answer(document: Any, status: int = 200, **headers: str) -> HttpResponse:
    """`document` as JSON; its instants are text already (see `fields.written`)."""
    return HttpResponse(to_json(document), status=status, content_type="application/json", headers=headers)


def to_json(document: Any) -> str:
    """JSON in UTF-8: other letters than ASCII would take two to three times the room as escapes."""
    return json.dumps(document, ensure_ascii=False)


def secret_answer(document: Any, status: int = 200, **headers: str) -> HttpResponse:
    """An answer that holds a secret: it is kept encrypted for an `Idempotency-Key`."""
    response = answer(document, status, **headers)
    response.holds_secret = True  # type: ignore[attr-defined]
    return response
