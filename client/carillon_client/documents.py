"""What the server answers, and takes. Instants are RFC 3339 texts in UTC; see the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

Timing = dict[str, Any]
"""Exactly one timing, such as `{"daily": {"time": "09:00"}}`; `timing.every` reads one from text."""


class ScheduleFields(TypedDict, total=False):
    """What a schedule may be given. To create one, `title`, `timing` and `channels` are needed."""

    title: str
    body: str
    timing: Timing
    time_zone: str | None
    channels: list[str]
    audience: dict[str, Any] | None
    local_time: bool
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
    tags: list[str]
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
    time_zone: str | None
    next_run: str | None
    last_run: str | None
    fired_count: int
    snoozed_until: str | None
    channels: list[str]
    audience: dict[str, str] | None
    local_time: bool
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
    created: str
    updated: str


class QuickDraft(TypedDict):
    title: str
    body: str
    timing: Timing
    time_zone: str
    starts_at: str | None
    ends_at: str | None
    max_count: int | None
    description: str
    next_run: str | None


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


class Channel(TypedDict):
    id: str
    kind: str
    label: str
    summary: str
    fields: dict[str, Any]
    state: Literal["ready", "unverified", "disabled"]
    verified: str | None
    disabled: str | None
    disabled_code: str
    disabled_reason: str
    may_enable: bool
    failing_since: str | None
    on_unknown: str
    give_up_after: int | None
    unreadable: str
    created: str


class NewChannel(Channel):
    """`secret` is told only here."""

    secret: str | None
    code_sent: bool
    detail: str


class NewSecret(TypedDict):
    """`secret` is told only here. Those before it sign too, until `old_until` at the latest."""

    secret: str
    old_until: str


class TestSent(TypedDict):
    notification_id: str
    delivery_id: str


class Reason(TypedDict):
    code: str
    params: dict[str, Any]
    text: str


class Attempt(TypedDict):
    number: int
    replay: int
    started: str
    finished: str | None
    outcome: str
    reason: Reason


class Delivery(TypedDict):
    id: str
    notification_id: str
    channel: str
    channel_label: str
    kind: str
    state: str
    reason: Reason
    cause: str
    tries: int
    replays: int
    available: str
    expires: str | None
    settled: str | None
    attempts: NotRequired[list[Attempt]]


class Notification(TypedDict):
    """Its deliveries have `attempts` where it is read alone."""

    id: str
    batch_id: str
    origin: str
    schedule_id: str | None
    slot: str | None
    title: str
    body: str
    urgent: bool
    category: str
    data: dict[str, Any] | None
    outcome: Literal["open", "full", "partial", "failed", "dropped"]
    acknowledged: str | None
    created: str
    deliveries: list[Delivery]


class Accepted(TypedDict):
    id: str
    batch_id: str
    deliveries: list[str]


class DeadLetterGroup(TypedDict):
    cause: str
    channel: str
    kind: str
    count: int
    first: str
    last: str
    reason: Reason


class Replayed(TypedDict):
    replayed: int
    stale: int


class QueueMessage(TypedDict):
    """`lease_id` names it to `ack`; `attempts` counts from 1."""

    id: str
    body: dict[str, Any]
    timestamp_ms: int
    attempts: int
    lease_id: str


class Settled(TypedDict):
    """`detail` says why nothing was done, and what to do; else it is empty."""

    lease_id: str
    result: Literal["acked", "returned", "dead", "late", "settled", "not-found"]
    detail: str


class Batch(TypedDict):
    id: str
    pending: int
    processing: int
    completed: int
    failed: int
    dropped: int
    total: int
    percent: float
    title: str | None
    audience: dict[str, str] | None
    state: str | None
    size: int | None
    told: int | None
    started: str | None
    ended: str | None


class Effect(TypedDict):
    rule: str
    rule_name: str
    outcome: Literal["notified", "digested", "silent"]
    reason: Reason
    notification_id: str | None


class Event(TypedDict):
    id: str
    type: str
    source: str
    time: str
    correlation_id: str
    hops: int
    data: dict[str, Any]
    topic: str | None
    to: dict[str, str] | None
    audience: int | None
    told: int
    state: str
    reason: Reason
    tries: int
    received: str
    effects: list[Effect]


class TraceTry(TypedDict):
    number: int
    seconds: float
    ended: float | None
    worker: str
    outcome: str
    reason: str


class TraceRow(TypedDict):
    kind: Literal["event", "delivery"]
    id: str
    at: str
    seconds: float
    queue: str
    type: str
    source: str
    consumers: list[str]
    state: str
    reason: str
    tries: list[TraceTry]
    notification_id: str | None
    told: int | None


class Trace(TypedDict):
    correlation_id: str
    rows: list[TraceRow]
    more: bool


class RuleFields(TypedDict, total=False):
    """A condition has a `field`, an `operator`, and a `value` unless the operator is `exists`."""

    name: str
    type_pattern: str
    source: str
    conditions: Sequence[Mapping[str, Any]]
    title: str
    body: str
    channels: Sequence[str]
    in_order: bool
    escalate_after: int | None
    urgent: bool
    throttle_count: int | None
    throttle_seconds: int | None
    digest_seconds: int | None
    digest_at: str | None
    digest_count: int | None
    digest_key: str
    series: str
    series_ends_on: str
    series_key: str


class Rule(TypedDict):
    id: str
    enabled: bool
    version: int
    name: str
    type_pattern: str
    source: str
    conditions: list[dict[str, str]]
    title: str
    body: str
    channels: list[str]
    in_order: bool
    escalate_after: int | None
    urgent: bool
    throttle_count: int | None
    throttle_seconds: int | None
    digest_seconds: int | None
    digest_at: str | None
    digest_count: int | None
    digest_key: str
    series: str
    series_ends_on: str
    series_key: str
    created: str
    updated: str


class RulePreview(TypedDict):
    rings: bool
    fits_type: bool
    fits_source: bool
    conditions: list[dict[str, Any]]
    title: str
    body: str
    missing: list[str]
    lengths: list[dict[str, Any]]


class HolidayFields(TypedDict, total=False):
    """`first` and `last` are needed: dates such as "2090-08-03". Only schedules with one of `tags`; empty: all."""

    first: str
    last: str
    tags: list[str]
    urgent_rings: bool
    note: str


class Holiday(TypedDict):
    id: str
    first: str
    last: str
    tags: list[str]
    urgent_rings: bool
    note: str
    ended_at: str | None


class TopicFields(TypedDict, total=False):
    """What a topic may be given. To create one, `name` is needed."""

    name: str
    description: str
    title: str
    body: str
    is_open: bool


class Topic(TypedDict):
    """`subscribers` are counted up to 1,000; 1,001 means more."""

    id: str
    slug: str
    name: str
    description: str
    title: str
    body: str
    is_open: bool
    subscribers: int
    version: int
    created: str


class TopicEvent(TypedDict):
    """Of an `audience` (None until telling begins), how many have been `told`; of these, who had a channel."""

    id: str
    type: str
    state: str
    audience: int | None
    told: int
    received: str


class AddedAddress(TypedDict):
    id: str
    address: str


class OpenTopic(TypedDict):
    id: str
    name: str
    description: str
    by: str


class Subscription(TypedDict):
    """Without `channels`, its messages go to all that work."""

    id: str
    topic: OpenTopic
    channels: list[str]
    joined: str
