"""A schedule in an answer: everything that a body may say, and what Carillon knows of it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from api.protocol.answers import fields_of
from api.protocol.fields import Instant, example
from api.resources.schedules import job, timing
from api.resources.schedules.job import JobBody
from api.resources.schedules.timing import Timing
from common.times.civil_time import local
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
    "timing": {"weekly": {"time": "18:00", "days": [6]}},
    "description": "Every Sunday at 18:00, Berlin time",
    "time_zone": "Europe/Berlin",
    "next_run": "2026-03-29T16:00:00Z",
    "channels": ["01890a5d-ac96-774b-bcce-b302099a8057"],
    "misfire": "latest",
    "grace": 60,
    "category": "plants",
    "tags": ["home"],
    "data": {"room": "kitchen"},
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

    model_config = example(_EXAMPLE)

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
    checks: str = Field(description="The question of `job` in words.")
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


def document(schedule: Schedule, channels: Sequence[UUID] | None = None, *, in_words: bool = True) -> dict[str, Any]:
    """`channels` are the ids of its channels, in order (None: read here). Words take as long as all else of it."""
    if channels is None:
        channels = [channel.id for channel in schedule.ordered_channels()]
    return fields_of(
        ScheduleDocument,
        schedule,
        type="reminder",
        active=schedule.state == Schedule.State.ACTIVE,
        schedule_type=schedule.kind,
        description=schedule.when if in_words else "",
        time_zone=None if schedule.local_time else schedule.time_zone,
        next_run=schedule.next_fire_at,
        last_run=schedule.last_fired_at,
        channels=[str(channel) for channel in channels],
        job=job.document(schedule),
        audience={"kind": schedule.audience, "key": schedule.audience_key} if schedule.audience else None,
        in_order=bool(schedule.channel_order),
        excluded=[day.isoformat() for day in schedule.excluded],
        created=schedule.created_at,
        updated=schedule.updated_at,
        **_timing(schedule),
    )


def _timing(schedule: Schedule) -> dict[str, Any]:
    """The fields that need a readable rule."""
    try:
        rule = schedule.timetable().rule
    except InvalidRule:
        return {"timing": None, "cron_expression": None, "starts_at": None, "ends_at": None}

    def civil(moment: datetime | None) -> str | None:
        return None if moment is None else local(rule.zone, moment).isoformat()

    return {
        "timing": timing.document(rule),
        "cron_expression": getattr(rule, "expression", None),
        "starts_at": civil(schedule.starts_at),
        "ends_at": civil(schedule.ends_at),
    }
