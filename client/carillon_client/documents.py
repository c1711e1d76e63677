"""Documents that the server returns and takes. Instants are RFC 3339 texts in UTC. Written by `script/client_types`."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

# Long lists of values fill their lines.
# fmt: off

Timing = Mapping[str, Any]
"""Exactly one timing, such as `{"daily": {"time": "09:00"}}`; `timing.every` reads one from text."""


ChangePattern = Literal["channel.*", "channel.added", "channel.disabled", "channel.enabled", "channel.removed",
    "channel.verified", "delivery.*", "delivery.cancelled", "delivery.dead", "delivery.delivered", "delivery.expired",
    "delivery.unknown", "notification.*", "notification.dropped", "notification.failed", "notification.full",
    "notification.open", "notification.partial", "schedule.*", "schedule.archived", "schedule.broken",
    "schedule.created", "schedule.deleted", "schedule.done", "schedule.edited", "schedule.finished", "schedule.fired",
    "schedule.paused", "schedule.reclocked", "schedule.restored", "schedule.resumed", "schedule.skipped",
    "schedule.snoozed", "schedule.unarchived", "schedule.undone", "schedule.unskipped"]


class NotificationBase(TypedDict):
    id: str
    batch_id: str
    origin: Literal["schedule", "test", "code", "notice", "api", "event", "topic", "announcement", "team", "status"]
    schedule_id: str | None
    slot_at: str | None
    early: int | None
    title: str
    body: str
    urgent: bool
    category: str
    data: Any
    outcome: Literal["open", "full", "partial", "failed", "dropped"]
    acknowledged_at: str | None
    acknowledged_by: str
    snooze_ends_at: str | None
    nag_at: str | None
    nagged: int
    nag_of_id: str | None
    created_at: str


class ScheduleFields(TypedDict, total=False):
    title: str
    body: str
    timing: Timing
    time_zone: str | None
    channel_ids: Sequence[str]
    job: Mapping[str, Any] | None
    audience: Mapping[str, Any] | None
    local_time: bool
    in_order: bool
    escalate_after: int | None
    nag_every: int | None
    nag_times: int | None
    nag_channel_ids: Sequence[str]
    early: Sequence[int]
    urgent: bool
    starts_at: str | None
    ends_at: str | None
    excluded: Sequence[str]
    max_count: int | None
    after_done: bool
    misfire: Literal["latest", "all", "skip"]
    grace: int
    spread: int
    stale_after: int | None
    category: str
    tags: Sequence[str]
    data: dict[str, Any] | None


class JobFields(TypedDict, total=False):
    """`GET /job-kinds` lists the kinds, and the fields of the `payload` of each."""

    kind: str
    payload: dict[str, Any]
    connection_id: str | None
    on_error: Literal["daily", "after", "send"]
    errors_allowed: int


class Audience(TypedDict):
    """The people to notify."""

    kind: Literal["everybody", "group", "topic", "connected"]
    key: str


class Schedule(TypedDict):
    """Civil times (`starts_at`, `ends_at`, those in `timing`) are in `time_zone`, all others are instants."""

    id: str
    title: str
    body: str
    timing: Timing | None
    time_zone: str | None
    channel_ids: list[str]
    job: JobFields | None
    audience: Audience | None
    local_time: bool
    in_order: bool
    escalate_after: int | None
    nag_every: int | None
    nag_times: int | None
    nag_channel_ids: list[str]
    early: list[int]
    urgent: bool
    starts_at: str | None
    ends_at: str | None
    excluded: list[str]
    max_count: int | None
    after_done: bool
    misfire: Literal["latest", "all", "skip"]
    grace: int
    spread: int
    stale_after: int | None
    category: str
    tags: list[str]
    data: dict[str, Any] | None
    type: Literal["reminder"]
    state: Literal["active", "paused", "finished", "broken", "archived", "awaiting"]
    active: bool
    version: int
    schedule_type: Literal["once", "interval", "daily", "weekly", "monthly", "cron", "rrule"]
    cron_expression: str | None
    description: str
    next_run_at: str | None
    last_run_at: str | None
    fired_count: int
    snooze_ends_at: str | None
    checks: str
    error: str
    created_at: str
    updated_at: str


class QuickDraft(TypedDict):
    """A body of “Create a schedule”, without channels."""

    title: str
    body: str
    timing: Timing
    time_zone: str
    starts_at: str | None
    ends_at: str | None
    max_count: int | None
    after_done: bool
    early: list[int]
    description: str
    next_run_at: str | None


class Reason(TypedDict):
    """All are empty where nothing needs a reason."""

    code: str
    params: dict[str, Any]
    text: str


class NotTaken(TypedDict):
    """Items that a check did not take, by cause."""

    cause: str
    count: int
    example: str


class Check(TypedDict):
    """One check."""

    kind: str
    outcome: Literal["waiting", "spread", "checking", "retrying", "spoke", "silent", "failed", "dropped"]
    reason: Reason
    due_at: str | None
    notification_id: str | None
    not_taken: list[NotTaken]
    silent_started_at: str | None
    answered_at: str | None


class Occurrence(TypedDict):
    """The record of one slot."""

    id: str
    batch_id: str
    slot_at: str
    outcome: Literal["fired", "skipped"]
    reason: Reason
    version: int
    recorded_at: str
    check: Check | None


class Cause(TypedDict):
    code: Literal["paused", "snoozed", "deleted", "excluded", "no-beat", "catching-up", "unknown", "archived", "late",
        "misfire", "no-channel", "broken", "holiday", "asked", "manual"]
    text: str
    started_at: str | None
    ended_at: str | None
    by: str


class Slot(TypedDict):
    slot_at: str
    outcome: Literal["coming", "fired", "skipped"]
    causes: list[Cause]
    late_seconds: float | None
    note: str
    batch_id: str | None
    notification_id: str | None
    notification_outcome: Literal["open", "full", "partial", "failed", "dropped"] | None
    check: Check | None


class Run(TypedDict):
    slot_at: str
    note: str


class Length(TypedDict):
    """The length of the text on a channel."""

    channel_id: str
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
    people: int | None


class HolidayFields(TypedDict, total=False):
    first: str
    last: str
    tags: Sequence[str]
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


class Usage(TypedDict):
    """Of the events of this UTC day, with what their messages store, and of this minute. A limit of 0 is none."""

    events: int
    most_events: int
    bytes: int
    most_bytes: int
    this_minute: int
    most_a_minute: int


class Token(TypedDict):
    id: str
    label: str
    prefix: str
    scopes: list[Literal["read", "schedules", "channels", "connections", "notifications", "queues", "locks", "counters",
        "events", "settings", "tokens", "make-tokens"]]
    made_by_id: str | None
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    calls: int


class Account(TypedDict):
    """`quiet_from` and `quiet_until` are times of day in `effective_time_zone`."""

    id: int
    email: str
    name: str
    time_zone: str | None
    effective_time_zone: str
    quiet_from: str | None
    quiet_until: str | None
    weekly_hours: dict[str, list[str]]
    public_holidays: str
    usage: Usage
    token: Token


class Channel(TypedDict):
    id: str
    kind: str
    label: str
    summary: str
    fields: dict[str, Any]
    state: Literal["ready", "unverified", "disabled"]
    verified_at: str | None
    disabled_at: str | None
    disabled_reason: Reason
    may_enable: bool
    failing_started_at: str | None
    use_for_new: bool
    on_unknown: Literal["", "retry", "hold"]
    give_up_after: int | None
    unreadable: str
    created_at: str


class NewChannel(Channel):
    secret: str | None
    code_sent: bool
    detail: str


class NewSecret(TypedDict):
    secret: str
    old_expires_at: str


class TestSent(TypedDict):
    notification_id: str
    delivery_id: str


class Delivery(TypedDict):
    id: str
    notification_id: str
    channel_id: str
    channel_label: str
    kind: str
    state: Literal["pending", "sending", "delivered", "dead", "unknown", "cancelled", "expired"]
    reason: Reason
    cause: str
    tries: int
    replays: int
    available_at: str
    expires_at: str | None
    settled_at: str | None


class Notification(NotificationBase):
    deliveries: list[Delivery]


class Attempt(TypedDict):
    """One try."""

    number: int
    replay: int
    started_at: str
    ended_at: str | None
    outcome: Literal["", "delivered", "retryable", "rejected", "ambiguous", "lost", "released"]
    reason: Reason


class DeliveryWithAttempts(Delivery):
    attempts: list[Attempt]


class NotificationWithAttempts(NotificationBase):
    deliveries: list[DeliveryWithAttempts]


class Accepted(TypedDict):
    id: str
    batch_id: str
    delivery_ids: list[str]


class DeadLetterGroup(TypedDict):
    """The dead letters of one cause on one channel; `reason` is the newest one's."""

    cause: str
    channel_id: str
    kind: str
    count: int
    first_at: str
    last_at: str
    reason: Reason


