"""Post to a service, and build the answers that providers share."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from notifications.messages.message import Rejected
from notifications.net import http
from notifications.net.http import Response
from notifications.reasons import DeliveryCode
from work import retry
from work.answers import Ambiguous, Answer, Retryable
from work.reasons import Reason

_RETRY_STATUSES = (408, 425, 429)


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    deadline: float,
    judge: Callable[[Response], Answer],
    method: str = "POST",
) -> Answer:
    """Post, and return what `judge` makes of the response, or the answer for none. `deadline` is in seconds."""
    try:
        response = http.request(method, url, body=body, headers=headers, deadline=deadline)
    except http.RequestFailed as failure:
        return failed(failure)
    return judge(response)


def post_json(
    url: str,
    document: Mapping[str, Any],
    deadline: float,
    judge: Callable[[Response], Answer],
    headers: Mapping[str, str] | None = None,
    method: str = "POST",
) -> Answer:
    headers = {"Content-Type": "application/json", **(headers or {})}
    return post(url, json.dumps(document).encode(), headers, deadline, judge, method)


def failed(failure: http.RequestFailed) -> Answer:
    """Return the answer for a request without a response."""
    if isinstance(failure, http.Unanswered):
        return Ambiguous(failure.reason)
    if failure.refused:
        return Rejected(failure.reason)
    return Retryable(failure.reason)


def refused(service: str, response: Response, retry_after: object = None) -> Retryable | Rejected:
    """Return the answer for an error that the provider knows no more about than its status.

    `retry_after` is the number of seconds in the response's body; without one, the Retry-After header counts.
    """
    return retry_later(service, response, retry_after) or Rejected(answered(service, response))


def retry_later(service: str, response: Response, retry_after: object = None) -> Retryable | None:
    """Return Retryable if the status asks to try again later; `retry_after` as for `refused`."""
    if response.status not in _RETRY_STATUSES and response.status < 500:
        return None
    wait = retry_after if isinstance(retry_after, int | float) and not isinstance(retry_after, bool) else None
    if wait is None:
        wait = retry.parse_retry_after(response.headers.get("Retry-After"), datetime.now(UTC))
    return Retryable(answered(service, response), wait)


def answered(service: str, response: Response, code: DeliveryCode = DeliveryCode.HTTP) -> Reason:
    """Return the reason for an answer that only its status describes."""
    return Reason(code, service=service, status=response.status)


def damaged(part: str) -> Rejected:
    """Return the answer for a channel whose row was damaged, for example by hand."""
    return Rejected(Reason(DeliveryCode.DAMAGED, part=part))


def json_object(response: Response) -> dict[str, Any]:
    """Return the JSON object in the response; an empty one if there is none."""
    try:
        document = json.loads(response.body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
