"""Batches: how far all has come that one cause sent: to the caller, or by the caller to many."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from django.db.models import Count, QuerySet
from django.http import HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, ConfigDict, Field

from api import paging
from api.access import ApiRequest, Bearer
from api.answers import answer
from api.fields import Instant, written
from api.problems import conflict, not_found
from api.schedules.document import AudienceDocument
from jobs import batches
from jobs.batches import Progress
from jobs.models import Batch
from notifications.deliveries import withdrawal
from notifications.models import Delivery, Notification
from schedules.models import Occurrence
from work.dead_letters import Who

router = Router(tags=["batches"], auth=Bearer("notifications"))

_STATE = Delivery.State
_COUNTED = {
    "pending": [_STATE.PENDING],
    "processing": [_STATE.SENDING],
    "completed": [_STATE.DELIVERED],
    "failed": [_STATE.DEAD, _STATE.UNKNOWN],
    "dropped": [_STATE.CANCELLED, _STATE.EXPIRED],
}
_COUNTS: Any = {
    "id": "01890a5f-2c0f-7b11-8e3d-7a6b5c4d3e2f",
    "pending": 1,
    "processing": 0,
    "completed": 2,
    "failed": 1,
    "dropped": 0,
    "total": 4,
    "percent": 75.0,
}
_MINE: Any = {
    "title": None,
    "audience": None,
    "state": None,
    "size": None,
    "told": None,
    "started": None,
    "ended": None,
}
_MANY: Any = {
    "title": "The server moves on Sunday",
    "audience": {"kind": "everybody", "key": ""},
    "state": "told",
    "size": 4,
    "told": 4,
    "started": "2026-03-29T16:00:00Z",
    "ended": None,
}


class BatchDocument(BaseModel):
    """Counts deliveries; of an audience's jobs, the jobs. `percent` of them have ended, in whichever way.

    The fields from `title` on are of batches for an audience, null for others. People who are not told yet are
    `pending`. Of a topic whose owner is no staff, people are counted instead of deliveries.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [_COUNTS | _MINE, _COUNTS | _MANY]})

    id: UUID
    pending: int
    processing: int
    completed: int
    failed: int = Field(description="They wait as dead letters.")
    dropped: int = Field(description="Cancelled or expired.")
    total: int
    percent: float
    title: str | None
    audience: AudienceDocument | None
    state: str | None = Field(description="Of the telling: pending, telling, told, dead, cancelled …")
    size: int | None = Field(description="How many people belong to the audience; null until a worker begins.")
    told: int | None = Field(description="How many of them are dealt with.")
    started: Instant | None
    ended: Instant | None = Field(description="When nothing of it waited any more.")


class Replayed(BaseModel):
    replayed: int


@router.get("", response=paging.Page[BatchDocument], summary="List batches for audiences")
def list_batches(
    request: ApiRequest,
    origin: UUID | None = None,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=paging.LARGEST)] = paging.SIZE,
) -> HttpResponse:
    """Those that you have caused, newest first; with `origin`, of this schedule or topic."""
    found = Batch.objects.for_user(request.auth.user).with_counts().select_related("user")
    if origin is not None:
        found = found.filter(origin_id=origin)
    return paging.answer_page(found, request, cursor, limit, _document)


@router.get("/{uuid:batch_id}", response=BatchDocument, summary="Read the progress of a batch")
def read_batch(request: ApiRequest, batch_id: UUID) -> HttpResponse:
    """What one run of a schedule, or one message, has sent to you; or to an audience, if you caused it."""
    if (caused := _caused(request, batch_id)) is not None:
        batches.count_again(caused)
        return _show_caused(request, batch_id)
    return _show(batch_id, _own(request, batch_id))


@router.post("/{uuid:batch_id}/cancel", response=BatchDocument, summary="Cancel a batch")
def cancel_batch(request: ApiRequest, batch_id: UUID) -> HttpResponse:
    """Cancels what has not gone out. What is being sent may arrive; if it fails, it is not tried again."""
    if (caused := _caused(request, batch_id)) is not None:
        batches.cancel(caused)
        return _show_caused(request, batch_id)
    mine = _own(request, batch_id)
    withdrawal.cancel(mine)
    return _show(batch_id, mine)


@router.post("/{uuid:batch_id}/replay", response={202: Replayed}, summary="Replay what failed of a batch")
def replay_batch(request: ApiRequest, batch_id: UUID) -> HttpResponse:
    """Of a batch for an audience that you caused: up to 1,000 dead letters, oldest first, under the same keys. Leaves
    out stale ones, and those whose channel cannot be used. For staff."""
    caused = _caused(request, batch_id)
    if caused is None:
        raise not_found()
    if batches.hides_deliveries(caused):
        raise conflict("Only staff can replay what failed for others.")
    return answer({"replayed": batches.replay(caused, Who(request.auth.user.pk, request.auth.user.email))}, 202)


def _caused(request: ApiRequest, batch_id: UUID) -> Batch | None:
    found = Batch.objects.for_user(request.auth.user).with_counts().select_related("user")
    return found.filter(id=batch_id).first()


def _show_caused(request: ApiRequest, batch_id: UUID) -> HttpResponse:
    found = _caused(request, batch_id)
    if found is None:
        raise not_found()
    return answer(_document(found))


def _document(batch: Batch) -> dict[str, Any]:
    return _counts(batch.id, batches.shown(batch)) | {
        "title": str(batch),
        "audience": {"kind": batch.audience, "key": batch.audience_key},
        "state": batch.state,
        "size": batch.size,
        "told": batch.told,
        "started": written(batch.created_at),
        "ended": written(batches.ended_at(batch)),
    }


def _own(request: ApiRequest, batch_id: UUID) -> QuerySet[Notification]:
    """A skipped occurrence is a batch without a notification."""
    mine = Notification.objects.for_user(request.auth.user).filter(batch_id=batch_id)
    if not mine.exists() and not Occurrence.objects.filter(id=batch_id, schedule__user=request.auth.user).exists():
        raise not_found()
    return mine


def _show(batch_id: UUID, notifications: QuerySet[Notification]) -> HttpResponse:
    rows = Delivery.objects.filter(notification__in=notifications).order_by()
    states = dict(rows.values_list("state").annotate(Count("pk")))
    counts = {name: sum(states.get(state, 0) for state in counted) for name, counted in _COUNTED.items()}
    return answer(_counts(batch_id, Progress(**counts)) | _MINE)


def _counts(batch_id: UUID, progress: Progress) -> dict[str, Any]:
    return {
        "id": str(batch_id),
        "pending": progress.pending,
        "processing": progress.processing,
        "completed": progress.completed,
        "failed": progress.failed,
        "dropped": progress.dropped,
        "total": progress.total,
        "percent": progress.percent,
    }
