"""What becomes of notifications."""

from __future__ import annotations

from uuid import UUID

from django.utils.translation import gettext_lazy as _

from events.types.base import EventType, Schema


class NotificationData(Schema):
    notification_id: UUID
    schedule_id: UUID | None
    correlation_id: UUID


_EXAMPLE = {
    "notification_id": "01890a5f-2c10-7c44-9d02-0b8a7c6d5e4f",
    "schedule_id": None,
    "correlation_id": "01890a5f-2c0f-7b11-8e3d-7a6b5c4d3e2f",
}
_SUMMARIES = {
    "open": _("Channels are being tried again."),
    "full": _("It arrived on all channels."),
    "partial": _("It arrived on some channels only."),
    "failed": _("It arrived on no channel."),
    "dropped": _("It was cancelled, or too late."),
}

TYPES = [
    EventType(f"notification.{outcome}", summary, NotificationData, _EXAMPLE, _("deliveries"))
    for outcome, summary in _SUMMARIES.items()
]
