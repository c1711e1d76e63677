"""What happens to reminders."""

from __future__ import annotations

from uuid import UUID

from django.utils.translation import gettext_lazy as _
from pydantic import AwareDatetime

from events.types.base import EventType, Schema


class ScheduleData(Schema):
    schedule_id: UUID


class FiredData(ScheduleData):
    slot: AwareDatetime
    correlation_id: UUID
    reason: str


_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
_FIRED = {
    "schedule_id": _ID,
    "slot": "2026-03-29T16:00:00Z",
    "correlation_id": "01890a5f-2c0f-7b11-8e3d-7a6b5c4d3e2f",
    "reason": "",
}

TYPES = [
    EventType("schedule.fired", _("A reminder was due, and was sent."), FiredData, _FIRED, _("the clock")),
    EventType("schedule.broken", _("A reminder cannot be read."), ScheduleData, {"schedule_id": _ID}, _("the clock")),
]
