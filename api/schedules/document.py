"""A schedule in an answer: everything that a body may say, and what Carillon knows of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from api.fields import Instant, written
from api.schedules import job, timing
from api.schedules.job import JobBody
from api.schedules.timing import Timing
from common.civil_time import local
from schedules.models import Schedule
from schedules.rules import InvalidRule

_EXAMPLE: Any = {
    "id": "01890a5b-1f0e-7d52-b8f4-2a6d0c9e7b13",
    "type": "reminder",
    "state": "active",
    "active": True,
    "version": 1,
    "title": "Water the plants",
    "body": "The ferns too, {name}.",
    "schedule_type": "weekly",
    "cron_expression": None,
    "timing": {"weekly": {"time": "18:00", "days": [6]}},
    "description": "Every Sunday at 18:00, Berlin time",
    "time_zone": "Europe/Berlin",
    "next_run": "2026-03-29T16:00:00Z",
    "last_run": None,
    "fired_count": 0,
    "snoozed_until": None,
    "channels": ["01890a5d-ac96-774b-bcce-b302099a8057"],
    "job": None,
    "looks_at": "",
    "audience": None,
    "local_time": False,
    "in_order": False,
    "escalate_after": None,
    "urgent": False,
    "starts_at": None,
    "ends_at": None,
    "excluded": [],
    "max_count": None,
    "misfire": "latest",
    "grace": 60,
    "spread": 0,
    "stale_after": None,
    "category": "plants",
    "tags": ["home"],
    "data": {"room": "kitchen"},
    "error": "",
    "created": "2026-03-28T09:00:00Z",
    "updated": "2026-03-28T09:00:00Z",
}


class AudienceDocument(BaseModel):
    """`kind` is everybody, group, topic or connected; `key` says which group, topic or kind of connection."""

    kind: str
    key: str


class ScheduleDocument(BaseModel):
    """Civil times (`starts_at`, `ends_at`, those in `timing`) are in `time_zone`, all others are instants.

    `timing` is one of our own kinds; null if it cannot be read any more (`state` is then broken, `error` says why).
    """

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: UUID
    type: Literal["reminder"]
    state: Literal["active", "paused", "finished", "broken", "archived"]
    active: bool
    version: int = Field(description="As in `ETag`.")
    title: str
    body: str
    schedule_type: str = Field(description="The kind in `timing`.")
    cron_expression: str | None
    timing: Timing | None
    description: str = Field(description="The timing in words.")
    time_zone: str | None
    next_run: Instant | None
    last_run: Instant | None
    fired_count: int
    snoozed_until: Instant | None
    channels: list[UUID]
    job: JobBody | None
    looks_at: str = Field(description="The question of `job` in words.")
    audience: AudienceDocument | None = Field(description="Who is told; null: you.")
    local_time: bool = Field(
        description="At this time on each reader's clock: `time_zone` is null, and `next_run` is when the first clock "
        "on Earth shows it."
    )
    in_order: bool
    escalate_after: int | None
    urgent: bool
    starts_at: str | None
    ends_at: str | None
    excluded: list[str]
    max_count: int | None
    misfire: str
    grace: int
    spread: int
    stale_after: int | None
    category: str
    tags: list[str]
    data: dict[str, Any] | None
    error: str
    created: Instant
    updated: Instant


def document(schedule: Schedule, channels: Sequence[UUID] | None = None) -> dict[str, Any]:
    """`channels` are the ids of its channels, in order (None: read here)."""
    if channels is None:
        channels = [channel.id for channel in schedule.ordered_channels()]
    return kept(schedule, channels) | {
        "type": "reminder",
        "active": schedule.state == Schedule.State.ACTIVE,
        "version": schedule.version,
        "description": schedule.when,
        "next_run": written(schedule.next_fire_at),
        "last_run": written(schedule.last_fired_at),
        "looks_at": schedule.looks_at,
        "error": schedule.error,
        "created": written(schedule.created_at),
        "updated": written(schedule.updated_at),
    }


def kept(schedule: Schedule, channels: Sequence[UUID]) -> dict[str, Any]:
    """What an export keeps of it, at half the cost: writing its timing in words takes as long as all of this."""
    return {
        "id": str(schedule.id),
        "state": schedule.state,
        "title": schedule.title,
        "body": schedule.body,
        "schedule_type": schedule.kind,
        "time_zone": None if schedule.local_time else schedule.time_zone,
        "fired_count": schedule.fired_count,
        "snoozed_until": written(schedule.snoozed_until),
        "channels": [str(channel) for channel in channels],
        "job": job.document(schedule),
        "audience": {"kind": schedule.audience, "key": schedule.audience_key} if schedule.audience else None,
        "local_time": schedule.local_time,
        "in_order": bool(schedule.channel_order),
        "escalate_after": schedule.escalate_after,
        "urgent": schedule.urgent,
        "excluded": [day.isoformat() for day in schedule.excluded],
        "max_count": schedule.max_count,
        "misfire": schedule.misfire,
        "grace": schedule.grace,
        "spread": schedule.spread,
        "stale_after": schedule.stale_after,
        "category": schedule.category,
        "tags": schedule.tags,
        "data": schedule.data,
    } | _timing(schedule)


def _timing(schedule: Schedule) -> dict[str, Any]:
    """The fields that need a readable rule."""
    try:
        rule = schedule.timetable().rule
    except InvalidRule:
        return {"timing": None, "cron_expression": None, "starts_at": None, "ends_at": None}
    moments = {
        name: None if moment is None else local(rule.zone, moment).isoformat()
        for name, moment in (
            ("starts_at", schedule.starts_at),
            ("ends_at", schedule.ends_at),
            ("anchor", getattr(rule, "anchor", None)),
        )
    }
    anchor = moments.pop("anchor")
    data = rule.data()
    return moments | {
        "timing": timing.document(rule.kind, data, anchor),
        "cron_expression": data.get("expression"),
    }
