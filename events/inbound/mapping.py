"""The events that a request of a webhook becomes, by the address's expressions or the sender's format."""

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid5

from common.database import correlation
from common.parsing import expressions, strict_json
from common.parsing.budget import Budget
from common.parsing.strict_json import Bad
from common.texts.refusal import TEXTS, Refusal, noop as _
from common.uuid7 import uuid7
from events.inbound import alerts, body
from events.models import InboundAddress
from events.pure import cloud_events, matching, types
from events.pure.envelope import LARGEST_DATA, MOST_AT_ONCE, Envelope
from events.reasons import EventCode
from work.reasons import NO_REASON, Reason

MOST_ALERTS = 100
"""Alerts of one request."""
_SECONDS = re.compile(r"[0-9]{9,13}(?:\.[0-9]{1,9})?")
_MILLISECONDS = 1e11  # the least: as seconds it would be in the year 5138
TEXTS.update(
    too_many_events=_("It has more than %(most)s events."),
    not_a_type=_("“%(value)s” is not a type; write one such as order.paid."),
    correlation_id=_("A correlation id has at most 128 characters, none of them a control character."),
    not_an_object=_("It gives no object. Write {name: expression, …}."),
    not_an_instant=_("“%(value)s” is not an instant, such as 2026-03-15T14:00:00Z or seconds."),
)


@dataclass(frozen=True, slots=True)
class InboundAnswer:
    """`status` is that of HTTP; `keys` are those of the events; `reason` says why none, or what was not understood.

    `wait`: seconds after which it may be tried again.
    """

    status: int
    keys: list[str] = field(default_factory=list)
    reason: Reason = NO_REASON
    wait: int = 0


def unreadable(error: Bad) -> InboundAnswer:
    return InboundAnswer(400, reason=Reason(EventCode.UNREADABLE_BODY, problem=error))


def understand(
    address: InboundAddress, headers: Mapping[str, str], text: str, identity: str
) -> tuple[InboundAnswer, list[Envelope]]:
    """The events of a request that is genuine. `identity`: see `schemes.verify`."""
    malformed = NO_REASON
    try:
        if not address.fields and (sent := _cloud_events(headers, text)):
            return _accepted(_of_cloud_event(address, one, identity) for one in sent)
    except ValueError as error:
        malformed = Reason(EventCode.MALFORMED, problem=_problem(error))
    try:
        given = body.read(headers, text)
    except Bad as error:
        return unreadable(error), []
    if not address.fields and alerts.are_alerts(given):
        return _of_alerts(address, given, identity)
    envelope, reason = event_of(address, headers, given, identity)
    return _accepted([(envelope, reason if reason.code else malformed)])


def _accepted(made: Iterable[tuple[Envelope, Reason | None]]) -> tuple[InboundAnswer, list[Envelope]]:
    """The answer names all events, and the last reason that one has."""
    envelopes, reason = [], NO_REASON
    for envelope, why in made:
        envelopes.append(envelope)
        reason = why or reason
    return InboundAnswer(202, [one.key for one in envelopes], reason), envelopes


def _of_alerts(address: InboundAddress, given: Any, identity: str) -> tuple[InboundAnswer, list[Envelope]]:
    """An event for each alert of Alertmanager, Grafana or Uptime Kuma."""
    made = []
    for type, one, whole in alerts.read(given, MOST_ALERTS):
        data, too_large = _fitting(whole)
        key, time = _key(address, one + identity), _time_or_none(whole["ends_at"] or whole["starts_at"] or None)
        made.append((Envelope(type=type, data=data, source=address.label, key=key, occurred_at=time), too_large))
    answer, envelopes = _accepted(made)
    if (left_out := alerts.count(given) - len(envelopes)) > 0:
        answer = replace(answer, reason=Reason(EventCode.TOO_MANY_ALERTS, left_out=left_out, most=MOST_ALERTS))
    return answer, envelopes


def _cloud_events(headers: Mapping[str, str], text: str) -> list[dict[str, Any]]:
    """Those that a request has, with their fields. Raises ValueError where one is malformed."""
    if not (mode := cloud_events.mode(headers.get("content-type", ""), headers)):
        return []
    raw = text.encode("utf-8", "surrogateescape")
    if mode == "binary":
        return [cloud_events.read(cloud_events.from_headers(headers, raw))]
    given = strict_json.read(raw, odd_numbers_as_text=True)
    several = given if mode == "batch" and isinstance(given, list) else [given]
    if len(several) > MOST_AT_ONCE:
        raise Refusal("too_many_events", most=MOST_AT_ONCE)
    return [cloud_events.read(one) for one in several]


