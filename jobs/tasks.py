"""The Celery tasks. Their arguments are ids only, because they are logged."""

from celery import shared_task

from jobs import retention
from jobs.batches import progress
from jobs.batches.kind import BATCH
from jobs.checks.kind import JOB
from work.tasks import task_of

check = task_of(JOB)
tell = task_of(BATCH)


@shared_task(name="jobs.count", ignore_result=True)
def count() -> None:
    """Keep the progress of batches, and cancel what is left of cancelled ones."""
    progress.cancel_parts()
    progress.count_open()


@shared_task(name="jobs.prune", ignore_result=True)
def prune() -> int:
    return retention.prune()
