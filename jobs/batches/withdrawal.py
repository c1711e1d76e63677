"""Withdraw what a cause has made: a reminder that is paused or deleted, a rule that is switched off."""

from collections.abc import Collection
from uuid import UUID

from django.db.models import Q

from jobs.batches import progress
from jobs.changes import reminders
from jobs.models import Batch, Job
from notifications.deliveries import withdrawal
from notifications.models import Notification
from notifications.reasons import DeliveryCode
from work.reasons import Reason


def withdraw(
    origin_ids: Collection[UUID], code: DeliveryCode, *, announced: Collection[UUID] = (), user_id: int | None = None
) -> None:
    """pending -> cancelled for the jobs and deliveries of these causes, in the caller's transaction.

    No further channel is tried. What is being sent may arrive; if it fails, it is not tried again. `announced` are
    causes for audiences: their batches are cancelled, whose parts follow, a few at a time. With `user_id`, only what is
    this person's.
    """
    made = Q(origin_id__in=origin_ids) if user_id is None else Q(origin_id__in=origin_ids, user=user_id)
    reminders.cancel(Job.objects.filter(made), Reason(code))
    withdrawal.cancel(Notification.objects.filter(made), code)
    for batch in Batch.objects.filter(origin_id__in=announced, ended_at=None, cancelled_at=None):
        progress.cancel(batch)
