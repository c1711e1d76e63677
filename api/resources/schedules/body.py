"""The body of a schedule: its shape here, its validity by the form that the pages use."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from pydantic import ConfigDict, Field

from api.protocol.fields import Body, Data, Texts, limited
from api.protocol.problems import FieldError, Problem, errors, invalid, require_valid
from api.resources.schedules import document, job, timing
from api.resources.schedules.job import JobBody
from api.resources.schedules.timing import Timing
from jobs import kinds
from jobs.batches import audiences
from notifications.inputs.channels_form import IN_ORDER
from notifications.messages import text
from notifications.models import Channel
from people.models import User
from schedules.inputs.reminder_form import ReminderForm
from schedules.models import Schedule

_EXAMPLE: Any = {
    "title": "Water the plants",
    "body": "The ferns too, {name}.",
    "timing": {"weeklyTime": {"dayOfWeek": 0, "hour": 18, "minute": 0}},
    "time_zone": "Europe/Berlin",
    "channels": ["01890a5d-ac96-774b-bcce-b302099a8057"],
    "category": "plants",
    "data": {"room": "kitchen"},
}


def may_not_announce() -> Problem:
    said = "Announcements to other people need staff with the permission to add batches."
    return Problem(403, "announcement", "You may not do this.", said)


class AudienceBody(Body):
    """For staff with the permission to add batches."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"kind": "everybody"}, {"kind": "group", "key": "3"}]})

    kind: str = Field(description="everybody, group, topic or connected.", min_length=1, max_length=20)
    key: str = Field("", description="Id of the group or topic, or the kind of connection.", max_length=64)
    confirmed: bool = Field(False, description="Needed once, for more than 100 people. It is not stored.")


class ScheduleBody(Body):
    model_config = limited(ReminderForm, _EXAMPLE)

    title: str = Field(description="Placeholders as in `body`.", json_schema_extra={"minLength": 1})
    body: str = Field(
        "",
        description="Placeholders: {name}, {schedule}, {slot}, {date} and {time}.",
        json_schema_extra={"maxLength": text.MAX_BODY},
    )
    timing: Timing
    time_zone: str | None = Field(None, description="An IANA name; without one, your own time zone.")
    channels: Texts = Field(
        description="Ids of your channels. Empty only with an audience, or for a job that never speaks."
    )
    job: JobBody | None = Field(None, description="What to check before it speaks; without it, it always does.")
    audience: AudienceBody | None = Field(None, description="Tell these people instead of you. For staff.")
    local_time: bool = Field(False, description="With an audience: at this time on each reader's clock, in any zone.")
    in_order: bool = Field(False, description="Try the channels one after the other, in the order given.")
    escalate_after: int | None = Field(
        None, description="With in_order: minutes without an acknowledgement until the next channel is tried."
    )
    urgent: bool = Field(False, description="Also sent during your quiet hours.")
    starts_at: str | None = Field(None, description="A civil time in `time_zone`: nothing fires before it.")
    ends_at: str | None = Field(None, description="A civil time in `time_zone`: nothing fires after it.")
    excluded: Texts = Field([], description="Dates on which nothing fires.", examples=[["2026-12-25"]])
    max_count: int | None = Field(None, description="How often it rings at most.")
    misfire: str = Field(
        "latest",
        description="If it was missed, send the `latest`, `all`, or none (`skip`).",
        json_schema_extra={"enum": [*Schedule.Misfire.values]},
    )
    grace: int = Field(60, description="Seconds of delay that do not count as missed.")
    spread: int = Field(0, description="Maximum delay in seconds, so that not everything is sent at once.")
    stale_after: int | None = Field(None, description="Seconds after which it is not sent any more.")
    category: str = Field(
        "",
        description="A word of yours. Webhooks get it, and the list filters by it.",
        json_schema_extra={"pattern": "^[-a-zA-Z0-9_]*$"},
    )
    tags: Texts = Field([], description="At most 10 words of yours, each of up to 30 characters.", examples=[["home"]])
    data: Data = Field(None, description="An object of yours, up to 16 KiB. Webhooks get it.")


class CheckBody(Body):
    """Without a title, the one that the kind suggests."""

    model_config = limited(ReminderForm)

    job: JobBody
    title: str = ""
    body: str = Field("", json_schema_extra={"maxLength": text.MAX_BODY})