class Replayed(TypedDict):
    replayed: int
    stale: int


class QueueMessage(TypedDict):
    id: str
    body: dict[str, Any]
    recorded_at: str
    attempts: int
    lease_id: str
    correlation_id: str
    hops: int


class Settled(TypedDict):
    lease_id: str
    result: Literal["acked", "returned", "dead", "late", "settled", "not-found"]
    detail: str


class SentMessage(TypedDict):
    """A message that was sent."""

    id: str
    new: bool


class Batch(TypedDict):
    """Counts deliveries; of an audience's jobs, the jobs, each with its message.

    The fields from `title` on are of batches for an audience, null for others. People who are not told yet are
    `pending`. Of a topic whose owner is not staff, people are counted instead of deliveries."""

    id: str
    pending: int
    processing: int
    completed: int
    failed: int
    dropped: int
    total: int
    percent: float
    title: str | None
    audience: Audience | None
    state: Literal["pending", "telling", "told", "dead", "unknown", "cancelled", "expired"] | None
    size: int | None
    told: int | None
    started_at: str | None
    ended_at: str | None


class Digest(TypedDict):
    """The digest in which a rule sends the event together with others; `reason` says why, where it was cancelled."""

    state: Literal["pending", "sending", "sent", "dead", "unknown", "cancelled", "expired"]
    due_at: str
    count: int
    reason: Reason


