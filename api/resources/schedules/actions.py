"""Pause, resume, snooze, skip and run a schedule."""

from typing import Annotated
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpResponse
from ninja import Router
from pydantic import BaseModel, FailFast, Field, Strict

from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer
from api.protocol.fields import Body, Instant
from api.protocol.problems import FieldError, conflict, invalid
from api.resources.schedules.access import changing, show
from api.resources.schedules.document import ScheduleDocument
from api.resources.schedules.history import OccurrenceDocument, occurrence
from common.uuid7 import uuid7
from jobs.checks import results
from people.user_lock import lock_user
from schedules.changes import bulk, editing
from schedules.changes.bulk import Action
from schedules.firing import fire
from schedules.inputs.tags_field import OneTagField
from schedules.models import Schedule
from schedules.rules import InvalidRule

router = Router(tags=["schedules"], auth=Bearer("schedules"))


class Bulk(Body):
    """`ids` that are no schedules of yours are passed by. `tag` is for the actions tag and untag."""

    ids: Annotated[list[Annotated[UUID, Strict(False)]], FailFast(), Field(max_length=5_000)]
    action: Annotated[Action, Strict(False)]
    tag: str = ""


class BulkDocument(BaseModel):
    changed: list[UUID]
    left_out: dict[str, int]


class Slot(Body):
    slot: Instant


class Until(Body):
    until: Instant


@router.post("/{uuid:schedule_id}/pause", response=ScheduleDocument, summary="Pause a schedule")
def pause_schedule(request: ApiRequest, schedule_id: UUID) -> HttpResponse:
    """Nothing fires until `resume`, and what is not sent yet is cancelled."""
    with changing(request, schedule_id):
        return show(editing.pause(schedule_id, fire.read_clock().now, request.auth.user))


@router.post("/{uuid:schedule_id}/resume", response=ScheduleDocument, summary="Resume a schedule")
def resume_schedule(request: ApiRequest, schedule_id: UUID) -> HttpResponse:
    """Ends a pause or a snooze. Slots in between never fire."""
    with changing(request, schedule_id):
        return show(editing.resume(schedule_id, fire.read_clock().now, request.auth.user))


@router.post("/{uuid:schedule_id}/archive", response=ScheduleDocument, summary="Archive a schedule")
def archive_schedule(request: ApiRequest, schedule_id: UUID) -> HttpResponse:
    """Nothing fires, and lists leave it out until `unarchive`. What is not sent yet is cancelled."""
    with changing(request, schedule_id):
        return show(editing.archive(schedule_id, fire.read_clock().now, request.auth.user))


@router.post("/{uuid:schedule_id}/unarchive", response=ScheduleDocument, summary="Take a schedule out of the archive")
def unarchive_schedule(request: ApiRequest, schedule_id: UUID) -> HttpResponse:
    """It has the state from before. Slots in between never fire."""
    with changing(request, schedule_id):
        return show(editing.unarchive(schedule_id, fire.read_clock().now, request.auth.user))


@router.post("/bulk", response=BulkDocument, summary="Do one thing to many schedules")
def change_schedules(request: ApiRequest, body: Bulk) -> HttpResponse:
    """Those to which it cannot be done are left out, counted by their state or by what is in the way."""
    with lock_user(request.auth.user):
        try:
            tag = OneTagField(required=body.action in {Action.TAG, Action.UNTAG}).clean(body.tag)
        except ValidationError as error:
            raise invalid(FieldError("tag", " ".join(error.messages))) from None
        mine = Schedule.objects.for_user(request.auth.user).filter(id__in=body.ids)
        done = bulk.apply(mine, Action(body.action), fire.read_clock().now, request.auth.user, tag)
        changed = [str(schedule.id) for schedule in done.changed]
        return answer({"changed": changed, "left_out": dict(done.left_out)})


@router.post("/{uuid:schedule_id}/snooze", response=ScheduleDocument, summary="Snooze a schedule")
def snooze_schedule(request: ApiRequest, schedule_id: UUID, body: Until) -> HttpResponse:
    """Nothing fires before `until`. Only for an active schedule."""
    with changing(request, schedule_id):
        now = fire.read_clock().now
        if body.until <= now:
            raise invalid(FieldError("until", "This time has passed. Choose a later one.", "passed"))
        return show(editing.snooze(schedule_id, body.until, now, request.auth.user))


@router.post("/{uuid:schedule_id}/skip", response=ScheduleDocument, summary="Skip the next slot")
def skip_slot(request: ApiRequest, schedule_id: UUID, body: Slot) -> HttpResponse:
    """`slot` must be `next_run`, so that a repeated request skips one slot only."""
    with changing(request, schedule_id):
        return show(editing.skip_next(schedule_id, body.slot, fire.read_clock().now, request.auth.user))


@router.post("/{uuid:schedule_id}/unskip", response=ScheduleDocument, summary="Undo skipping a slot")
def unskip_slot(request: ApiRequest, schedule_id: UUID, body: Slot) -> HttpResponse:
    """Only for a slot that is still to come."""
    with changing(request, schedule_id):
        return show(editing.unskip(schedule_id, body.slot, fire.read_clock().now, request.auth.user))


@router.post("/{uuid:schedule_id}/run", response={202: OccurrenceDocument}, summary="Run a schedule now")
def run_schedule(request: ApiRequest, schedule_id: UUID) -> HttpResponse:
    """Sends once, now, in any state; next run and count stay. `id` is the batch of what is sent."""
    with changing(request, schedule_id) as schedule:
        batch_id = uuid7()
        try:
            editing.run_now(schedule_id, fire.read_clock().now, request.auth.user, batch_id)
        except InvalidRule as error:
            raise conflict(f"The rule of this schedule cannot be read: {error} Change it first.") from None
        if (recorded := schedule.occurrences.filter(id=batch_id).first()) is None:
            raise conflict("This very instant has been recorded already. Try again.")
        check = results.of_batches(schedule.user_id, [batch_id]).get(batch_id)
        return answer(occurrence(recorded, check), 202)
