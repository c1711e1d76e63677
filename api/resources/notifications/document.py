"""A notification in an answer, with its deliveries and their attempts."""

from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from api.protocol.answers import fields_of
from api.protocol.fields import Instant, example
from notifications.channels.text_preview import Reading
from notifications.models import Attempt, Delivery, Notification
from work.reasons import sentence

_REASON: Any = {"code": "http", "params": {"service": "the receiver", "status": 404}, "text": "The receiver …"}
_DELIVERY: Any = {
    "id": "01890a5f-2c11-7a0e-8f57-5f0c6a1b2d3e",
    "notification_id": "01890a5f-2c10-7c44-9d02-0b8a7c6d5e4f",
    "channel": "01890a5d-ac96-774b-bcce-b302099a8057",
    "channel_label": "Home server",
    "kind": "webhook",
    "state": "dead",
    "reason": _REASON,
    "cause": "webhook-http-404",
    "tries": 1,
    "replays": 0,
    "available": "2026-03-29T16:00:00Z",
    "expires": None,
    "settled": "2026-03-29T16:00:01Z",
}
_ATTEMPT: Any = {
    "number": 1,
    "replay": 0,
    "started": "2026-03-29T16:00:00Z",
    "finished": "2026-03-29T16:00:01Z",
    "outcome": "rejected",
    "reason": _REASON,
}
_EXAMPLE: Any = {
    "id": "01890a5f-2c10-7c44-9d02-0b8a7c6d5e4f",
    "batch_id": "01890a5f-2c0f-7b11-8e3d-7a6b5c4d3e2f",
    "origin": "api",
    "title": "The backup is done",
    "outcome": "failed",
    "created": "2026-03-29T16:00:00Z",
    "deliveries": [_DELIVERY],
}


class ReasonDocument(BaseModel):
    """`code` and `params` are for programs, `text` is for people. All are empty where nothing needs a reason."""

    code: str
    params: dict[str, Any]
    text: str


class AttemptDocument(BaseModel):
    """One try; `number` counts since the last replay. `outcome` is empty while it is under way."""

    number: int
    replay: int
    started: Instant
    finished: Instant | None
    outcome: str
    reason: ReasonDocument


class DeliveryDocument(BaseModel):
    """`id` is the idempotency key that the receiver gets."""

    model_config = ConfigDict(json_schema_extra={"examples": [_DELIVERY]})

    id: UUID
    notification_id: UUID
    channel: UUID
    channel_label: str
    kind: str
    state: str = Field(description="pending, sending, delivered, dead, unknown, cancelled or expired.")
    reason: ReasonDocument
    cause: str = Field(description="The group of a dead letter; empty for others.")
    tries: int
    replays: int
    available: Instant = Field(description="Not sent before this.")
    expires: Instant | None
    settled: Instant | None


class DeliveryWithAttempts(DeliveryDocument):
    model_config = ConfigDict(json_schema_extra={"examples": [_DELIVERY | {"attempts": [_ATTEMPT]}]})

    attempts: list[AttemptDocument]


class Length(BaseModel):
    """The length of the text on a channel; `limit` is null without one, `cut` if the text does not fit."""

    channel: UUID
    length: int
    limit: int | None
    unit: str
    cut: bool


class NotificationBase(BaseModel):
    id: UUID
    batch_id: UUID
    origin: str = Field(
        description="schedule, announcement, api (by this API), event (by a rule), topic, test, code or notice."
    )
    schedule_id: UUID | None = Field(description="Of your own schedule; null for announcements.")
    slot: Instant | None
    title: str
    body: str
    urgent: bool
    category: str
    data: Any
    outcome: str = Field(description="open, full, partial, failed or dropped.")
    acknowledged: Instant | None
    created: Instant


class NotificationDocument(NotificationBase):
    model_config = example(_EXAMPLE)

    deliveries: list[DeliveryDocument]


class NotificationWithAttempts(NotificationBase):
    deliveries: list[DeliveryWithAttempts]


def document(notification: Notification, *, attempts: bool = False) -> dict[str, Any]:
    """Its deliveries must be prefetched with their channels, and with their attempts (`history`) if those are shown."""
    schedule_id = notification.origin_id if notification.origin == Notification.Origin.SCHEDULE else None
    return fields_of(
        NotificationDocument,
        notification,
        schedule_id=schedule_id,
        title=notification.subject,
        acknowledged=notification.acknowledged_at,
        created=notification.created_at,
        deliveries=[
            delivery_document(one) | ({"attempts": [_attempt(each) for each in one.history.all()]} if attempts else {})
            for one in notification.ordered_deliveries()
        ],
    )


def delivery_document(delivery: Delivery) -> dict[str, Any]:
    return fields_of(
        DeliveryDocument,
        delivery,
        channel=delivery.channel_id,
        channel_label=delivery.channel.label,
        kind=delivery.provider,
        reason=reason_of(delivery),
        available=delivery.available_at,
        expires=delivery.expires_at,
        settled=delivery.settled_at,
    )


def lengths(reading: Reading) -> list[dict[str, Any]]:
    return [fields_of(Length, one, channel=one.channel_id) for one in reading.lengths]


def reason(code: str, params: Any) -> dict[str, Any]:
    return {"code": code, "params": params if isinstance(params, dict) else {}, "text": sentence(code, params)}


def reason_of(row: Any) -> dict[str, Any]:
    return reason(row.reason_code, row.reason_params)


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return fields_of(
        AttemptDocument, attempt, started=attempt.started_at, finished=attempt.finished_at, reason=reason_of(attempt)
    )
