"""List, create, read, change, delete and restore schedules; pause, resume, snooze, skip and run them."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.http import Http404, HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, FailFast, Field, Strict

from api.protocol import paging, versions
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer
from api.protocol.fields import Body, Instant, Search
from api.protocol.idempotency import transaction_of
from api.protocol.problems import FieldError, conflict, invalid, require_unchanged
from api.resources.schedules import documents
from api.resources.schedules.documents import (
    ScheduleBody,
    ScheduleDocument,
    SchedulePatch,
    ScheduleReplacement,
    document,
)
from common.database import postgres
from notifications.models import Notification, sort_channels
from people.models import User
from people.user_lock import lock_in_transaction, lock_user
from schedules.changes import answers, bulk, editing
from schedules.changes.bulk import Action
from schedules.firing import fire
from schedules.inputs.list_fields import OneTagField
from schedules.models import Schedule
from schedules.parts import tags

router = Router(tags=["schedules"], auth=Bearer("schedules"))


# As `Schedule.objects.for_user`.
_OWN = f"""
SELECT {postgres.columns(Schedule, "s")}{{more}}
  FROM schedules_schedule s
 WHERE s.id = %(id)s AND s.user_id = %(user)s AND s.deleted_at IS NULL
"""  # noqa: S608  # names of columns
# The clock is read once the row is locked.
_LOCK = f"""
WITH locked AS MATERIALIZED ({_OWN.format(more="")} FOR NO KEY UPDATE)
SELECT *, clock_timestamp() AS now FROM locked
"""  # noqa: S608  # names of columns
_READ = _OWN.format(
    more=""", ARRAY(
        SELECT c.id FROM schedules_schedule_channels a JOIN notifications_channel c ON c.id = a.channel_id
         WHERE a.schedule_id = s.id AND c.removed_at IS NULL
    ) AS channels"""
)


def own(request: ApiRequest, schedule_id: UUID) -> Schedule:
    return _read(_READ, request, schedule_id)[0]


def _read(statement: str, request: ApiRequest, schedule_id: UUID) -> tuple[Schedule, Any]:
    """The schedule and its row. Raises Http404."""
    row = postgres.execute(statement, {"id": schedule_id, "user": request.auth.user.pk}).fetchone()
    if row is None:
        raise Http404
    return postgres.instance(Schedule, row), row


@contextmanager
def changing(request: ApiRequest, schedule_id: UUID) -> Iterator[tuple[Schedule, datetime]]:
    """Lock the schedule in a transaction, if it is at the version of `If-Match`. Raises Http404; problems 409, 412.

    With the database's clock.
    """
    with transaction.atomic():
        schedule, row = _read(_LOCK, request, schedule_id)
        versions.require(request, schedule.version, lambda: document(schedule))
        try:
            yield schedule, row.now
        except editing.ScheduleConflict as error:
            raise conflict(
                "The schedule is not in a state that allows this. See current.", current=document(error.current)
            ) from None


def show(schedule: Schedule, channels: Iterable[UUID] | None = None, status: int = 200, **headers: str) -> HttpResponse:
    """`channels` are the ids of its channels (None: read here)."""
    if channels is not None:
        channels = sort_channels(schedule.channel_order, sorted(channels), channel_id=lambda channel: channel)
    return answer(document(schedule, channels), status, ETag=versions.etag(schedule.version), **headers)


@router.get("", response=paging.Page[ScheduleDocument], summary="List schedules")
def list_schedules(
    request: ApiRequest,
    state: Literal["active", "paused", "finished", "broken", "archived", "awaiting"] | None = None,
    category: Search | None = None,
    tag: Search | None = None,
    search: Search | None = None,
    due_before: Instant | None = None,
    *,
    page: Query[paging.PageParameters],
) -> HttpResponse:
    """Newest first, without the archived ones. `search` looks into titles and texts, `due_before` at the next run."""
    result = Schedule.objects.for_user(request.auth.user)
    result = result.exclude(state=Schedule.State.ARCHIVED) if state is None else result.filter(state=state)
    if tag is not None:
        result = result.filter(tags.has(tag, tags.spellings(request.auth.user)))
    if search is not None:
        result = result.filter(Q(title__icontains=search) | Q(body__icontains=search))
    result = paging.narrowed(result, category=category, next_fire_at__lt=due_before)
    return paging.answer_page(result.prefetch_related("channels"), request, page, document)


@router.post("", response={201: ScheduleDocument}, summary="Create a schedule")
def create_schedule(request: ApiRequest, body: ScheduleBody) -> HttpResponse:
    """It fires from now on. Send an `Idempotency-Key`, so that a repeated request creates one."""
    with transaction_of(request):
        now = lock_in_transaction(request.auth.user)
        schedule, channels = documents.described(body, request.auth.user, now)
        editing.create(schedule, channels, now)
    return show(schedule, [channel.id for channel in channels], 201, Location=f"{request.path}/{schedule.id}")


@router.get("/{uuid:schedule_id}", response=ScheduleDocument, summary="Read a schedule")
def read_schedule(request: ApiRequest, schedule_id: UUID) -> HttpResponse:
    """`ETag` is its version: send it as `If-Match` with a change."""
    schedule, row = _read(_READ, request, schedule_id)
    return show(schedule, row.channels)


@router.put("/{uuid:schedule_id}", response=ScheduleDocument, summary="Replace a schedule")
def replace_schedule(request: ApiRequest, schedule_id: UUID, body: ScheduleReplacement) -> HttpResponse:
    """Fields that are not given get their defaults. The next run is computed afresh."""
    return _reschedule(request, schedule_id, body)


@router.patch("/{uuid:schedule_id}", response=ScheduleDocument, summary="Change some fields of a schedule")
def change_schedule(request: ApiRequest, schedule_id: UUID, body: SchedulePatch) -> HttpResponse:
    """Fields that are not given stay as they are. The next run is computed afresh."""
    return _reschedule(request, schedule_id, body)


def _reschedule(request: ApiRequest, schedule_id: UUID, body: ScheduleReplacement) -> HttpResponse:
    with changing(request, schedule_id) as (schedule, now):
        require_unchanged(body, document, schedule)
        wanted, channels = documents.described(body, request.auth.user, now, schedule)
        changed = editing.reschedule_locked(schedule, wanted, now, channels, request.auth.user)
    return show(changed, [channel.id for channel in channels])


@router.delete("/{uuid:schedule_id}", response={204: None}, summary="Delete a schedule")
def delete_schedule(request: ApiRequest, schedule_id: UUID) -> None:
    """Cancels what is not sent yet. Its history stays, and `restore` undoes it."""
    with changing(request, schedule_id) as (_schedule, now):
        editing.delete(schedule_id, now, request.auth.user)


@router.post("/{uuid:schedule_id}/restore", response=ScheduleDocument, summary="Restore a deleted schedule")
def restore_schedule(request: ApiRequest, schedule_id: UUID) -> HttpResponse:
    """Slots that passed while it was deleted never fire."""
    mine = Schedule.objects.deleted_of(request.auth.user)
    with lock_user(request.auth.user), versions.locked(request, mine, document, id=schedule_id) as deleted:
        editing.require_room(request.auth.user)
        return show(editing.restore(deleted.id, fire.read_clock().now, request.auth.user))


class Bulk(Body):
    ids: Annotated[list[Annotated[UUID, Strict(False)]], FailFast()] = Field(
        max_length=5_000, description="Ids of your schedules."
    )
    action: Annotated[Action, Strict(False)] = Field(description="What to do to each of them.")
    tag: str = Field("", description="For `tag` and `untag`: which one.")


class BulkDocument(BaseModel):
    changed_ids: list[UUID] = Field(description="Those that were changed.")
    left_out: dict[str, int] = Field(description="How many were left out, by their state or what is in the way.")
    unknown_ids: list[UUID] = Field(description="Those that are not schedules of yours.")


class Slot(Body):
    slot_at: Instant = Field(description="Which slot: the instant for which the schedule is due.")


class Until(Body):
    snooze_ends_at: Instant = Field(description="Nothing fires before this.")


@router.post("/{uuid:schedule_id}/pause", response=ScheduleDocument, summary="Pause a schedule")
def pause_schedule(request: ApiRequest, schedule_id: UUID) -> HttpResponse:
    """Nothing fires until `resume`, and what is not sent yet is cancelled."""
    with changing(request, schedule_id) as (_schedule, now):
        return show(editing.pause(schedule_id, now, request.auth.user))


@router.post("/{uuid:schedule_id}/resume", response=ScheduleDocument, summary="Resume a schedule")
def resume_schedule(request: ApiRequest, schedule_id: UUID) -> HttpResponse:
    """Ends a pause or a snooze. Slots in between never fire."""
    with changing(request, schedule_id) as (_schedule, now):
        return show(editing.resume(schedule_id, now, request.auth.user))


@router.post("/{uuid:schedule_id}/archive", response=ScheduleDocument, summary="Archive a schedule")
def archive_schedule(request: ApiRequest, schedule_id: UUID) -> HttpResponse:
    """Nothing fires, and lists leave it out until `unarchive`. Unsent messages are cancelled."""
    with changing(request, schedule_id) as (_schedule, now):
        return show(editing.archive(schedule_id, now, request.auth.user))


@router.post("/{uuid:schedule_id}/unarchive", response=ScheduleDocument, summary="Take a schedule out of the archive")
def unarchive_schedule(request: ApiRequest, schedule_id: UUID) -> HttpResponse:
    """It has the state from before. Slots in between never fire."""
    with changing(request, schedule_id) as (_schedule, now):
        return show(editing.unarchive(schedule_id, now, request.auth.user))


@router.post("/bulk", response=BulkDocument, summary="Do one thing to many schedules")
def change_schedules(request: ApiRequest, body: Bulk) -> HttpResponse:
    """Those to which it cannot be done are left out, counted by their state or by what is in the way."""
    with lock_user(request.auth.user):
        try:
            tag = OneTagField(required=body.action in {Action.TAG, Action.UNTAG}).clean(body.tag)
        except ValidationError as error:
            raise invalid(FieldError("tag", " ".join(error.messages))) from None
        mine = Schedule.objects.for_user(request.auth.user).filter(id__in=body.ids)
        changed, left_out = bulk.apply(mine, Action(body.action), fire.read_clock().now, request.auth.user, tag)
        changed_ids = [schedule.id for schedule in changed]
        existing = set(mine.values_list("id", flat=True)).union(changed_ids)
        unknown = [one for one in dict.fromkeys(body.ids) if one not in existing]
        return answer({"changed_ids": changed_ids, "left_out": left_out, "unknown_ids": unknown})


@router.post("/{uuid:schedule_id}/snooze", response=ScheduleDocument, summary="Snooze a schedule")
def snooze_schedule(request: ApiRequest, schedule_id: UUID, body: Until) -> HttpResponse:
    """Nothing fires before `snooze_ends_at`. Only for an active schedule."""
    with changing(request, schedule_id) as (_schedule, now):
        return show(editing.snooze(schedule_id, body.snooze_ends_at, now, request.auth.user))


@router.post("/{uuid:schedule_id}/done", response=ScheduleDocument, summary="Say that a schedule is done")
def schedule_done(request: ApiRequest, schedule_id: UUID) -> HttpResponse:
    """Acknowledges its newest message; with `after_done`, sets the next run. 409 if no message is open."""
    return _answered(request, schedule_id, partial(answers.done, source=Notification.AnsweredFrom.API))


@router.post("/{uuid:schedule_id}/undo-done", response=ScheduleDocument, summary="Undo that a schedule is done")
def undo_schedule_done(request: ApiRequest, schedule_id: UUID) -> HttpResponse:
    """Of its newest message. With `after_done` it waits again, unless it was changed or has fired since."""
    return _answered(request, schedule_id, answers.undo_done)


def _answered(request: ApiRequest, schedule_id: UUID, act: Callable[[Schedule, datetime, User], bool]) -> HttpResponse:
    with changing(request, schedule_id) as (schedule, now):
        if not act(schedule, now, request.auth.user):
            raise conflict("It was answered before, or nothing was done. Nothing changed.")
        return show(Schedule.objects.get(id=schedule_id))


@router.post("/{uuid:schedule_id}/skip", response=ScheduleDocument, summary="Skip the next slot")
def skip_slot(request: ApiRequest, schedule_id: UUID, body: Slot) -> HttpResponse:
    """`slot_at` must be `next_run_at`, so that a repeated request skips one slot only."""
    with changing(request, schedule_id) as (_schedule, now):
        return show(editing.skip_next(schedule_id, body.slot_at, now, request.auth.user))


@router.post("/{uuid:schedule_id}/unskip", response=ScheduleDocument, summary="Undo skipping a slot")
def unskip_slot(request: ApiRequest, schedule_id: UUID, body: Slot) -> HttpResponse:
    """Only for a slot that is still to come."""
    with changing(request, schedule_id) as (_schedule, now):
        return show(editing.unskip(schedule_id, body.slot_at, now, request.auth.user))
