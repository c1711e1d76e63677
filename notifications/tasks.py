"""The Celery tasks. Their arguments are ids only, because they are logged."""

from __future__ import annotations

import os
import socket
from typing import Any
from uuid import UUID

from celery import Task, shared_task
from celery.exceptions import Retry
from django.utils import timezone

from notifications import operator_summary, owner_notices
from notifications.deliveries import outbox, sender, wakes
from notifications.deliveries import rescue as rescuing
from notifications.deliveries.sender import SendAgain

_HOST = socket.gethostname()


class DeliveryTask(Task[[str], None]):
    """One delivery a message. Autoretry publishes the next try with the wait that the row has."""

    autoretry_for = (SendAgain,)
    max_retries = None  # the row counts the tries: a message can be lost or doubled
    ignore_result = True  # the attempts are the record

    def retry(  # type: ignore[override]  # the options of the supertype, passed on as they come
        self, args: Any = None, kwargs: Any = None, exc: Any = None, countdown: Any = None, **options: Any
    ) -> Retry:
        if isinstance(exc, SendAgain):
            if not wakes.is_published(exc.wait):
                return Retry(exc=exc, when=exc.wait)  # rescue publishes it when the wait is nearly over
            countdown = exc.wait
        return super().retry(args, kwargs, exc=exc, countdown=countdown, **options)


@shared_task(base=DeliveryTask, name=outbox.DELIVER)
def deliver(delivery_id: str) -> None:
    sender.send(UUID(delivery_id), worker=f"{_HOST}:{os.getpid()}")


@shared_task(name="notifications.rescue")
def rescue() -> dict[str, Any]:
    rescued = rescuing.rescue()
    return {
        "expired": rescued.expired,
        "again": rescued.recovered.again,
        "held": rescued.recovered.held,
        "dead": rescued.recovered.dead,
        "advanced": rescued.advanced,
        "published": rescued.published,
    }


@shared_task(name="notifications.tell_owners")
def tell_owners() -> int:
    return owner_notices.tell_owners(timezone.now())


@shared_task(
    name="notifications.tell_operators",
    autoretry_for=(OSError,),
    retry_backoff=60,
    retry_backoff_max=300,
    max_retries=9,
)
def tell_operators() -> int:
    return operator_summary.send(timezone.now())
