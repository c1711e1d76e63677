"""Answers of operations, written without a second validation. Tests check them against the documented schemas."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpResponse


def answer(document: Any, status: int = 200, **headers: str) -> HttpResponse:
    """`document` as JSON; its instants are text already (see `fields.written`)."""
    return HttpResponse(json.dumps(document), status=status, content_type="application/json", headers=headers)