class Effect(TypedDict):
    """The effect of a rule on it; `reason` says why, where it stayed silent."""

    rule_id: str
    rule_name: str
    outcome: Literal["notified", "digested", "silent"]
    reason: Reason
    notification_id: str | None
    digest: Digest | None


class Event(TypedDict):
    id: str
    type: str
    source: str
    occurred_at: str
    correlation_id: str
    hops: int
    data: dict[str, Any]
    topic: str | None
    to: Audience | None
    audience: int | None
    told: int
    state: Literal["pending", "handling", "handled", "dead", "unknown", "cancelled", "expired"]
    reason: Reason
    tries: int
    received_at: str
    effects: list[Effect]


class TraceTry(TypedDict):
    """One attempt."""

    number: int
    seconds: float
    ended: float | None
    worker: str
    outcome: Literal["", "handled", "retryable", "rejected", "ambiguous", "lost", "released", "decided", "told", "done",
        "delivered"]
    reason: Reason


class TraceRow(TypedDict):
    """An event, a job, a batch, a run of a flow, a step of one or a delivery."""

    kind: Literal["event", "run", "job", "batch", "step", "delivery"]
    id: str
    recorded_at: str
    seconds: float
    queue: str
    type: str
    source: str
    consumers: list[str]
    key: str
    state: Literal["open", "waiting", "finished", "stopped", "pending", "handling", "handled", "dead", "unknown",
        "cancelled", "expired", "checking", "decided", "telling", "told", "working", "done", "sending", "delivered"]
    reason: Reason
    tries: list[TraceTry]
    notification_id: str | None
    told: int | None


class Trace(TypedDict):
    correlation_id: str
    items: list[TraceRow]
    more: bool


class RuleFields(TypedDict, total=False):
    name: str
    type_pattern: str
    source: str
    conditions: Sequence[Mapping[str, Any]]
    title: str
    body: str
    channel_ids: Sequence[str]
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


class Condition(TypedDict):
    field: str
    operator: Literal["equals", "differs", "above", "below", "contains", "exists"]
    value: str | int | float | bool | None


