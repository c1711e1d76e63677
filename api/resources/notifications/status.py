"""List and read notifications, and cancel what has not gone out."""

from typing import Literal
from uuid import UUID

from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Router

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer
from api.protocol.fields import Instant
from api.resources.notifications.document import NotificationDocument, NotificationWithAttempts, document
from common.web.paging import LAST_ID, Span
from notifications.deliveries import withdrawal
from notifications.deliveries.history import Period, candidates, with_delivery
from notifications.models import Channel, Delivery, Notification

router = Router(tags=["notifications"], auth=Bearer("notifications"))


def with_deliveries(found: QuerySet[Notification], *also: str) -> QuerySet[Notification]:
    deliveries = Delivery.objects.select_related("channel").prefetch_related(*also).order_by("channel_id")
    return found.prefetch_related(Prefetch("deliveries", deliveries))


@router.get("", response=paging.Page[NotificationDocument], summary="List notifications")
def list_notifications(
    request: ApiRequest,
    outcome: Literal["open", "full", "partial", "failed", "dropped"] | None = None,
    state: Literal["pending", "sending", "delivered", "dead", "unknown", "cancelled", "expired"] | None = None,
    channel: UUID | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    tests: bool | None = None,
    schedule: UUID | None = None,
    cursor: str | None = None,
    limit: paging.Limit = paging.SIZE,
) -> HttpResponse:
    """Newest first, with the state of each delivery. Reading one shows its attempts too.

    `state` and `channel` keep those with a delivery in this state, on this channel of yours, removed or not. `until` is
    not included. `tests` keeps the codes and tests of channels, or leaves them out.
    """
    period = Period(since, until)
    found = period.of(Notification.objects.for_user(request.auth.user))
    if outcome is not None:
        found = found.filter(outcome=outcome)
    if schedule is not None:
        found = found.filter(origin_id=schedule)
    if tests is not None:
        of_channels = Q(origin__in=Notification.OF_CHANNELS)
        found = found.filter(of_channels if tests else ~of_channels)
    if state is not None or channel is not None:
        mine = Channel.objects.filter(user=request.auth.user)
        channels = list((mine.filter(id=channel) if channel else mine).values_list("id", flat=True))
        states = Delivery.State.values if state is None else [state]
        if tests or outcome is not None or schedule is not None:
            found = with_delivery(found, channels, states)
        else:
            below = LAST_ID if cursor is None else UUID(paging.read(cursor, request))
            without = Notification.OF_CHANNELS if tests is False else ()
            found = found.filter(id__in=candidates(channels, states, period, Span(limit + 1, below=below), without))
    return paging.answer_page(with_deliveries(found), request, cursor, limit, document)


@router.get("/{uuid:notification_id}", response=NotificationWithAttempts, summary="Read a notification")
def read_notification(request: ApiRequest, notification_id: UUID) -> HttpResponse:
    """With each delivery and each attempt, and why it failed or waits."""
    return answer(document(_read(request, notification_id), attempts=True))


@router.post("/{uuid:notification_id}/cancel", response=NotificationWithAttempts, summary="Cancel a notification")
def cancel_notification(request: ApiRequest, notification_id: UUID) -> HttpResponse:
    """Cancels what has not gone out. What is being sent may arrive; if it fails, it is not tried again."""
    withdrawal.cancel(Notification.objects.for_user(request.auth.user).filter(id=notification_id))
    return answer(document(_read(request, notification_id), attempts=True))


def _read(request: ApiRequest, notification_id: UUID) -> Notification:
    mine = Notification.objects.for_user(request.auth.user)
    return get_object_or_404(with_deliveries(mine, "history"), id=notification_id)
