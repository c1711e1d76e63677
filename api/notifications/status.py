"""List and read notifications, and cancel what has not gone out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID

from django.db.models import Prefetch, QuerySet
from django.http import HttpResponse
from ninja import Query, Router

from api import paging
from api.access import ApiRequest, Bearer
from api.answers import answer
from api.fields import Instant
from api.notifications.document import NotificationDocument, NotificationWithAttempts, document
from api.problems import not_found
from common.uuid7 import first_of
from notifications.deliveries import withdrawal
from notifications.models import Delivery, Notification

router = Router(tags=["notifications"], auth=Bearer("notifications"))

# Ids are made by the clocks of several machines, `created_at` by the database's.
_SLACK = timedelta(minutes=10)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def own(request: ApiRequest, notification_id: UUID) -> QuerySet[Notification]:
    """The caller's notification, as a queryset of one row. Raises a 404 problem."""
    found = Notification.objects.for_user(request.auth.user).filter(id=notification_id)
    if not found.exists():
        raise not_found()
    return found


def with_deliveries(found: QuerySet[Notification], *also: str) -> QuerySet[Notification]:
    deliveries = Delivery.objects.select_related("channel").prefetch_related(*also).order_by("channel_id")
    return found.prefetch_related(Prefetch("deliveries", deliveries))


@router.get("", response=paging.Page[NotificationDocument], summary="List notifications")
def list_notifications(
    request: ApiRequest,
    outcome: Literal["open", "full", "partial", "failed", "dropped"] | None = None,
    since: Instant | None = None,
    schedule: UUID | None = None,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=paging.LARGEST)] = paging.SIZE,
) -> HttpResponse:
    """Newest first, with the state of each delivery. Reading one shows its attempts too."""
    found = Notification.objects.for_user(request.auth.user)
    if outcome is not None:
        found = found.filter(outcome=outcome)
    if since is not None:
        # By id too, which the index has: so it reads no further back.
        found = found.filter(created_at__gte=since, id__gte=first_of(max(since - _SLACK, _EPOCH)))
    if schedule is not None:
        found = found.filter(origin_id=schedule)
    return paging.answer_page(with_deliveries(found), request, cursor, limit, document)


@router.get("/{uuid:notification_id}", response=NotificationWithAttempts, summary="Read a notification")
def read_notification(request: ApiRequest, notification_id: UUID) -> HttpResponse:
    """With each delivery and each attempt, and why it failed or waits."""
    return answer(document(_read(request, notification_id), attempts=True))


@router.post("/{uuid:notification_id}/cancel", response=NotificationWithAttempts, summary="Cancel a notification")
def cancel_notification(request: ApiRequest, notification_id: UUID) -> HttpResponse:
    """Cancels what has not gone out. What is being sent may arrive; if it fails, it is not tried again."""
    withdrawal.cancel(own(request, notification_id))
    return answer(document(_read(request, notification_id), attempts=True))


def _read(request: ApiRequest, notification_id: UUID) -> Notification:
    mine = Notification.objects.for_user(request.auth.user).filter(id=notification_id)
    found = with_deliveries(mine, "history").first()
    if found is None:
        raise not_found()
    return found
