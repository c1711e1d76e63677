"""People who leave what a reminder for an audience tells them, and come back."""

from uuid import UUID

from django.db import transaction

from jobs.models import Batch, Job, Leaver
from notifications.deliveries import withdrawal
from notifications.models import Notification
from notifications.reasons import Code
from work.engine.manual import cancel
from work.reasons import Reason


@transaction.atomic
def leave(user_id: int, origin_id: UUID) -> None:
    """Tell them no more of it, and cancel what has not been sent yet. Repeating it changes nothing."""
    # A part that is being told comes first, so that what it records is cancelled; the next one sees who has left.
    under_way = Batch.objects.filter(origin_id=origin_id, state__in=["pending", "telling"])
    list(under_way.order_by("id").select_for_update(no_key=True).values_list("id"))
    Leaver.objects.bulk_create([Leaver(origin_id=origin_id, user_id=user_id)], ignore_conflicts=True)
    waiting = Job.objects.filter(origin_id=origin_id, user=user_id, state="pending")
    cancel(Job, list(waiting.values_list("id", flat=True)), Reason(Code.STOPPED))
    announced = Notification.objects.filter(origin=Notification.Origin.ANNOUNCEMENT, origin_id=origin_id, user=user_id)
    withdrawal.cancel(announced, Code.STOPPED)


def come_back(user_id: int, origin_id: UUID) -> None:
    """Tell them again, from the next batch on."""
    Leaver.objects.filter(origin_id=origin_id, user=user_id).delete()


def has_left(user_id: int, origin_id: UUID) -> bool:
    return Leaver.objects.filter(origin_id=origin_id, user=user_id).exists()