class Rule(TypedDict):
    """`digest_at` is a time of day in your time zone."""

    id: str
    name: str
    type_pattern: str
    source: str
    conditions: list[Condition]
    title: str
    body: str
    channel_ids: list[str]
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
    enabled: bool
    version: int
    created_at: str
    updated_at: str


class FlowRun(TypedDict):
    """The state of one entity in a flow. An incident is a run of the flow `incident`."""

    id: str
    flow: str
    key: str
    title: str
    state: Literal["open", "waiting", "finished", "stopped"]
    phase: Literal["open", "acknowledged", "resolved"] | None
    reason: Reason
    waits_for: str
    wait_ends_at: str | None
    event_count: int
    step_count: int
    correlation_id: str
    created_at: str
    updated_at: str
    ended_at: str | None


class FlowStep(TypedDict):
    """A durable part of a run's work."""

    id: str
    name: str
    key: str
    state: Literal["pending", "working", "done", "dead", "unknown", "cancelled", "expired"]
    on_hold: bool
    reason: Reason
    tries: int
    replays: int
    created_at: str
    settled_at: str | None


class FlowRunEvent(TypedDict):
    """An event of the run, and what the flow made of it."""

    id: str
    type: str
    outcome: Literal["applied", "ignored", "stopped"]
    reason: Reason
    handled_at: str


class FlowRunWithSteps(FlowRun):
    data: Any
    steps: list[FlowStep]
    events: list[FlowRunEvent]
    notification_ids: list[str]


class BulkResult(TypedDict):
    changed_ids: list[str]
    left_out: dict[str, int]
    unknown_ids: list[str]


class CheckNow(TypedDict):
    id: str
    outcome: Literal["checking", "spoke", "silent", "failed"]
    reason: Reason
    title: str | None
    body: str | None
    not_taken: list[NotTaken]
    silent_started_at: str | None
    answered_at: str | None


class JobKindField(TypedDict):
    """A field of a payload."""

    name: str
    label: str
    help: str
    type: Literal["boolean", "choices", "choice", "number", "json", "text"]
    required: bool
    default: Any
    choices: list[str] | None


class JobKind(TypedDict):
    """A kind of job."""

    name: str
    label: str
    about: str
    queue: str
    connection: str
    needs_connection: bool
    speaks: bool
    placeholders: dict[str, str]
    title: str
    body: str
    fields: list[JobKindField]


class Explanation(TypedDict):
    """The next slots, and those that passed, newest first."""

    coming: list[Slot]
    items: list[Slot]
    next: str | None


class Change(TypedDict):
    """`data` holds ids and codes: read what they name for the rest. Two changes may have the same time."""

    id: str
    type: Literal["delivery.delivered", "delivery.dead", "delivery.unknown", "delivery.cancelled", "delivery.expired",
        "notification.open", "notification.full", "notification.partial", "notification.failed", "notification.dropped",
        "schedule.created", "schedule.edited", "schedule.paused", "schedule.resumed", "schedule.snoozed",
        "schedule.unskipped", "schedule.deleted", "schedule.restored", "schedule.reclocked", "schedule.archived",
        "schedule.unarchived", "schedule.done", "schedule.undone", "schedule.fired", "schedule.skipped",
        "schedule.finished", "schedule.broken", "channel.added", "channel.verified", "channel.disabled",
        "channel.enabled", "channel.removed"]
    occurred_at: str
    data: dict[str, Any]


class ChangePage(TypedDict):
    """A page of the feed. Ask again with `next`."""

    items: list[Change]
    next: str
    more: bool


class SourceConnection(TypedDict):
    id: str
    kind: str
    label: str
    summary: str
    fields: dict[str, Any]
    state: Literal["working", "failing", "disabled", "unchecked"]
    working_started_at: str | None
    failing_started_at: str | None
    failing_reason: Reason
    unreadable: str
    created_at: str


class Field(TypedDict):
    """A field of `fields` in a body."""

    name: str
    label: str
    help: str
    required: bool
    max_length: int | None
    choices: list[str] | None


class ConnectionKind(TypedDict):
    kind: str
    label: str
    about: str
    fields: list[Field]


