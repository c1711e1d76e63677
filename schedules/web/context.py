"""Context processors: whether beat runs, and how many reminders need attention."""

from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from schedules.beat import heartbeat
from schedules.explain import reach
from schedules.models import Schedule


class Pulse:
    """When a beat was last seen; read only if a page shows it."""

    def __init__(self) -> None:
        self.last_seen: datetime | None = heartbeat.beat_last_seen()

    @property
    def is_stopped(self) -> bool:
        return self.last_seen is None or timezone.now() - self.last_seen > timedelta(seconds=heartbeat.STOPPED)


def pulse(request: HttpRequest) -> dict[str, Any]:
    return {"pulse": SimpleLazyObject(Pulse)}


def attention(request: HttpRequest) -> dict[str, Any]:
    """`attention`: the number of the person's reminders that need attention, read only if a page shows it."""
    if (user := getattr(request, "user", None)) is None or not user.is_authenticated:
        return {"attention": 0}
    return {
        "attention": SimpleLazyObject(
            lambda: Schedule.objects.for_user(user).filter(reach.needs_attention(user.pk)).count()
        )
    }
