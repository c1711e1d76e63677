"""Read a line, preview a schedule, list its slots and what was recorded, and why each fired or did not."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, documents, fields_of, of
from api.protocol.fields import Body, Instant, one_of
from api.protocol.problems import FieldError, conflict, invalid
from api.resources.notifications import Length, ReasonDocument
from api.resources.schedules import documents as schedules, timing
from api.resources.schedules.documents import ScheduleBody
from api.resources.schedules.job import CheckDocument, check_document
from api.resources.schedules.operations import changing, own
from api.resources.schedules.timing import TimingDocument
from common.uuid7 import uuid7
from jobs import kinds
from jobs.batches import audiences
from jobs.checks import results
from jobs.checks.results import Check
from notifications.channels import text_preview
from notifications.messages import text
from notifications.models import Notification
from schedules.changes import editing
from schedules.explain import history
from schedules.explain.causes import CauseCode
from schedules.explain.history import ExplainedSlot
from schedules.firing import fire, forecast
from schedules.firing.holidays import Holidays
from schedules.inputs import quick_add
from schedules.inputs.sentences.pieces import LONGEST
from schedules.models import Occurrence
from schedules.rules import InvalidRule, Work, civil

router = Router(tags=["schedules"], auth=Bearer("read"))


_COMING = 10
_CAUSES = [*CauseCode, *filter(None, Occurrence.Reason.values)]
_CHECK = Field(description="What its job checked, if it had one.")
Count = Annotated[int, Query(ge=1, le=history.PAGE)]


class CauseDocument(BaseModel):
    code: Annotated[str, one_of(_CAUSES)] = Field(description="For programs: a code that stays the same.")
    text: str
    started_at: Instant | None = of("began", "Since when it held; null where that is not known.")
    ended_at: Instant | None = of("ended", "Until when it held; null while it lasts, or where it is not known.")
    by: str = Field(description="Who did it, by name; empty for nobody.")


class SlotDocument(BaseModel):
    slot_at: Instant = of("slot")
    outcome: Literal["coming", "fired", "skipped"] = Field(description="What became of it.")
    causes: list[CauseDocument] = of(
        lambda slot: documents(CauseDocument, slot.causes), "Why it did not fire, or fired late."
    )
    late_seconds: float | None = of(
        lambda slot: None if slot.late is None else slot.late.total_seconds(),
        "How late it fired, in seconds; null if it did not.",
    )
    note: str = Field(description="What a clock change did to it, or that quiet hours hold it; empty without one.")
    batch_id: UUID | None
    notification_id: UUID | None = Field(description="What it sent you; null if it sent nothing.")
    notification_outcome: Annotated[str, one_of(Notification.Outcome.values)] | None = Field(
        description="The `outcome` of that notification."
    )
    check: CheckDocument | None = _CHECK


class Explanation(BaseModel):
    """The next slots, and those that passed, newest first."""

    coming: list[SlotDocument] = Field(description="The next slots, the first one first; empty on later pages.")
    items: list[SlotDocument] = Field(description="Those that passed, newest first.")
    next: str | None


class OccurrenceDocument(BaseModel):
    """The record of one slot."""

    id: UUID
    batch_id: UUID = of("id", "The batch of what it sent; the same as `id`.")
    slot_at: Instant = of("scheduled_for")
    outcome: Literal["fired", "skipped"] = Field(description="What became of it.")
    reason: ReasonDocument = of(lambda row: {"code": row.reason, "params": {}, "text": row.get_reason_display()})
    version: int = Field(description="The schedule's at that time.")
    recorded_at: Instant = of("fired_at")
    check: CheckDocument | None = _CHECK


class Run(BaseModel):
    slot_at: Instant
    note: str = Field(description="What a clock change does to it, or which holiday keeps it silent; else empty.")


class Preview(BaseModel):
    description: str = Field(description="The timing in words.")
    runs: list[Run] = Field(description="The next slots.")
    title: str = Field(description="The subject of the next run.")
    body: str = Field(description="The text of the next run.")
    lengths: list[Length]
    people: int | None = Field(description="How many people its audience has now; null without one.")


@router.post("/preview", response=Preview, summary="Preview a schedule")
def preview_schedule(request: ApiRequest, body: ScheduleBody, count: Count = _COMING) -> HttpResponse:
    """Checks a body and says when it would fire, and with which text. Nothing is checked, and nothing is saved."""
    user, now = request.auth.user, fire.read_clock().now
    if body.audience is not None:  # this tells nobody
        body.audience.confirmed = True
    schedule, channels = schedules.described(body, user, now)
    timetable = schedule.timetable()
    work = Work()
    try:
        runs = forecast.of(schedule, now, Holidays.of(user, now)).upcoming(now, count, work)
    except InvalidRule as error:
        raise schedules.refused(str(error), "timing") from None
    name = user.get_short_name()
    job = kinds.find(schedule.job_kind)
    more = {} if job is None else job.examples()
    message = text.compose(
        schedule.title, schedule.body, name=name, slot=runs[0].slot, time_zone=schedule.time_zone, more=more
    )
    reading = text_preview.read(user, message, channels, runs[0].slot)
    return answer(
        {
            "description": schedule.when,
            "runs": [{"slot_at": run.slot, "note": run.note(timetable, work)} for run in runs],
            "title": reading.subject,
            "body": reading.body,
            "lengths": documents(Length, reading.lengths),
            "people": audiences.count(schedule.audience, schedule.audience_key) if schedule.audience else None,
        }
    )


@router.get("/{uuid:schedule_id}/upcoming", response=paging.Page[SlotDocument], summary="List the next slots")
def list_upcoming(request: ApiRequest, schedule_id: UUID, count: Count = _COMING) -> HttpResponse:
    """Those skipped ahead of time and those on excluded dates too, with the cause."""
    schedule = own(request, schedule_id)
    return paging.answer_all(_slots(request, history.coming(schedule, fire.read_clock().now, count)))


@router.get(
    "/{uuid:schedule_id}/occurrences", response=paging.Page[OccurrenceDocument], summary="List what was recorded"
)
def list_occurrences(request: ApiRequest, schedule_id: UUID, page: Query[paging.PageParameters]) -> HttpResponse:
    """The latest slot first. Slots without a record, such as those during a pause, are in `explain`."""
    schedule = own(request, schedule_id)
    result: dict[UUID, Check] = {}

    def check(rows: Sequence[Occurrence]) -> None:
        result.update(results.of_batches(schedule.user_id, [row.id for row in rows]))

    def show(row: Occurrence) -> dict[str, Any]:
        return fields_of(OccurrenceDocument, row, check=check_document(result.get(row.id)))

    return paging.answer_page(schedule.occurrences.all(), request, page, show, by="scheduled_for", beside=check)


@router.get("/{uuid:schedule_id}/explain", response=Explanation, summary="Explain a schedule")
def explain_schedule(
    request: ApiRequest, schedule_id: UUID, cursor: str | None = None, limit: Count = history.PAGE
) -> HttpResponse:
    """The outcome of each slot and its reason, newest first; on the first page also the next ones."""
    schedule = own(request, schedule_id)
    now = fire.read_clock().now
    before = datetime.fromisoformat(paging.read(cursor, request)) if cursor else civil.LAST_INSTANT
    result = history.past(schedule, civil.FIRST_INSTANT, before, now, limit + 1)
    shown, more = result[:limit], len(result) > limit
    following = paging.make(request, shown[-1].slot.isoformat()) if more else None
    coming = [] if cursor else history.coming(schedule, now, _COMING)
    page = {"coming": _slots(request, coming), "items": _slots(request, shown), "next": following}
    return paging.link(answer(page), request, following)


@router.post(
    "/{uuid:schedule_id}/run",
    auth=Bearer("schedules"),
    response={202: OccurrenceDocument},
    summary="Run a schedule now",
)
def run_schedule(request: ApiRequest, schedule_id: UUID) -> HttpResponse:
    """Sends once, now, in any state; the next run stays. `batch_id` is the batch of what is sent."""
    with changing(request, schedule_id) as (schedule, now):
        batch_id = uuid7()
        try:
            editing.run_now(schedule_id, now, request.auth.user, batch_id)
        except InvalidRule as error:
            raise conflict(f"The rule of this schedule cannot be read: {error} Change it first.") from None
        if (recorded := schedule.occurrences.filter(id=batch_id).first()) is None:
            raise conflict("This very instant has been recorded already. Try again.")
        check = results.of_batches(schedule.user_id, [batch_id]).get(batch_id)
        return answer(fields_of(OccurrenceDocument, recorded, check=check_document(check)), 202)


def _slots(request: ApiRequest, slots: Sequence[ExplainedSlot]) -> list[dict[str, Any]]:
    batches = [one.batch_id for one in slots if one.batch_id is not None]
    caused = Notification.objects.for_user(request.auth.user).filter(batch_id__in=batches) if batches else []
    notifications: dict[UUID | None, Notification] = {one.batch_id: one for one in caused}
    return [_slot(one, notifications.get(one.batch_id)) for one in slots]


def _slot(slot: ExplainedSlot, notification: Notification | None) -> dict[str, Any]:
    return fields_of(
        SlotDocument,
        slot,
        notification_id=notification and notification.id,
        notification_outcome=notification and notification.outcome,
        check=check_document(slot.check),
    )


class Line(Body):
    text: str = Field(description="What and when, in English.", json_schema_extra={"maxLength": LONGEST})
    time_zone: str | None = Field(None, description="An IANA name; without one, your own, or UTC if you have none.")


class QuickDraft(BaseModel):
    """A body of “Create a schedule”, without channels."""

    title: str
    body: str
    timing: TimingDocument
    time_zone: str
    starts_at: str | None
    ends_at: str | None
    max_count: int | None
    after_done: bool
    early: list[int]
    description: str = of("described", "The timing in words, for people to check.")
    next_run_at: Instant | None = of("next", "When it would fire first; null: never.")


@router.post("/quick-add", response=QuickDraft, summary="Read a schedule from one line")
def quick_add_schedule(request: ApiRequest, body: Line) -> HttpResponse:
    """Says what a line means. Nothing is saved: add `channels`, and create it."""
    zone = request.auth.user.zone.key if body.time_zone is None else body.time_zone
    try:
        civil.zone(zone)
    except InvalidRule as error:
        raise invalid(FieldError("time_zone", str(error), error.code)) from None
    country = request.auth.user.public_holidays
    reading = quick_add.read(body.text, zone, fire.read_clock().now, needs_title=True, country=country)
    if reading.timetable is None:
        raise invalid(FieldError("text", reading.refusal))
    rule, shown = reading.timetable.rule, reading.shown
    values = {name: shown.get(name) for name in ("title", "starts_at", "ends_at", "max_count")}
    values |= {
        "body": shown.get("body", ""),
        "after_done": "after_done" in shown,
        "early": reading.fields.get("early", []),
    }
    return answer(fields_of(QuickDraft, reading, timing=timing.document(rule), time_zone=rule.timezone, **values))
