"""Withdraw notifications that are not sent yet."""

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from notifications.models import Delivery, Notification
from notifications.reasons import DeliveryCode
from work.engine.manual import cancelled
from work.reasons import Reason


@transaction.atomic
def cancel(notifications: QuerySet[Notification], code: DeliveryCode = DeliveryCode.CANCELLED) -> int:
    """Like `drop`; no further channel is tried for them either, and they are not repeated."""
    changed = drop(notifications, code)
    notifications.filter(Q(advance_at__isnull=False) | Q(nag_at__isnull=False)).update(advance_at=None, nag_at=None)
    return changed


@transaction.atomic
def drop(notifications: QuerySet[Notification], code: DeliveryCode) -> int:
    """pending -> cancelled. What is being sent may arrive; if it fails, it is not tried again."""
    open_ones = Exists(Delivery.objects.filter(notification=OuterRef("id"), state__in=Delivery.OPEN))
    ahead = Q(advance_at__isnull=False) | Q(nag_at__isnull=False)
    caused = notifications.filter(open_ones | ahead).order_by("id").select_for_update(no_key=True)
    rows = list(caused.values_list("id", "nag_at"))
    locked = [key for key, _ in rows]
    if any(nag_at for _, nag_at in rows):  # and the repeats that were recorded while this waited for the first one
        repeats = Notification.objects.filter(open_ones, nag_of__in=locked).exclude(id__in=locked)
        locked += repeats.order_by("id").select_for_update(no_key=True).values_list("id", flat=True)
    # Before the others are cancelled: one that comes back meanwhile is either marked or pending.
    Notification.objects.filter(open_ones | Q(nag_at__isnull=False), id__in=locked).update(withdrawn=code)
    # By the notifications' ids: with a join, PostgreSQL would not look again at the state of a row it had to wait for.
    pending = Delivery.objects.filter(notification__in=locked, state=Delivery.State.PENDING)
    return pending.update(**cancelled(Reason(code)))
