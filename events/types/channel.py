"""What becomes of channels."""

from __future__ import annotations

from uuid import UUID

from django.utils.translation import gettext_lazy as _

from events.types.base import EventType, Schema


class ChannelData(Schema):
    channel_id: UUID
    provider: str
    reason: str


_EXAMPLE = {"channel_id": "01890a5d-ac96-774b-bcce-b302099a8057", "provider": "webhook", "reason": "address-gone"}

TYPES = [
    EventType("channel.disabled", _("Nothing is sent to a channel any more."), ChannelData, _EXAMPLE, _("deliveries"))
]
