"""The Celery tasks. Their arguments are ids only, because they are logged."""

from celery import shared_task

from events.kinds import inside, retention
from events.kinds.digest import DIGEST
from events.kinds.event import EVENT
from work.tasks import task_of

handle = task_of(EVENT)
send_digest = task_of(DIGEST)


@shared_task(name="events.record_changes", ignore_result=True)
def record_changes() -> None:
    inside.record_changes()


@shared_task(name="events.prune")
def prune() -> int:
    return retention.prune()
