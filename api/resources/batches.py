"""Batches: how far all has come that one cause sent: to the caller, or by the caller to many."""

from typing import Annotated, Any
from uuid import UUID

from django.db.models import Count, QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router
from pydantic import BaseModel, Field

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, fields_of, of
from api.protocol.fields import Instant, one_of
from api.protocol.problems import conflict
from api.resources.schedules.documents import AudienceDocument, audience_of
from jobs.batches import audiences, progress, withdrawal
from jobs.batches.progress import Progress
from jobs.models import Batch
from notifications.deliveries.withdrawal import cancel as cancel_notifications
from notifications.models import Delivery, Notification
from schedules.models import Occurrence
from work.dead_letters import Who

router = Router(tags=["batches"], auth=Bearer("notifications"))
audiences_router = Router(tags=["batches"], auth=Bearer("notifications"))

_STATE = Delivery.State
_COUNTED = {
    "pending": [_STATE.PENDING],
    "processing": [_STATE.SENDING],
    "completed": [_STATE.DELIVERED],
    "failed": [_STATE.DEAD, _STATE.UNKNOWN],
    "dropped": [_STATE.CANCELLED, _STATE.EXPIRED],
}
_MINE: Any = dict.fromkeys(["title", "audience", "state", "size", "told", "started_at", "ended_at"])


class BatchDocument(BaseModel):
    """Counts deliveries; of an audience's jobs, the jobs, each with its message.

    The fields from `title` on are of batches for an audience, null for others. People who are not told yet are
    `pending`. Of a topic whose owner is not staff, people are counted instead of deliveries.
    """

    id: UUID
    pending: int = Field(description="How many wait.")
    processing: int = Field(description="How many are being sent.")
    completed: int = Field(description="How many have arrived.")
    failed: int = Field(description="They wait as dead letters.")
    dropped: int = Field(description="Cancelled or expired.")
    total: int = Field(description="All of them.")
    percent: float = Field(description="How many of 100 have ended, in whichever way.")
    title: str | None = of(str)
    audience: AudienceDocument | None = of(audience_of, "The people to notify.")
    state: Annotated[str, one_of(Batch.words.states)] | None = Field(description="`told`: nobody is left to notify.")
    size: int | None = Field(description="How many people belong to the audience; null until a worker begins.")
    told: int | None = Field(description="How many of them are dealt with.")
    started_at: Instant | None = of("created_at", "When it was recorded.")
    ended_at: Instant | None = of(progress.ended_at, "When nothing of it waited any more.")


class AudienceOption(AudienceDocument):
    """One of the values that `audience` of a schedule may have."""

    key: str = Field(description="Which one, as in `audience` of a schedule; empty for everybody.")
    label: str = Field(description="What `kind` is called.")
    name: str = Field(description="Of the group, the topic or the kind of connection.")


class ReplayedBatch(BaseModel):
    replayed: int = Field(description="How many are sent again.")


@router.get("", response=paging.Page[BatchDocument], summary="List batches for audiences")
def list_batches(
    request: ApiRequest, origin_id: UUID | None = None, *, page: Query[paging.PageParameters]
) -> HttpResponse:
    """Those that you have caused, newest first; with `origin_id`, of this schedule or topic."""
    return paging.answer_page(paging.narrowed(_all_caused(request), origin_id=origin_id), request, page, _document)


@router.get("/{uuid:batch_id}", response=BatchDocument, summary="Read the progress of a batch")
def read_batch(request: ApiRequest, batch_id: UUID) -> HttpResponse:
    """Messages that one run of a schedule, or one message, has sent to you; or to an audience, if you caused it."""
    if (caused := _all_caused(request).filter(id=batch_id).first()) is not None:
        progress.count_again(caused)
        return answer(_document(_caused(request, batch_id)))
    return _show(batch_id, _own(request, batch_id))


@router.post("/{uuid:batch_id}/cancel", response=BatchDocument, summary="Cancel a batch")
def cancel_batch(request: ApiRequest, batch_id: UUID) -> HttpResponse:
    """Cancels messages that have not gone out. One that is being sent may arrive; it gets no further try."""
    if (caused := _all_caused(request).filter(id=batch_id).first()) is not None:
        withdrawal.cancel(caused)
        return answer(_document(_caused(request, batch_id)))
    mine = _own(request, batch_id)
    cancel_notifications(mine)
    return _show(batch_id, mine)


@router.post("/{uuid:batch_id}/replay", response={202: ReplayedBatch}, summary="Replay what failed of a batch")
def replay_batch(request: ApiRequest, batch_id: UUID) -> HttpResponse:
    """Of a batch for an audience that you caused: up to 1,000 dead letters, oldest first, under the same keys. Leaves
    out stale ones, and those whose channel cannot be used. For staff."""
    caused = _caused(request, batch_id)
    if progress.hides_deliveries(caused):
        raise conflict("Only staff can replay what failed for others.")
    return answer({"replayed": progress.replay(caused, Who.of(request.auth.user))}, 202)


@audiences_router.get("", response=paging.Page[AudienceOption], summary="List the audiences")
def list_audiences(request: ApiRequest) -> HttpResponse:
    """List the audiences that you may notify: everybody, a group, the subscribers of a topic, who has connected a
    source. The list is empty unless you are staff with the permission to add batches."""
    user = request.auth.user
    return paging.answer_all(
        {"kind": one.kind, "key": one.key, "label": label, "name": name}
        for label, options in (audiences.choices(user) if audiences.may_announce(user) else ())
        for one, name in options
    )


def _all_caused(request: ApiRequest) -> QuerySet[Batch]:
    return Batch.objects.for_user(request.auth.user).with_counts().select_related("user")


def _caused(request: ApiRequest, batch_id: UUID) -> Batch:
    return get_object_or_404(_all_caused(request), id=batch_id)


def _document(batch: Batch) -> dict[str, Any]:
    shown = progress.shown(batch)
    return fields_of(BatchDocument, batch, **shown.parts, total=shown.total, percent=shown.percent)


def _own(request: ApiRequest, batch_id: UUID) -> QuerySet[Notification]:
    """A skipped occurrence is a batch without a notification."""
    mine = Notification.objects.for_user(request.auth.user).filter(batch_id=batch_id)
    if not mine.exists() and not Occurrence.objects.filter(id=batch_id, schedule__user=request.auth.user).exists():
        raise Http404
    return mine


def _show(batch_id: UUID, notifications: QuerySet[Notification]) -> HttpResponse:
    rows = Delivery.objects.filter(notification__in=notifications).order_by()
    states = dict(rows.values_list("state").annotate(Count("pk")))
    counts = {name: sum(states.get(state, 0) for state in counted) for name, counted in _COUNTED.items()}
    return answer(fields_of(BatchDocument, Progress(**counts), id=batch_id, **_MINE))
