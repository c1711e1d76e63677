"""Batches: how far all that one cause sent to the caller has come."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Count, QuerySet
from django.http import HttpResponse
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field

from api.access import ApiRequest, Bearer
from api.answers import answer
from api.problems import not_found
from notifications.deliveries import withdrawal
from notifications.models import Delivery, Notification
from schedules.models import Occurrence

router = Router(tags=["batches"], auth=Bearer("notifications"))

_STATE = Delivery.State
_COUNTED = {
    "pending": [_STATE.PENDING],
    "processing": [_STATE.SENDING],
    "completed": [_STATE.DELIVERED],
    "failed": [_STATE.DEAD, _STATE.UNKNOWN],
    "dropped": [_STATE.CANCELLED, _STATE.EXPIRED],
}
_EXAMPLE: Any = {
    "id": "01890a5f-2c0f-7b11-8e3d-7a6b5c4d3e2f",
    "pending": 1,
    "processing": 0,
    "completed": 2,
    "failed": 1,
    "dropped": 0,
    "total": 4,
    "percent": 75.0,
}


class BatchDocument(BaseModel):
    """Counts deliveries. `percent` of them have ended, in whichever way."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: UUID
    pending: int
    processing: int
    completed: int
    failed: int = Field(description="They wait as dead letters.")
    dropped: int = Field(description="Cancelled or expired.")
    total: int
    percent: float


@router.get("/{uuid:batch_id}", response=BatchDocument, summary="Read the progress of a batch")
def read_batch(request: ApiRequest, batch_id: UUID) -> HttpResponse:
    """What one run of a schedule, or one message, has sent to you."""
    return _show(batch_id, _own(request, batch_id))


@router.post("/{uuid:batch_id}/cancel", response=BatchDocument, summary="Cancel a batch")
def cancel_batch(request: ApiRequest, batch_id: UUID) -> HttpResponse:
    """Cancels what has not gone out. What is being sent may arrive; if it fails, it is not tried again."""
    mine = _own(request, batch_id)
    withdrawal.cancel(mine)
    return _show(batch_id, mine)


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
    total = sum(counts.values())
    ended = total - counts["pending"] - counts["processing"]
    percent = round(100 * ended / total, 1) if total else 100.0
    return answer({"id": str(batch_id), **counts, "total": total, "percent": percent})
