"""Take a webhook: verify it, make it events, keep it to look at. One transaction."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID, uuid5

from django.db import transaction

from common import encryption, expressions, strict_json
from common.budget import Budget
from common.postgres import change
from common.uuid7 import uuid7
from events import ledger, matching, schemes, types
from events.envelope import LARGEST_DATA, Envelope
from events.inbound import alerts
from events.models import InboundAddress, InboundRequest
from events.reasons import Code
from notifications.net import chain
from work.reasons import NO_REASON, Reason

KEPT = 50
"""Requests of each address."""

_SECRET_HEADERS = {"authorization", "cookie", "proxy-authorization"}
_LONGEST_HEADER = 1_000


@dataclass(frozen=True, slots=True)
class Answer:
    """`status` is that of HTTP; `keys` are those of the events; `reason` says why none, or what was not understood."""

    status: int
    keys: list[UUID] = field(default_factory=list)
    reason: Reason = NO_REASON


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def find(token: str) -> InboundAddress | None:
    """The address whose secret part this is."""
    return InboundAddress.objects.filter(hashed=hashed(token), user__is_active=True).first()


def receive(address: InboundAddress, headers: Mapping[str, str], body: bytes, now: datetime) -> Answer:
    """Record what came in, and its events. The same delivery again answers the same and has no further effect."""
    request = schemes.Request({name.lower(): value for name, value in headers.items()}, body, now)
    return _store(address, request, *_read(address, request))


def replay(address: InboundAddress, kept: InboundRequest, now: datetime) -> Answer:
    """Make new events of a request that was kept, whatever became of it: its owner vouches for it."""
    request = schemes.Request(kept.headers, kept.body.encode(), now)
    return _store(address, request, *_understand(address, request, str(uuid7())))


def _read(address: InboundAddress, request: schemes.Request) -> tuple[Answer, list[Envelope]]:
    if not address.enabled:
        return Answer(410, reason=Reason(Code.SWITCHED_OFF_ADDRESS)), []
    try:
        secret = address.secrets().get("secret", "")
        identity = schemes.verify(address.scheme, secret, request, schemes.Hmac(**address.options))
    except encryption.Unreadable:
        return Answer(503, reason=Reason(Code.UNREADABLE_SECRET)), []
    except schemes.Refused as refused:
        return Answer(401, reason=refused.reason), []
    answer, envelopes = _understand(address, request, identity)
    if cause := chain.read(request.headers.get(chain.HEADER.lower(), "")):
        # One of our own messages caused it: a rule, a message and its webhook would go round for ever.
        envelopes = [replace(one, correlation_id=cause[0], hops=cause[1]) for one in envelopes]
    return answer, envelopes


def _understand(address: InboundAddress, request: schemes.Request, identity: str) -> tuple[Answer, list[Envelope]]:
    """The events of a request that is genuine. `identity`: see `schemes.verify`."""
    try:
        body = strict_json.read(_json_of(request))
    except strict_json.Bad as error:
        return Answer(400, reason=Reason(Code.NOT_JSON, problem=str(error))), []
    if not address.fields and alerts.are_alerts(body):
        envelopes = [
            Envelope(type=type, data=data, source=address.label, key=uuid5(address.id, one + identity))
            for type, one, data in alerts.read(body)
        ]
        reason = NO_REASON
    else:
        envelope, reason = event_of(address, request.headers, body, identity)
        envelopes = [envelope]
    return Answer(202, [one.key for one in envelopes], reason), envelopes


def _json_of(request: schemes.Request) -> bytes:
    """GitHub can post JSON as a field of a form."""
    if request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        found = parse_qs(request.body.decode("utf-8", "replace"), max_num_fields=100).get("payload")
        return found[0].encode() if found else request.body
    return request.body


def event_of(
    address: InboundAddress, headers: Mapping[str, str], body: Any, identity: str = ""
) -> tuple[Envelope, Reason]:
    """The event that a request becomes, and why an expression was not used, if so."""
    document = {"headers": dict(headers), "body": body}
    found: dict[str, Any] = {}
    reason, budget = NO_REASON, Budget()
    for name, expression in address.fields.items():
        try:
            found[name] = _READ[name](expressions.find(expression, document, budget))
        except ValueError as error:
            reason = Reason(Code.UNMAPPED, field=name, problem=str(error))
    data = found.get("data") or (body if isinstance(body, dict) else {"body": body})
    size = len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())
    if size > LARGEST_DATA:
        reason = Reason(Code.TOO_LARGE, size=size, most=LARGEST_DATA)
        data = {"too_large": True, "bytes": size}
    given = identity or found.get("id") or ""
    envelope = Envelope(
        type=found.get("type") or _default_type(address, headers, body),
        data=data,
        source=found.get("source") or address.label,
        key=uuid5(address.id, given) if given else uuid7(),
        occurred_at=found.get("time"),
    )
    return envelope, reason


def _default_type(address: InboundAddress, headers: Mapping[str, str], body: Any) -> str:
    """The sender's own word for what happened, else the address' label."""
    said = ""
    if address.scheme == "github":
        said = f"github.{headers.get('x-github-event', '')}"
    elif address.scheme in ("stripe", "standard") and isinstance(body, dict):
        said = f"{'stripe.' * (address.scheme == 'stripe')}{body.get('type')}"
    try:
        return _type(said)
    except ValueError:
        word = re.sub("[^a-z0-9]+", "-", address.label.lower(), flags=re.ASCII).strip("-")[:60] or "webhook"
        return f"{word}.received"


def _type(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > 100 or not matching.TYPE.fullmatch(value) or types.is_reserved(value):
        raise ValueError(f"“{matching.shown(value, 100)}” is no type; write one such as order.paid.")
    return value


def _text(value: Any) -> str:
    return "" if value is None else matching.shown(value, 200)


def _data(value: Any) -> dict[str, Any] | None:
    if value is not None and not isinstance(value, dict):
        raise ValueError("It gives no object. Write {name: expression, …}.")
    return value


def _time(value: Any) -> datetime | None:
    if value is None:
        return None
    problem = ValueError(f"“{matching.shown(value, 60)}” is no instant, such as 2026-03-15T14:00:00Z or seconds.")
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found = datetime.fromtimestamp(value, UTC)
        else:
            raise problem
    except (ValueError, OverflowError, OSError):
        raise problem from None
    if found.tzinfo is None or not 1970 <= found.year < 9000:
        raise problem
    return found


_READ: dict[str, Any] = {"type": _type, "source": _text, "data": _data, "time": _time, "id": _text}

# By id, which grows with time.
_TRIM = """
DELETE FROM events_inboundrequest WHERE address_id = %(address)s AND id < (
    SELECT id FROM events_inboundrequest WHERE address_id = %(address)s ORDER BY id DESC OFFSET %(kept)s - 1 LIMIT 1
)
"""


@transaction.atomic
def _store(address: InboundAddress, request: schemes.Request, answer: Answer, envelopes: Sequence[Envelope]) -> Answer:
    ledger.record(address.user_id, envelopes)
    InboundRequest.objects.create(
        address=address,
        status=answer.status,
        headers={
            _plain(name): _plain(value)[:_LONGEST_HEADER]
            for name, value in request.headers.items()
            if name not in _SECRET_HEADERS
        },
        body=_plain(request.body.decode("utf-8", "replace")),
        event_keys=[str(key) for key in answer.keys],
        reason_code=answer.reason.code,
        reason_params=answer.reason.params,
    )
    change(_TRIM, {"address": address.id, "kept": KEPT})
    return answer


def _plain(text: str) -> str:
    """jsonb and text cannot hold NUL."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")
