"""Delete old jobs, batches with their parts, and answers that are too old for any question."""

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from jobs.batches.kind import BATCH
from jobs.checks.kind import JOB
from jobs.kinds.base import LONGEST_FRESH
from jobs.models import Result
from work import retention

# Each reminder's newest check stays, however seldom it checks.
_NEWEST = """SELECT WHERE d.origin_id IS NOT NULL AND NOT EXISTS (
                 SELECT FROM jobs_job later WHERE later.origin_id = d.origin_id AND later.id > d.id)"""
_OPEN = "SELECT WHERE d.ended_at IS NULL OR d.ended_at >= %(since)s"
_PARTS = ", parts AS (DELETE FROM jobs_part p USING old WHERE p.batch_id = old.id)"


def prune() -> int:
    """Delete what ended `JOBS_KEPT_DAYS` ago. Returns how many jobs and batches."""
    Result.objects.filter(fetched_at__lt=timezone.now() - timedelta(seconds=LONGEST_FRESH)).delete()
    return retention.prune(JOB, settings.JOBS_KEPT_DAYS, _NEWEST) + retention.prune(
        BATCH, settings.JOBS_KEPT_DAYS, _OPEN, _PARTS
    )
