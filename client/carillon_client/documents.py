"""What the server answers, and takes. Instants are RFC 3339 texts in UTC; see the OpenAPI document."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

Timing = dict[str, Any]
"""Exactly one timing, such as `{"daily": {"time": "09:00"}}`; `timing.every` reads one from text."""


class ScheduleFields(TypedDict, total=False):
    """What a schedule may be given. To create one, `title`, `timing` and `channels` are needed."""

    title: str
    body: str
    timing: Timing
    time_zone: str | None
    channels: list[str]
    in_order: bool
    escalate_after: int | None
    urgent: bool
    starts_at: str | None
    ends_at: str | None
    excluded: list[str]
    max_count: int | None
    misfire: Literal["latest", "all", "skip"]
    grace: int
    spread: int
    stale_after: int | None
    category: str
    data: dict[str, Any] | None


class Schedule(TypedDict):
    id: str
    type: str
    state: Literal["active", "paused", "finished", "broken"]
    active: bool
    version: int
    title: str
    body: str
    schedule_type: str
    cron_expression: str | None
    timing: Timing | None
    description: str
    time_zone: str
    next_run: str | None
    last_run: str | None
    fired_count: int
    snoozed_until: str | None
    channels: list[str]
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
    data: dict[str, Any] | None
    error: str
    created: str
    updated: str


class Occurrence(TypedDict):
    id: str
    slot: str
    outcome: Literal["fired", "skipped"]
    reason: str
    version: int
    recorded: str


class Cause(TypedDict):
    code: str
    text: str
    since: str | None
    until: str | None
    by: str


class Slot(TypedDict):
    slot: str
    outcome: Literal["coming", "fired", "skipped"]
    causes: list[Cause]
    late_seconds: float | None
    note: str
    batch_id: str | None
    notification_id: str | None
    notification_outcome: str | None


class Run(TypedDict):
    slot: str
    note: str


class Length(TypedDict):
    channel: str
    length: int
    limit: int | None
    unit: str
    cut: bool


class Preview(TypedDict):
    description: str
    runs: list[Run]
    title: str
    body: str
    lengths: list[Length]


class Token(TypedDict):
    id: str
    label: str
    prefix: str
    scopes: list[str]
    created: str
    expires: str | None
    last_used: str | None


class Account(TypedDict):
    id: int
    email: str
    name: str
    time_zone: str
    quiet_from: str | None
    quiet_until: str | None
    token: Token
