"""Acknowledge or snooze a notification.

Only the first answer counts. It marks the message in the inbox as read, stops other channels from being tried and
cancels deliveries that have not gone out; a delivery that is being sent at that moment is not tried again.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from notifications.deliveries import outbox, shown
from notifications.models import Channel, Delivery, Notification
from notifications.reasons import DeliveryCode
from work.broker.wakes import publish_after_commit
from work.engine.manual import cancel
from work.reasons import Reason

LINK_LIFE = timedelta(days=30)
"""The lifetime of a link to answer, from the record of its notification on."""

LISTENERS: list[Callable[[Notification], object]] = []
"""Called after a notification is acknowledged, in its transaction."""


@transaction.atomic
def acknowledge(notification_id: UUID) -> bool:
    """False when it has been answered before; nothing changes then."""
    if not _answer(notification_id, DeliveryCode.ACKNOWLEDGED):
        return False
    for tell in LISTENERS:
        tell(Notification.objects.get(id=notification_id))
    return True


@transaction.atomic
def snooze(notification_id: UUID, until: datetime) -> bool:
    """Acknowledge it, and send the same again at `until` (aware), as a new batch that ignores quiet hours.

    It goes where the first one went or would have gone, less the channels removed since. False when it has been
    answered before; nothing changes then.
    """
    if not _answer(notification_id, DeliveryCode.SNOOZED, until):
        return False
    notification = Notification.objects.get(id=notification_id)
    sent_to = notification.deliveries.order_by("id").values_list("channel_id", flat=True)
    order = notification.channel_order or list(sent_to)
    there = dict(Channel.objects.filter(id__in=order, removed_at=None).values_list("id", "provider"))
    again = outbox.again(
        notification,
        [(channel_id, there[channel_id]) for channel_id in order if channel_id in there],
        available_at=until,
        urgent=True,  # its person has chosen the hour
        **outbox.order_of(notification),
    )
    if again.channels:
        publish_after_commit(outbox.record([again]))
    return True


def _answer(notification_id: UUID, code: DeliveryCode, until: datetime | None = None) -> bool:
    first = Notification.objects.filter(id=notification_id, acknowledged_at=None).update(
        acknowledged_at=Now(), snoozed_until=until, advance_at=None
    )
    if first:
        waiting = Delivery.objects.filter(notification=notification_id, state=Delivery.State.PENDING)
        cancel(Delivery, waiting.values_list("id", flat=True), Reason(code))
        Delivery.objects.filter(
            notification=notification_id, provider="inbox", state=Delivery.State.DELIVERED
        ).mark_read(timezone.now())
        shown.close_after_commit(notification_id)
    return first == 1
