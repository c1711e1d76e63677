"""Withdraw notifications that are not sent yet."""

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from notifications.models import Delivery, Notification
from notifications.reasons import DeliveryCode
from work.engine.manual import cancelled
from work.reasons import Reason


@transaction.atomic
def cancel(notifications: QuerySet[Notification], code: DeliveryCode = DeliveryCode.CANCELLED) -> int:
    """Like `drop`; no further channel is tried for them either."""
    changed = drop(notifications, code)
    notifications.filter(advance_at__isnull=False).update(advance_at=None)
    return changed


@transaction.atomic
def drop(notifications: QuerySet[Notification], code: DeliveryCode) -> int:
    """pending -> cancelled. What is being sent may arrive; if it fails, it is not tried again."""
    open_ones = Exists(Delivery.objects.filter(notification=OuterRef("id"), state__in=Delivery.OPEN))
    caused = notifications.filter(open_ones | Q(advance_at__isnull=False))
    locked = list(caused.order_by("id").select_for_update(no_key=True).values_list("id", flat=True))
    # Before the others are cancelled: one that comes back meanwhile is either marked or pending.
    Notification.objects.filter(open_ones, id__in=locked).update(withdrawn=code)
    # By the notifications' ids: with a join, PostgreSQL would not look again at the state of a row it had to wait for.
    pending = Delivery.objects.filter(notification__in=locked, state=Delivery.State.PENDING)
    return pending.update(**cancelled(Reason(code)))
