"""Celery tasks: of each kind of work, rescue, and the operators' email. Their arguments are ids: they are logged."""

import os
import socket
from typing import Any
from uuid import UUID

from celery import Task, shared_task
from celery.exceptions import Retry
from django.utils import timezone

from work import dead_letters, totals
from work.backup import newest
from work.broker import periodic, wakes
from work.engine import rescue as rescuing, runner
from work.engine.runner import TryAgain
from work.kinds import Kind
from work.operators import summary

_HOST = socket.gethostname()


class WorkTask(Task[[str], None]):
    """One piece of work a message. Autoretry publishes the next try with the wait that the row has."""

    autoretry_for = (TryAgain,)
    max_retries = None  # the row counts the tries: a message can be lost or doubled
    ignore_result = True  # the attempts are the record

    def retry(  # type: ignore[override]  # the options of the supertype, passed on as they come
        self, args: Any = None, kwargs: Any = None, exc: Any = None, countdown: Any = None, **options: Any
    ) -> Retry:
        if isinstance(exc, TryAgain):
            if not wakes.is_published(exc.wait):
                # Rescue publishes it when the wait is nearly over; monitors see a retry.
                return Retry(exc=exc, when=exc.wait)  # type: ignore[arg-type]
            countdown = exc.wait
        return super().retry(args, kwargs, exc=exc, countdown=countdown, **options)


def task_of(kind: Kind[Any]) -> Any:
    """Declare the task of a kind, for the `tasks` module of its app."""

    @shared_task(base=WorkTask, name=kind.task)
    def run(work_id: str) -> None:
        runner.run(kind, UUID(work_id), worker=f"{_HOST}:{os.getpid()}")

    return run


rescue = shared_task(name="work.rescue", ignore_result=True, store_errors_even_if_ignored=True)(rescuing.rescue)
periodic.NEEDED["work.rescue"] = rescuing.needed

count_tries = shared_task(name="work.count_tries", ignore_result=True)(totals.count)
back_up = shared_task(name="work.back_up", ignore_result=True)(newest.start_if_due)


@shared_task(name="work.prune_interventions", ignore_result=True)
def prune_interventions() -> int:
    return dead_letters.INTERVENTIONS.prune()


@shared_task(
    name="work.tell_operators", autoretry_for=(OSError,), retry_backoff=60, retry_backoff_max=300, max_retries=9
)
def tell_operators() -> int:
    return summary.send(timezone.now())
