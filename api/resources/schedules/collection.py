"""List, create, read, change, delete and restore schedules."""

from typing import Literal
from uuid import UUID

from django.db.models import Q
from django.http import HttpResponse
from ninja import Router

from api.protocol import paging, versions
from api.protocol.access import ApiRequest, Bearer
from api.protocol.fields import Instant, Search
from api.protocol.idempotency import transaction_of
from api.resources.schedules import body as bodies
from api.resources.schedules.access import changing, show, show_own
from api.resources.schedules.body import ScheduleBody, SchedulePatch
from api.resources.schedules.document import ScheduleDocument, document
from people.user_lock import lock_in_transaction, lock_user
from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Schedule
from schedules.parts import tags, words

router = Router(tags=["schedules"], auth=Bearer("schedules"))


@router.get("", response=paging.Page[ScheduleDocument], summary="List schedules")
def list_schedules(
    request: ApiRequest,
    state: Literal["active", "paused", "finished", "broken", "archived"] | None = None,
    category: Search | None = None,
    tag: Search | None = None,
    search: Search | None = None,
    due_before: Instant | None = None,
    cursor: str | None = None,
    limit: paging.Limit = paging.SIZE,
) -> HttpResponse:
    """Newest first, without the archived ones. `search` looks into titles and texts, `due_before` at the next run."""
    found = Schedule.objects.for_user(request.auth.user)
    found = found.exclude(state=Schedule.State.ARCHIVED) if state is None else found.filter(state=state)
    if tag is not None:
        found = found.filter(tags.has(tag, tags.spellings(request.auth.user)))
    if category is not None:
        found = found.filter(category=category)
    if search is not None:
        found = found.filter(Q(title__icontains=search) | Q(body__icontains=search))
    if due_before is not None:
        found = found.filter(next_fire_at__lt=due_before)
    return paging.answer_page(found.prefetch_related("channels"), request, cursor, limit, document)


@router.post("", response={201: ScheduleDocument}, summary="Create a schedule")
def create_schedule(request: ApiRequest, body: ScheduleBody) -> HttpResponse:
    """It fires from now on. Send an `Idempotency-Key`, so that a repeated request creates one."""
    with transaction_of(request):
        now = lock_in_transaction(request.auth.user)
        schedule, channels = bodies.described(body, request.auth.user, now)
        editing.create(schedule, channels, now)
    location = f"{request.path}/{schedule.id}"
    return show(schedule, [channel.id for channel in channels], 201, Location=location)


@router.get("/{uuid:schedule_id}", response=ScheduleDocument, summary="Read a schedule")
def read_schedule(request: ApiRequest, schedule_id: UUID) -> HttpResponse:
    """`ETag` is its version: send it as `If-Match` with a change."""
    return show_own(request, schedule_id)


@router.put("/{uuid:schedule_id}", response=ScheduleDocument, summary="Replace a schedule")
def replace_schedule(request: ApiRequest, schedule_id: UUID, body: ScheduleBody) -> HttpResponse:
    """Fields that are not given get their defaults. The next run is computed afresh."""
    with changing(request, schedule_id) as schedule:
        now = fire.read_clock().now
        wanted, channels = bodies.described(body, request.auth.user, now, schedule)
        changed = editing.reschedule(wanted, now, channels, request.auth.user)
    return show(changed, [channel.id for channel in channels])


@router.patch("/{uuid:schedule_id}", response=ScheduleDocument, summary="Change some fields of a schedule")
def change_schedule(request: ApiRequest, schedule_id: UUID, body: SchedulePatch) -> HttpResponse:
    """Fields that are not given stay as they are. The next run is computed afresh."""
    with changing(request, schedule_id) as schedule:
        now = fire.read_clock().now
        wanted, channels = bodies.described(body, request.auth.user, now, schedule)
        changed = editing.reschedule(wanted, now, channels, request.auth.user)
    return show(changed, [channel.id for channel in channels])


@router.delete("/{uuid:schedule_id}", response={204: None}, summary="Delete a schedule")
def delete_schedule(request: ApiRequest, schedule_id: UUID) -> HttpResponse:
    """Cancels what is not sent yet. Its history stays, and `restore` undoes it."""
    with changing(request, schedule_id) as schedule:
        editing.delete(schedule.id, fire.read_clock().now, request.auth.user)
    return HttpResponse(status=204)


@router.post("/{uuid:schedule_id}/restore", response=ScheduleDocument, summary="Restore a deleted schedule")
def restore_schedule(request: ApiRequest, schedule_id: UUID) -> HttpResponse:
    """Slots that passed while it was deleted never fire."""
    with lock_user(request.auth.user):
        mine = Schedule.objects.filter(user=request.auth.user, deleted_at__isnull=False)
        deleted = versions.locked(request, mine, document, id=schedule_id)
        if editing.limit_reached(request.auth.user):
            raise bodies.refused(words.limit_reached())
        return show(editing.restore(deleted.id, fire.read_clock().now, request.auth.user))
