"""The Celery tasks. Their arguments are ids only, because they are logged."""

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from common.redis import live_wakes
from jobs.batches import progress, withdrawal
from jobs.batches.kind import BATCH
from jobs.checks.kind import JOB
from jobs.kinds.base import LONGEST_FRESH
from jobs.models import Batch, Result
from work.broker import periodic
from work.retention import Retention
from work.tasks import task_of

check = task_of(JOB)
tell = task_of(BATCH)


@shared_task(name="jobs.count", ignore_result=True)
def count() -> None:
    """Keep the progress of batches, and cancel what is left of cancelled ones."""
    owners = list(Batch.objects.filter(ended_at=None).values_list("user_id", flat=True).distinct())
    withdrawal.cancel_parts()
    progress.count_open()
    live_wakes.wake(*owners)


periodic.NEEDED["jobs.count"] = lambda: "SELECT FROM jobs_batch WHERE ended_at IS NULL"


# Each reminder's newest check stays, however seldom it checks.
_NEWEST = """SELECT WHERE d.origin_id IS NOT NULL AND NOT EXISTS (
                 SELECT FROM jobs_job later WHERE later.origin_id = d.origin_id AND later.id > d.id)"""
_OPEN = "SELECT WHERE d.ended_at IS NULL OR d.ended_at >= %(since)s"
_PARTS = ", parts AS (DELETE FROM jobs_part p USING old WHERE p.batch_id = old.id)"
CHECKS = Retention.work(JOB, "checks", "JOBS_KEPT_DAYS", _NEWEST)
BATCHES = Retention.work(BATCH, "batches", "JOBS_KEPT_DAYS", _OPEN, _PARTS)


@shared_task(name="jobs.prune", ignore_result=True)
def prune() -> int:
    """Delete jobs and batches that ended `JOBS_KEPT_DAYS` ago, and answers that are too old for any question.

    Returns how many jobs and batches.
    """
    Result.objects.filter(fetched_at__lt=timezone.now() - timedelta(seconds=LONGEST_FRESH)).delete()
    return CHECKS.prune() + BATCHES.prune()
