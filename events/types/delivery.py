"""How deliveries end."""

from __future__ import annotations

from uuid import UUID

from django.utils.translation import gettext_lazy as _

from events.types.base import EventType, Schema


class DeliveryData(Schema):
    delivery_id: UUID
    notification_id: UUID
    channel_id: UUID
    provider: str
    schedule_id: UUID | None
    correlation_id: UUID
    reason: str


_EXAMPLE = {
    "delivery_id": "01890a5f-2c11-7a0e-8f57-5f0c6a1b2d3e",
    "notification_id": "01890a5f-2c10-7c44-9d02-0b8a7c6d5e4f",
    "channel_id": "01890a5d-ac96-774b-bcce-b302099a8057",
    "provider": "webhook",
    "schedule_id": None,
    "correlation_id": "01890a5f-2c0f-7b11-8e3d-7a6b5c4d3e2f",
    "reason": "http",
}
_SUMMARIES = {
    "delivered": _("A channel took it."),
    "dead": _("It failed for good, and waits for a person."),
    "unknown": _("Nobody knows whether it arrived; it waits for a person."),
    "expired": _("It was too late to send it."),
}

TYPES = [
    EventType(f"delivery.{state}", summary, DeliveryData, _EXAMPLE, _("deliveries"))
    for state, summary in _SUMMARIES.items()
]
