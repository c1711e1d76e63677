"""Hooks of Schemathesis: a request that the schema allows is made to fit what is there, which no schema can say."""

from __future__ import annotations

import json
import os
import random
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import CoverageScenario, TestPhase
from schemathesis.specs.openapi.checks import use_after_free

# {"path": {"schedule_id": [ids], …}, "channel_ids": [ids]}
_THERE = json.loads(os.environ["SCHEMATHESIS_ROWS"])
_chance = random.Random(int(os.environ["SCHEMATHESIS_SEED"]))
_sent: set[tuple[object, ...]] = set()
_VALID = {
    "timing": {"weekly": {"days": [0, 3], "time": "09:00"}},
    "time_zone": "Europe/Berlin",
    "starts_at": None,
    "ends_at": "2090-03-15T09:00",
    "excluded": ["2090-03-14"],
    "in_order": False,
    "escalate_after": None,
    "after_done": False,
    "nag_every": None,
    "nag_times": None,
    "nag_channel_ids": [],
    "early": [],
    "stale_after": None,
    "snooze_ends_at": f"{datetime.now(UTC) + timedelta(days=30):%Y-%m-%dT%H:%M:%SZ}",
    "send_at": None,
    "kind": "email",
    "fields": {"address": "ada@example.net"},
    "url": "https://127.0.0.1:8443/hook",
    "secret": "",
    "headers": {},
    "everybody": False,
    "title": "Order {data.order_id}",
    "body": "",
    "throttle_count": 3,
    "throttle_seconds": 3_600,
    "digest_seconds": None,
    "digest_at": "09:00",
    "quiet_from": "22:00",
    "quiet_until": "07:00",
    "weekly_hours": {},
    "public_holidays": "DE-BY",
    "scopes": ["read"],
    "data_schema": {"type": "object"},
}


# The timing of a watch is that of a schedule; a list of events or messages has what one has.
_REPEATED = (
    ("POST /api/v1/watches", "/properties/timing/"),
    ("POST /api/v1/events", "/oneOf/1/items/properties/"),
    ("POST /api/v1/queues/{queue_id}/messages", "/oneOf/1/items/properties/"),
)


@schemathesis.hook
def map_case(_context: Any, case: Any) -> Any:
    is_valid = case.meta is not None and case.meta.generation.mode.is_positive
    headers, match = case.headers or {}, (case.headers or {}).get("If-Match")
    if match is not None and (is_valid or re.fullmatch(r'\*|"[0-9a-f]+"(, *"[0-9a-f]+")*', match)):
        headers["If-Match"] = "*"  # a version that nobody has read would end the call with 412
    if isinstance(case.body, dict) and type(wait := case.body.get("wait_ms")) is int and 0 <= wait <= 20_000:
        case.body["wait_ms"] = 0  # it would wait for up to 20 s
    if is_valid:
        if "Idempotency-Key" in headers:
            headers["Idempotency-Key"] = uuid4().hex
        follows_links = case.meta.phase.name is TestPhase.STATEFUL
        for name in case.path_parameters or {}:
            if not follows_links and _chance.random() < 0.5:  # the others are nobody's, and get 404
                case.path_parameters[name] = _chance.choice(_THERE["path"][name])
        (case.query or {}).pop("cursor", None)
        if follows_links and case.query:
            case.query.clear()  # a list that is filtered at random is empty, and leads nowhere
        case.body = _with_small_numbers(case.body)
        for body in case.body if isinstance(case.body, list) else [case.body]:
            if isinstance(body, dict):
                _fit(body)
    return case


@schemathesis.hook
def filter_case(_context: Any, case: Any) -> bool:
    """Without what is sent twice, and what no server can refuse."""
    if case.meta is None or case.meta.phase.name is not TestPhase.COVERAGE:
        return True
    part, is_wrong = case.meta.phase.data, case.meta.generation.mode.is_negative
    match part.parameter_location:
        case ParameterLocation.BODY:  # a part that another operation, or the other form of a body, has as well
            location = part.location or ""
            return not any(case.operation.label == label and location.startswith(start) for label, start in _REPEATED)
        case ParameterLocation.PATH:  # all is text there: of what is no UUID, one is enough
            return bool(part.scenario is not CoverageScenario.INCORRECT_TYPE)
        case ParameterLocation.HEADER if part.scenario is CoverageScenario.MALFORMED_CONTENT_TYPE:
            return bool(case.operation.body)  # nobody reads it of a request without a body
        case ParameterLocation.HEADER | ParameterLocation.QUERY if part.scenario is CoverageScenario.INCORRECT_TYPE:
            return _is_first(case.operation.label, part.parameter)  # all is text there, too
        case None if part.scenario is CoverageScenario.UNSPECIFIED_HTTP_METHOD:  # the path decides; OPTIONS names all
            return _is_first(case.operation.path, case.method == "OPTIONS")
        case ParameterLocation.HEADER if part.scenario is CoverageScenario.OBJECT_UNEXPECTED_PROPERTIES:
            return False
        case ParameterLocation.HEADER if part.parameter == "Idempotency-Key" and not is_wrong:
            return False  # `map_case` writes another one
    # A wrong value is sent beside all other parameters, and then without them.
    return not (is_wrong and part.description.startswith(f"{part.parameter}: "))


def _is_first(*names: object) -> bool:
    """Whether this is the first call with these names."""
    is_first = names not in _sent
    _sent.add(names)
    return is_first


@schemathesis.check
def use_after_free_unless_restored(ctx: Any, response: Any, case: Any) -> bool | None:
    """The stock check, which does not know that what was deleted can be restored."""
    calls = ctx.internals.find_related(case_id=case.id)
    return None if any(one.path.endswith("/restore") for one in calls) else use_after_free(ctx, response, case)


def _fit(body: dict[str, Any]) -> None:
    if isinstance(body.get("rule"), dict):
        _fit(body["rule"])
    if "channel_ids" in body:
        body["channel_ids"] = _THERE["channel_ids"]
    if body.get("channel_id") is not None:
        body["channel_id"] = _chance.choice(_THERE["path"]["channel_id"])
    if "topic" in body:
        body["topic"] = None
    if _chance.random() < 0.5:  # the others show that what cannot be read is refused
        body |= {name: value for name, value in _VALID.items() if name in body}


def _with_small_numbers(value: Any) -> Any:
    """JSON Schema takes 2.0 for an integer, and a number of any size; the API refuses both (`api/v1.py`)."""
    match value:
        case dict():
            return {name: _with_small_numbers(one) for name, one in value.items()}
        case list():
            return [_with_small_numbers(one) for one in value]
        case float() if value.is_integer():
            return int(value) if abs(value) < 1e18 else 0
        case int() if abs(value) >= 1e18:
            return 0
    return value