class SchedulePatch(ScheduleBody):
    """What is not given stays as it is."""

    model_config = limited(ReminderForm, {"timing": {"dailyTime": {"hour": 8, "minute": 30}}})

    title: str = Field(None)  # type: ignore[assignment]  # absent, never null
    timing: Timing = Field(None)  # type: ignore[assignment]
    channels: Texts = Field(None)  # type: ignore[arg-type]


def described(
    body: ScheduleBody,
    user: User,
    now: datetime,
    schedule: Schedule | None = None,
    kept: Collection[str] = (),
    also: Iterable[UUID] = (),
) -> tuple[Schedule, list[Channel]]:
    """The schedule, not saved, and its channels: a new one, or what replaces `schedule`. Raises a 422 problem.

    Fields in `kept` are those of `schedule`; channels in `also` may be used before they are confirmed.
    """
    if body.audience is not None and not audiences.may_announce(user):
        raise may_not_announce()
    time_zone = user.time_zone if body.time_zone is None else body.time_zone
    typed = timing.stored(schedule) if schedule and "timing" in kept else timing.read(body.timing, time_zone)
    fields = _fields(body) | {"kind": typed.kind, "anchor": typed.parameters.get("anchor"), "time_zone": time_zone}
    fields |= {name: getattr(schedule, name) for name in ("starts_at", "ends_at") if name in kept}
    fields |= {} if schedule is None else {"version": schedule.version}
    fields |= {} if "job" in kept else job.fields(body.job)
    form = ReminderForm(fields, user=user, now=now, schedule=schedule, parameters=typed.parameters, also=also)
    require_valid(form, partial(_called, typed.paths))
    wanted = form.as_schedule()
    wanted.data = body.data
    return wanted, form.ordered()


def patched(patch: SchedulePatch, user: User, now: datetime, schedule: Schedule) -> tuple[Schedule, list[Channel]]:
    """What the patch makes of the schedule. Raises a 422 problem."""
    given = patch.model_fields_set
    elsewhere = "time_zone" in given and patch.time_zone != schedule.time_zone
    moves = elsewhere or not given.isdisjoint({"audience", "local_time"})
    # On another clock it keeps the civil times, else the instants: one of a repeated hour is not always the first.
    kept = {"job"} if moves else {"job", "timing", "starts_at", "ends_at"}
    stored = document.document(schedule)
    merged = {name: stored[name] for name in ScheduleBody.model_fields} | patch.model_dump(exclude_unset=True)
    if merged["timing"] is None:
        raise refused("The stored timing cannot be read any more. Give a new one.", "timing")
    return described(ScheduleBody.model_validate(merged), user, now, schedule, kept - given)


def typed_schedule(body: CheckBody, user: User, now: datetime) -> Schedule:
    """The schedule that the body describes, not saved. Raises a 422 problem."""
    kind = kinds.find(body.job.kind)
    title = body.title or (str(kind.title) if kind else "") or "Reminder"
    form = ReminderForm({"title": title, "body": body.body} | job.fields(body.job), user=user, now=now)
    form.show_errors_of([name for name in form.errors if form.is_of_job(name)])
    if form.errors:
        raise invalid(*errors(form, called=partial(_called, {})))
    return form.typed_schedule()


def refused(detail: str, field: str = "(body)") -> Problem:
    return invalid(FieldError(field, detail))


# Fields of the body that the form has in another way, or not at all.
_OTHERWISE = {"timing", "time_zone", "job", "audience", "in_order", "data"}


def _fields(body: ScheduleBody) -> dict[str, Any]:
    """The fields of the form, except for the timing."""
    fields = body.model_dump(exclude=_OTHERWISE)
    if body.audience is not None:
        chosen = f"{body.audience.kind}:{body.audience.key}"
        fields |= {"audience": chosen, "confirmed": chosen if body.audience.confirmed else ""}
    return fields | ({"one_by_one": IN_ORDER} if body.in_order else {})


def _called(paths: Mapping[str, str], name: str) -> str:
    """What a field of the form is called in the body; `paths` has those of the timing."""
    if of_job := job.path(name):
        return of_job
    if name in ScheduleBody.model_fields:
        return name
    return paths.get(name) or {"one_by_one": "in_order", "__all__": ""}.get(name, "timing")
