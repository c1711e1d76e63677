"""Withdraw what a cause has made: one that is paused, deleted, switched off or changed, or what a person leaves."""

from collections.abc import Collection
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from jobs.batches import progress
from jobs.models import Batch, Job, Leaver, Memory, Part
from jobs.reasons import JobCode
from notifications.deliveries import withdrawal
from notifications.models import Notification
from notifications.reasons import DeliveryCode
from work.engine import manual
from work.reasons import Reason


def withdraw(
    origin_ids: Collection[UUID], code: DeliveryCode, *, announced: Collection[UUID] = (), user_id: int | None = None
) -> None:
    """pending -> cancelled for the jobs and deliveries of these causes, in the caller's transaction.

    No further channel is tried. What is being sent may arrive; if it fails, it is not tried again. `announced` are
    causes for audiences: their batches are cancelled, whose parts follow, a few at a time. With `user_id`, only what is
    this person's.
    """
    _withdraw(Q(origin_id__in=origin_ids) if user_id is None else Q(origin_id__in=origin_ids, user=user_id), code)
    for batch in Batch.objects.filter(origin_id__in=announced, ended_at=None, cancelled_at=None):
        cancel(batch)


def _withdraw(made: Q, code: DeliveryCode) -> None:
    _cancel(Job.objects.filter(made), Reason(code))
    withdrawal.cancel(Notification.objects.filter(made), code)


@transaction.atomic
def cancel(batch: Batch) -> None:
    """Cancel what has not been sent: who is not told yet will not be, and what waits is cancelled.

    Its parts are cancelled by `cancel_parts`, a few at a time, because there may be a million deliveries.
    """
    Batch.objects.filter(id=batch.id, cancelled_at=None).update(cancelled_at=Now(), ended_at=None)
    manual.cancel(Batch, [batch.id], Reason(DeliveryCode.CANCELLED))


def cancel_parts() -> int:
    """Cancel what waits in some parts of cancelled batches. Returns how many parts."""
    cancelled = Part.objects.filter(batch__ended_at=None, batch__cancelled_at__isnull=False, pending__gt=0)
    parts = list(cancelled[: progress.PARTS_A_TICK])
    for part in parts:
        with transaction.atomic():  # whose locks and marks `_withdraw` needs until its end
            _withdraw(Q(batch_id=part.batch_id, user__gte=part.first, user__lte=part.last), DeliveryCode.CANCELLED)
    progress.count_parts(part.id for part in parts)
    return len(parts)


@transaction.atomic
def leave(user_id: int, origin_id: UUID) -> None:
    """Tell somebody no more of what is for an audience, and cancel what is not sent yet. It may be repeated."""
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


def _cancel(jobs: QuerySet[Job], reason: Reason) -> None:
    """pending -> cancelled. One that is running may speak; if it fails, it is not retried."""
    jobs.filter(state=Job.words.working).update(expires_at=Now(), failures_noted=F("replays") + 1)
    manual.cancel(Job, jobs.filter(state="pending").values_list("id", flat=True), reason)


def forget(*origin_ids: UUID) -> None:
    """Forget what the checks of reminders have found, and those that wait: they ask another question now."""
    _cancel(Job.objects.filter(origin_id__in=origin_ids), Reason(JobCode.OTHER_QUESTION))
    Memory.objects.filter(origin_id__in=origin_ids).update(
        state=None, version=F("version") + 1, failures=0, failing_since=None, told_at=None
    )
