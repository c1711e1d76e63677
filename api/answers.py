"""Answers of operations, written without a second validation. Tests check them against the documented schemas."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpResponse


def answer(document: Any, status: int = 200, **headers: str) -> HttpResponse:
    """`document` as JSON; its instants are text already (see `fields.written`)."""
    return HttpResponse(json.dumps(document), status=status, content_type="application/json", headers=headers)


def secret_answer(document: Any, status: int = 200, **headers: str) -> HttpResponse:
    """An answer that holds a secret: it is kept encrypted for an `Idempotency-Key`."""
    response = answer(document, status, **headers)
    response.holds_secret = True  # type: ignore[attr-defined]
    return response
