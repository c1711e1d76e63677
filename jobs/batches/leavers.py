"""People who leave what a reminder for an audience tells them, and come back."""

from uuid import UUID

from django.db import transaction

from jobs.batches.withdrawal import withdraw
from jobs.models import Batch, Leaver
from notifications.reasons import DeliveryCode


@transaction.atomic
def leave(user_id: int, origin_id: UUID) -> None:
    """Tell them no more of it, and cancel what has not been sent yet. Repeating it changes nothing."""
    # A part that is being told comes first, so that what it records is cancelled; the next one sees who has left.
    under_way = Batch.objects.filter(origin_id=origin_id, state__in=["pending", "telling"])
    list(under_way.order_by("id").select_for_update(no_key=True).values_list("id"))
    Leaver.objects.bulk_create([Leaver(origin_id=origin_id, user_id=user_id)], ignore_conflicts=True)
    withdraw([origin_id], DeliveryCode.STOPPED, user_id=user_id)


def come_back(user_id: int, origin_id: UUID) -> None:
    """Tell them again, from the next batch on."""
    Leaver.objects.filter(origin_id=origin_id, user=user_id).delete()


def has_left(user_id: int, origin_id: UUID) -> bool:
    return Leaver.objects.filter(origin_id=origin_id, user=user_id).exists()