def _of_cloud_event(
    address: InboundAddress, fields: Mapping[str, Any], identity: str
) -> tuple[Envelope, Reason | None]:
    """The event, and why it has no data, if so. Raises ValueError for a type of Carillon's own, and for no time."""
    data, too_large = _fitting(fields["data"])
    envelope = Envelope(
        type=_type(fields["type"]),
        data=data,
        source=fields["source"],
        key=_key(address, cloud_events.key(fields["source"], fields["id"]) + identity),
        occurred_at=_time(fields.get("time")),
        correlation_id=fields.get("correlation_id"),
        hops=fields.get("hops", 0),
    )
    return envelope, too_large


def event_of(
    address: InboundAddress, headers: Mapping[str, str], given: Any, identity: str = ""
) -> tuple[Envelope, Reason]:
    """The event that a request becomes, and why an expression was not used, if so."""
    fields, reason = _fields(address, {"headers": dict(headers), "body": given})
    data, too_large = _fitting(fields.get("data") or (given if isinstance(given, dict) else {"body": given}))
    same = identity or fields.get("id")
    envelope = Envelope(
        type=fields.get("type") or _default_type(address, headers, given),
        data=data,
        source=fields.get("source") or address.label,
        key=_key(address, same) if same else str(uuid7()),
        occurred_at=fields.get("time") or _sent_time(address, given),
        correlation_id=fields.get("correlation_id"),
    )
    return envelope, too_large or reason


def _key(address: InboundAddress, same: str) -> str:
    """The key of the event that `same` identifies among those of the address."""
    return str(uuid5(address.id, same))


def _fields(address: InboundAddress, document: Mapping[str, Any]) -> tuple[dict[str, Any], Reason]:
    """The values of the address' expressions, and why one was not used, if so."""
    values: dict[str, Any] = {}
    reason, budget = NO_REASON, Budget()
    for name, expression in address.fields.items():
        try:
            values[name] = _READ[name](strict_json.check(expressions.find(expression, document, budget)))
        except Exception as error:  # whatever an expression does, the request is not lost
            reason = Reason(EventCode.UNMAPPED, field=name, problem=_problem(error))
    return values, reason


def _problem(error: Exception) -> Refusal | str:
    return error if isinstance(error, Refusal) else type(error).__name__


def _fitting(data: dict[str, Any]) -> tuple[dict[str, Any], Reason | None]:
    """The data, or how large it is where no event takes it."""
    size = len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())
    if size <= LARGEST_DATA:
        return data, None
    return {"too_large": True, "bytes": size}, Reason(EventCode.TOO_LARGE, size=size, most=LARGEST_DATA)


def _default_type(address: InboundAddress, headers: Mapping[str, str], body: Any) -> str:
    """The sender's own word for what happened, else the address' label."""
    type = ""
    if address.scheme == "github":
        type = f"github.{headers.get('x-github-event', '')}"
    elif address.scheme in ("stripe", "standard") and isinstance(body, dict):
        type = f"{'stripe.' * (address.scheme == 'stripe')}{body.get('type')}"
    try:
        return _type(type)
    except ValueError:
        word = re.sub("[^a-z0-9]+", "-", address.label.lower(), flags=re.ASCII).strip("-")[:60] or "webhook"
        return f"{word}.received"


def _sent_time(address: InboundAddress, body: Any) -> datetime | None:
    """The sender's own time, where its format has one."""
    field = {"stripe": "created", "standard": "timestamp"}.get(address.scheme, "")
    return _time_or_none(body.get(field)) if isinstance(body, dict) else None


def _time_or_none(value: Any) -> datetime | None:
    with suppress(ValueError):
        return _time(value)
    return None


def _type(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > 100 or not matching.TYPE.fullmatch(value) or types.is_reserved(value):
        raise Refusal("not_a_type", value=matching.shown(value, 100))
    return value


def _text(value: Any) -> str:
    return "" if value is None else matching.shown(value, 200)


def _chain(value: Any) -> str | None:
    text = _text(value)
    if text and not re.fullmatch(correlation.TEXT, text):
        raise Refusal("correlation_id")
    return text or None


def _data(value: Any) -> dict[str, Any] | None:
    if value is not None and not isinstance(value, dict):
        raise Refusal("not_an_object")
    return value


def _time(value: Any) -> datetime | None:
    if value is None:
        return None
    problem = Refusal("not_an_instant", value=matching.shown(value, 60))
    try:
        if isinstance(value, str) and not _SECONDS.fullmatch(value):
            instant = datetime.fromisoformat(value.upper())
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            seconds = float(value)  # or milliseconds: JMESPath cannot divide
            instant = datetime.fromtimestamp(seconds / 1_000 if seconds >= _MILLISECONDS else seconds, UTC)
        else:
            raise problem
    except (ValueError, OverflowError, OSError):
        raise problem from None
    if instant.tzinfo is None or not 1970 <= instant.year < 9000:
        raise problem
    return instant.astimezone(UTC)  # PostgreSQL reads no offset of 16 hours, or with parts of a second


_READ: dict[str, Any] = {
    "type": _type,
    "source": _text,
    "data": _data,
    "time": _time,
    "id": _text,
    "correlation_id": _chain,
}
