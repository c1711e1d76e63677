"""Withdraw what a schedule has caused, when it is paused or deleted."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from notifications.models import Delivery, Notification
from notifications.reasons import Code
from work.manual import cancelled
from work.reasons import Reason


@transaction.atomic
def cancel_unsent(origin_id: UUID, code: Code) -> int:
    """pending -> cancelled for all that the schedule `origin_id` caused and nobody has sent yet.

    A delivery that is being sent may arrive; if it fails, it is not tried again.
    """
    open_ones = Exists(Delivery.objects.filter(notification=OuterRef("id"), state__in=Delivery.OPEN))
    caused = Notification.objects.filter(open_ones | Q(advance_at__isnull=False), origin_id=origin_id)
    held = list(caused.order_by("id").select_for_update(no_key=True).values_list("id", flat=True))
    # Before the others are cancelled: one that comes back meanwhile is either marked or pending.
    Notification.objects.filter(open_ones, id__in=held).update(withdrawn=code)
    # By the notifications' ids: with a join, PostgreSQL would not look again at the state of a row it had to wait for.
    pending = Delivery.objects.filter(notification__in=held, state=Delivery.State.PENDING)
    return pending.update(**cancelled(Reason(code)))