class InboundFields(TypedDict, total=False):
    label: str
    scheme: Literal["none", "github", "stripe", "standard", "hmac"]
    secret: str
    signature: Any
    event: Any
    enabled: bool


class InboundAddress(TypedDict):
    """Without its secrets."""

    id: str
    label: str
    scheme: Literal["none", "github", "stripe", "standard", "hmac"]
    signature: dict[str, str]
    event: dict[str, str]
    enabled: bool
    needs_secret: bool
    created_at: str


class NewInboundAddress(InboundAddress):
    url: str


class InboundRequest(TypedDict):
    """One of the last requests, as it came."""

    id: str
    received_at: str
    status: int
    reason: Reason
    headers: dict[str, str]
    body: str
    event_ids: list[str]


class StatusWebhookFields(TypedDict, total=False):
    url: str
    types: Sequence[ChangePattern]
    label: str
    secret: str
    headers: dict[str, str]
    everybody: bool


class StatusWebhook(TypedDict):
    id: str
    label: str
    address: str
    types: list[ChangePattern]
    everybody: bool
    state: Literal["unverified", "enabled", "disabled"]
    disabled_reason: Reason
    failing_started_at: str | None
    created_at: str


class NewStatusWebhook(StatusWebhook):
    secret: str


class InboxMessage(TypedDict):
    id: str
    notification_id: str
    origin: Literal["schedule", "test", "code", "notice", "api", "event", "topic", "announcement", "team", "status"]
    title: str
    body: str
    urgent: bool
    category: str
    answerable: bool
    arrived_at: str
    read_at: str | None
    archived_at: str | None
    acknowledged_at: str | None
    snooze_ends_at: str | None


class AudienceOption(Audience):
    """One of the values that `audience` of a schedule may have."""

    label: str
    name: str


class NewToken(Token):
    token: str


class Settings(TypedDict):
    """`quiet_from` and `quiet_until` are times of day in `time_zone`, both or neither."""

    name: str
    language: Literal["", "en-gb", "de", "es"]
    time_zone: str
    quiet_from: str | None
    quiet_until: str | None
    weekly_hours: dict[str, list[str]]
    public_holidays: str


class SettingsFields(TypedDict, total=False):
    name: str
    language: Literal["", "en-gb", "de", "es"]
    time_zone: str
    quiet_from: str | None
    quiet_until: str | None
    weekly_hours: dict[str, Sequence[str]]
    public_holidays: str


class CheckedCondition(Condition):
    """`reason` says why it does not hold."""

    holds: bool
    reason: Reason


class RulePreview(TypedDict):
    """Its limit and digest aside."""

    rings: bool
    fits_type: bool
    fits_source: bool
    conditions: list[CheckedCondition]
    title: str
    body: str
    missing: list[str]
    lengths: list[Length]


class TopicFields(TypedDict, total=False):
    """Fields that are not given stay as they are."""

    name: str
    description: str
    title: str
    body: str
    is_open: bool


class Topic(TypedDict):
    id: str
    name: str
    slug: str
    description: str
    title: str
    body: str
    is_open: bool
    subscribers: int
    version: int
    created_at: str


class TopicEvent(TypedDict):
    """The progress of an event of the topic."""

    id: str
    type: str
    state: Literal["pending", "handling", "handled", "dead", "unknown", "cancelled", "expired"]
    audience: int | None
    told: int
    received_at: str


class AddedAddress(TypedDict):
    """An address that you have added. Whether an account has it, and whether that has left, is not shown."""

    id: str
    address: str


class OpenTopic(TypedDict):
    """A topic to which you may subscribe."""

    id: str
    name: str
    description: str
    by: str


class Subscription(TypedDict):
    id: str
    topic: OpenTopic
    channel_ids: list[str]
    joined_at: str


class Lock(TypedDict):
    name: str
    holder: str
    fence: int
    acquired_at: str
    expires_at: str


class Acquired(TypedDict):
    acquired: bool
    token: str | None
    fence: int | None
    ttl: int | None
    wait_ms: int | None
    holder: str | None


class Renewed(TypedDict):
    fence: int
    ttl: int


class Counter(TypedDict):
    name: str
    value: int


