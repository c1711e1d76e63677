"""An event in an answer, with what followed from it."""

from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from api.protocol.answers import fields_of
from api.protocol.fields import Instant
from api.resources.notifications.document import ReasonDocument, reason_of
from api.resources.schedules.document import AudienceDocument
from events.models import Digest, Effect, Event

_EFFECT: Any = {
    "rule": "01890a5d-ac96-774b-bcce-b302099a8057",
    "rule_name": "Orders above 100",
    "outcome": "notified",
    "reason": {"code": "", "params": {}, "text": ""},
    "notification_id": "01890a5f-2c10-7c44-9d02-0b8a7c6d5e4f",
    "digest": None,
}
_DIGEST: Any = {
    "state": "pending",
    "due": "2026-03-30T07:00:00Z",
    "count": 3,
    "reason": {"code": "", "params": {}, "text": ""},
}
_EXAMPLE: Any = {
    "id": "0f0c2a52-6f0f-4f2a-9d0e-3b0f4b5e6a71",
    "type": "order.paid",
    "source": "shop",
    "time": "2026-03-29T16:00:00Z",
    "correlation_id": "0f0c2a52-6f0f-4f2a-9d0e-3b0f4b5e6a71",
    "hops": 0,
    "data": {"order_id": 1234, "amount": 129.5},
    "topic": "news",
    "to": None,
    "audience": 3,
    "told": 3,
    "state": "handled",
    "reason": {"code": "", "params": {}, "text": ""},
    "tries": 1,
    "received": "2026-03-29T16:00:01Z",
    "effects": [_EFFECT],
}


class DigestDocument(BaseModel):
    """The digest in which a rule tells of the event together with others; `reason` says why, where it was cancelled."""

    model_config = ConfigDict(json_schema_extra={"examples": [_DIGEST]})

    state: str = Field(description="pending, sending, sent, dead, unknown or cancelled.")
    due: Instant
    count: int = Field(description="How many events it has.")
    reason: ReasonDocument


class EffectDocument(BaseModel):
    """The effect of a rule on it; `reason` says why, where it stayed silent."""

    rule: UUID
    rule_name: str
    outcome: str = Field(description="notified, digested or silent.")
    reason: ReasonDocument
    notification_id: UUID | None = Field(description="What told of it, also in a digest; null if nothing did yet.")
    digest: DigestDocument | None


class EventDocument(BaseModel):
    """`effects` is empty for one that no rule is for."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: UUID
    type: str
    source: str
    time: Instant
    correlation_id: UUID
    hops: int
    data: dict[str, Any]
    topic: str | None = Field(description="The slug of the topic whose subscribers get it.")
    to: AudienceDocument | None = Field(description="The audience to which staff announced it.")
    audience: int | None = Field(description="How many were subscribed; null until telling them begins.")
    told: int = Field(description="How many of these have been dealt with.")
    state: str = Field(description="pending, handling, handled, dead, unknown, cancelled or expired.")
    reason: ReasonDocument
    tries: int
    received: Instant
    effects: list[EffectDocument]


def document(event: Event) -> dict[str, Any]:
    """Its effects must be prefetched with their rules and digests, its topic and its batch be selected."""
    return fields_of(
        EventDocument,
        event,
        id=event.key,
        time=event.occurred_at,
        topic=event.topic and event.topic.slug,
        to={"kind": event.audience, "key": event.audience_key} if event.audience else None,
        audience=event.batch and event.batch.size,
        told=event.batch.told if event.batch else 0,
        reason=reason_of(event),
        received=event.created_at,
        effects=[_effect(one) for one in event.effects.all()],
    )


def _effect(effect: Effect) -> dict[str, Any]:
    return fields_of(
        EffectDocument,
        effect,
        rule=effect.rule_id,
        rule_name=effect.rule.name,
        reason=reason_of(effect),
        notification_id=effect.told_in,
        digest=effect.digest and _digest(effect.digest),
    )


def _digest(digest: Digest) -> dict[str, Any]:
    return fields_of(DigestDocument, digest, due=digest.available_at, count=digest.gathered, reason=reason_of(digest))
