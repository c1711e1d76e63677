"""Posting to a service over the door, and what its answer means to a delivery."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from notifications import retry
from notifications.causes import Code
from notifications.message import Ambiguous, Rejected, Retryable
from notifications.net import http

_LATER = (408, 425, 429)


def post(
    url: str, body: bytes, headers: Mapping[str, str], deadline: float
) -> http.Response | Rejected | Retryable | Ambiguous:
    """Post, and return the response, or what it means that there is none. `deadline` is in seconds from now."""
    try:
        return http.request("POST", url, body=body, headers=headers, deadline=deadline)
    except (http.NotSent, http.Unanswered) as failure:
        return meaning(failure)


def meaning(failure: http.NotSent | http.Unanswered) -> Rejected | Retryable | Ambiguous:
    """Return what it means to a delivery that there is no response."""
    if isinstance(failure, http.Unanswered):
        return Ambiguous(failure.reason, failure.code)
    if failure.refused:
        return Rejected(failure.reason, code=failure.code)
    return Retryable(failure.reason, code=failure.code)


def post_json(
    url: str, document: Mapping[str, Any], deadline: float, headers: Mapping[str, str] | None = None
) -> http.Response | Rejected | Retryable | Ambiguous:
    """Post `document` as JSON."""
    return post(url, json.dumps(document).encode(), {"Content-Type": "application/json", **(headers or {})}, deadline)


def document(response: http.Response) -> dict[str, Any]:
    """Return the JSON object that the response holds, an empty one where it holds none."""
    try:
        found = json.loads(response.body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def later(who: str, response: http.Response, retry_after: object = None) -> Retryable | None:
    """Return Retryable where the service `who` says "later"; `retry_after` is its wish where the body holds one."""
    if response.status not in _LATER and response.status < 500:
        return None
    wish = retry_after if isinstance(retry_after, int | float) and not isinstance(retry_after, bool) else None
    if wish is None:
        wish = retry.parse_retry_after(response.headers.get("Retry-After"), datetime.now(UTC))
    return Retryable(f"{who} answered {in_words(response.status)}.", wish, code(response))


def refused(who: str, response: http.Response) -> Rejected:
    """Return Rejected where the service `who` refused the message for no reason of its own."""
    return Rejected(f"{who} refused the message: {in_words(response.status)}.", code=code(response))


def code(response: http.Response) -> str:
    """Return the code of an answer that only its status tells of, "http-404"."""
    return f"{Code.HTTP}-{response.status}"


def in_words(status: int) -> str:
    """Return the status with its phrase, "410 Gone"."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
