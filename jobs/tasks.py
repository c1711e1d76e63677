"""The Celery tasks. Their arguments are ids only, because they are logged."""

from __future__ import annotations

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from jobs.kind import JOB
from jobs.kinds.base import LONGEST_FRESH
from jobs.models import Result
from work.tasks import task_of

look = task_of(JOB)


@shared_task(name="jobs.prune", ignore_result=True)
def prune() -> int:
    """Delete answers that are too old for any question."""
    return Result.objects.filter(fetched_at__lt=timezone.now() - timedelta(seconds=LONGEST_FRESH)).delete()[0]
