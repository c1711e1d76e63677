"""A schedule in bodies and answers: shaped here, checked by the form that the pages use."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from api.protocol.answers import fields_of, of
from api.protocol.fields import (
    Body,
    Chosen,
    Data,
    FormBody,
    Instant,
    Minutes,
    Partial,
    Replacement,
    Texts,
    limited,
    one_of,
    shows,
)
from api.protocol.problems import FieldError, Problem, invalid, require_valid
from api.resources.schedules import job, timing
from api.resources.schedules.job import JobBody
from api.resources.schedules.timing import Timing, TimingDocument, Typed
from jobs import kinds
from jobs.batches import audiences
from notifications.inputs.channels_form import form_values
from notifications.models import Channel
from people.models import User
from schedules.inputs import audience_form
from schedules.inputs.reminder_form import PLAIN, ReminderForm
from schedules.models import Schedule
from schedules.rules import KINDS


class AudienceDocument(BaseModel):
    """The people to notify."""

    kind: Literal["everybody", "group", "topic", "connected"]
    key: str


def audience_of(row: Any) -> dict[str, str] | None:
    return {"kind": row.audience, "key": row.audience_key} if row.audience else None


def document(schedule: Schedule, channels: Sequence[UUID] | None = None) -> dict[str, Any]:
    """`channels` are the ids of its channels, in order (None: read here)."""
    if channels is None:
        channels = [channel.id for channel in schedule.ordered_channels()]
    rule = timing.readable(schedule)
    return fields_of(
        ScheduleDocument,
        schedule,
        description=schedule.when,
        channel_ids=[*channels],
        job=job.document(schedule),
        in_order=bool(schedule.channel_order),
        cron_expression=getattr(rule, "expression", None),
        **timing.fields(rule, schedule),
    )


def may_not_announce() -> Problem:
    detail = "Announcements to other people need staff with the permission to add batches."
    return Problem(403, "announcement", "You may not do this.", detail)


class AudienceBody(Body):
    """For staff with the permission to add batches."""

    kind: str = Field(description="everybody, group, topic or connected.", min_length=1, max_length=20)
    key: str = Field("", description="Id of the group or topic, or the kind of connection.", max_length=64)
    confirmed: bool = Field(False, description="Needed once, for more than 100 people. It is not stored.")


class ScheduleBody(FormBody):
    model_config = limited(ReminderForm)

    title: str = Field(description="Placeholders as in `body`.", json_schema_extra={"minLength": 1})
    body: str = Field("", description="Placeholders: {name}, {schedule}, {slot}, {date} and {time}.")
    timing: Timing
    time_zone: str | None = Field(None, description="An IANA name; without one, your own, or UTC if you have none.")
    channel_ids: Texts = Field(
        description="Ids of at most 20 of your channels. Empty only with an audience, or for a job that never speaks."
    )
    job: JobBody | None = Field(None, description="The check before it sends; without one, it always sends.")
    audience: AudienceBody | None = Field(None, description="Tell these people instead of you. For staff.")
    local_time: bool = Field(False, description="With an audience: at this time on each reader's clock, in any zone.")
    in_order: bool = False
    escalate_after: int | None = None
    nag_every: int | None = None
    nag_times: int | None = None
    nag_channel_ids: Texts = []
    early: Minutes = []
    urgent: bool = False
    starts_at: str | None = None
    ends_at: str | None = None
    excluded: Texts = Field([], description="Dates on which nothing fires.", examples=[["2026-12-25"]])
    max_count: int | None = None
    after_done: bool = False
    misfire: Chosen = Field("latest", description="If it was missed, send the `latest`, `all`, or none (`skip`).")
    grace: int = Field(60, description="Seconds of delay that do not count as missed.")
    spread: int = Field(0, description="Maximum delay in seconds, so that not everything is sent at once.")
    stale_after: int | None = Field(None, description="Seconds after which it is not sent any more.")
    category: str = Field("", description="A word of yours. Webhooks get it, and the list filters by it.")
    tags: Texts = Field([], description="At most 10 words of yours, each of up to 30 characters.", examples=[["home"]])
    data: Data = Field(None, description="An object of yours, up to 16 KiB. Webhooks get it.")


class CheckBody(FormBody):
    """Without a title, the one that the kind suggests."""

    model_config = limited(ReminderForm)

    job: JobBody = Field(description="What to check.")
    title: str = ""
    body: str = ""


class ScheduleReplacement(ScheduleBody, Replacement):
    """Also as `GET` answers it: what cannot be changed here may be sent as it is."""


class SchedulePatch(Partial, ScheduleReplacement):
    """Fields that are not given stay as they are."""


@shows(ScheduleBody)
class ScheduleDocument(BaseModel):
    """Civil times (`starts_at`, `ends_at`, those in `timing`) are in `time_zone`, all others are instants."""

    id: UUID
    type: Literal["reminder"] = of(lambda schedule: "reminder", "Always this one.")
    state: Annotated[str, one_of(Schedule.State.values)] = Field(
        description="Only an `active` one fires. `broken`: its timing cannot be read any more, and `error` says why. "
        "`awaiting`: with `after_done`, it has fired and is not done; its next run is not known yet."
    )
    active: bool = of(lambda schedule: schedule.state == Schedule.State.ACTIVE, "Whether `state` is `active`.")
    version: int
    schedule_type: Annotated[str, one_of(KINDS)] = of("kind", "The kind in `timing`.")
    cron_expression: str | None = Field(description="The expression of `timing`; null for another kind.")
    timing: TimingDocument | None = Field(description="Exactly one kind; null if it cannot be read any more.")
    description: str = Field(description="The timing in words.")
    time_zone: str | None = of(
        lambda schedule: None if schedule.local_time else schedule.time_zone, "An IANA name; null with `local_time`."
    )
    next_run_at: Instant | None = of("next_fire_at", "The next slot that is not skipped; null if there is none.")
    last_run_at: Instant | None = of("last_fired_at", "When it last fired; null if it has not.")
    fired_count: int = of(
        lambda schedule: schedule.fired_count + schedule.manual_count,
        "Runs so far: slots that fired, and runs by hand.",
    )
    snooze_ends_at: Instant | None = of("snoozed_until", "Nothing fires before this; null without a snooze.")
    channel_ids: list[UUID]
    checks: str = Field(description="The question of `job` in words.")
    audience: AudienceDocument | None = of(audience_of, "The people to notify; null: you.")
    local_time: bool = Field(
        description="At this time on each reader's clock: `time_zone` is null, and `next_run_at` is when the first "
        "clock on Earth shows it."
    )
    nag_channel_ids: list[UUID]
    misfire: Annotated[str, one_of(Schedule.Misfire.values)]
    error: str = Field(description="Why its timing cannot be read; empty if it can.")
    created_at: Instant
    updated_at: Instant


def described(
    body: ScheduleBody, user: User, now: datetime, schedule: Schedule | None = None, also: Iterable[UUID] = ()
) -> tuple[Schedule, list[Channel]]:
    """The schedule, not saved, and its channels: a new one, or what `body` makes of `schedule`. Raises a 422 problem.

    What a patch does not give stays. Channels in `also` may be used before they are confirmed.
    """
    unchanged = ScheduleBody.model_fields.keys() - body.model_fields_set if isinstance(body, SchedulePatch) else set()
    typed, stored = (None, {}) if schedule is None else _stored(schedule, body, unchanged)
    fields = stored | _fields(body, unchanged)
    if fields.get("audience") and not audiences.may_announce(user):
        raise may_not_announce()
    if fields["time_zone"] is None:
        fields["time_zone"] = user.zone.key
    typed = typed or timing.read(body, body.timing, fields["time_zone"])
    fields |= {"kind": typed.kind, "anchor": typed.parameters.get("anchor")}
    fields |= {} if "job" in unchanged else job.fields(body, body.job)
    form = ReminderForm(
        form_values(fields), user=user, now=now, schedule=schedule, parameters=typed.parameters, also=also
    )
    if any(getattr(body, name) is None and body.is_wrong(name) for name in ("audience", "job")):
        form.fields["channels"].required = False  # both may make it so
    checked_before = unchanged.intersection(PLAIN)
    if "job" not in unchanged:
        checked_before -= {"title", "body"}  # a job allows other placeholders
    form.taken = {*form.taken, *checked_before}
    require_valid(body, form, called=partial(_called, typed.paths))
    wanted = form.as_schedule()
    if "data" not in unchanged:
        wanted.data = body.data
    return wanted, form.ordered()


def _stored(schedule: Schedule, patch: ScheduleBody, unchanged: Collection[str]) -> tuple[Typed | None, dict[str, Any]]:
    """The timing, if the patch keeps it, and the fields of the form, except for the channels.

    On another clock a schedule keeps its civil times, else its instants: one of a repeated hour is not always the
    first.
    """
    values = {name: getattr(schedule, name) for name in (*PLAIN, "version", "local_time", "starts_at", "ends_at")}
    values |= {
        "time_zone": None if schedule.local_time else schedule.time_zone,
        "audience": audience_form.audience_of(schedule),
        "in_order": bool(schedule.channel_order),
    }
    rule = timing.readable(schedule)
    elsewhere = "time_zone" not in unchanged and patch.time_zone != schedule.time_zone
    moves = elsewhere or not {"audience", "local_time"}.issubset(unchanged)
    if moves:
        values |= timing.civil_times(rule, schedule)
    if "timing" not in unchanged:
        return None, values
    return timing.stored(patch, rule, moves), values


def typed_schedule(body: CheckBody, user: User, now: datetime) -> Schedule:
    """The schedule that the body describes, not saved. Raises a 422 problem."""
    kind = kinds.find(body.job.kind) if body.job else None
    title = body.title or (str(kind.title) if kind else "") or "Reminder"
    form = ReminderForm({"title": title, "body": body.body} | job.fields(body, body.job), user=user, now=now)
    form.show_errors_of([name for name in form.errors if form.is_of_job(name)])
    require_valid(body, form, called=partial(_called, {}))
    return form.typed_schedule()


def refused(detail: str, field: str = "(body)") -> Problem:
    return invalid(FieldError(field, detail))


# Fields of the body that the form has in another way, or not at all.
_OTHERWISE = {"timing", "job", "audience", "data"}


def _fields(body: ScheduleBody, unchanged: Collection[str]) -> dict[str, Any]:
    """The given fields of the form, except for the timing."""
    fields = body.model_dump(exclude=_OTHERWISE.union(unchanged))
    if "audience" not in unchanged:
        given = body.audience
        chosen = None if given is None else audiences.Chosen(given.kind, given.key)
        fields |= {"audience": chosen, "confirmed": chosen if given and given.confirmed else None}
    return fields


def _called(paths: Mapping[str, str], name: str) -> str:
    """Return the body's name of a form field; `paths` has those of the timing."""
    return job.path(name) or timing.called(ScheduleBody, paths, name)