class BoardMessage(TypedDict):
    id: int
    text: str
    author: str
    notification_id: str | None
    acknowledged_at: str | None
    acknowledged_by: str
    created_at: str


class Total(TypedDict):
    """Work of one kind and provider that ended, or pings or calls that came, in a minute, on a day, or ever."""

    began_at: str
    kind: str
    handler: str
    tries: int
    done: int
    dead: int


class Team(TypedDict):
    id: int
    name: str
    role: Literal["owner", "member", "viewer"]


class TeamMember(TypedDict):
    id: str
    name: str
    role: Literal["owner", "member", "viewer"]
    call_place: int | None
    call_from: str | None
    call_until: str | None


class CallShift(TypedDict):
    begins_at: str
    ends_at: str
    member_id: str | None
    name: str


class Override(TypedDict):
    id: str
    member_id: str
    begins_at: str
    ends_at: str


class TeamDetail(Team):
    """`on_call` begins with who is on call now, then the next ones, for two weeks; empty without an order."""

    time_zone: str
    members: list[TeamMember]
    on_call: list[CallShift]
    overrides: list[Override]


class OverrideFields(TypedDict, total=False):
    member_id: str
    begins_at: str
    ends_at: str


class EventTypeFields(TypedDict, total=False):
    """Fields that are not given stay as they are."""

    summary: str
    data_schema: dict[str, Any]
    on_misfit: Literal["refuse", "warn"]
    emitted_by: str
    handled_by: str


class EventType(TypedDict):
    id: str
    name: str
    summary: str
    data_schema: dict[str, Any]
    on_misfit: Literal["refuse", "warn"]
    emitted_by: str
    handled_by: str
    is_for_everybody: bool
    version: int
    created_at: str


class TypeRoute(TypedDict):
    """To a rule and one of its channels, or to a flow. Fields that are null do not apply."""

    rule_id: str | None
    rule_name: str | None
    flow: str | None
    channel_id: str | None
    channel_label: str | None
    kind: str | None
    waiting: int
    oldest_at: str | None
    dead: int
    pulled_by: str | None


class TypeRoutes(TypedDict):
    """The rules, flows and queues that get the events of a type."""

    name: str
    event_type_id: str | None
    came: bool
    dead: int
    routes: list[TypeRoute]


class WatchFields(TypedDict, total=False):
    name: str
    description: str
    tags: Sequence[str]
    period: int | None
    timing: Timing | None
    time_zone: str | None
    starts_at: str | None
    ends_at: str | None
    excluded: Sequence[str]
    grace: int
    longest_run: int | None
    slug: str
    lock: str
    success_words: Sequence[str]
    failure_words: Sequence[str]
    ignore_words: Sequence[str]
    channel_ids: Sequence[str]
    in_order: bool
    escalate_after: int | None
    nag_every: int | None
    nag_times: int | None
    nag_channel_ids: Sequence[str]
    urgent: bool
    opens_incident: bool


class Watch(TypedDict):
    """`period`, `grace` and `longest_run` are in seconds."""

    id: str
    name: str
    description: str
    tags: list[str]
    period: int | None
    timing: Timing | None
    time_zone: str
    starts_at: str | None
    ends_at: str | None
    excluded: list[str]
    grace: int
    longest_run: int | None
    slug: str
    lock: str
    success_words: list[str]
    failure_words: list[str]
    ignore_words: list[str]
    channel_ids: list[str]
    in_order: bool
    escalate_after: int | None
    nag_every: int | None
    nag_times: int | None
    nag_channel_ids: list[str]
    urgent: bool
    opens_incident: bool
    state: Literal["new", "up", "down", "paused"]
    version: int
    ping_url: str
    slug_url: str
    stays_paused: bool
    expected: str
    expected_at: str | None
    deadline_at: str | None
    state_started_at: str
    last_ping_at: str | None
    ping_count: int
    created_at: str
    updated_at: str


class Ping(TypedDict):
    """One of the last 100 pings."""

    number: int
    kind: Literal["success", "start", "fail", "log"]
    pinged_at: str
    rid: str
    exit_code: int | None
    seconds: float | None
    output: str
    size: int
