"""Context processors: whether beat runs, and how many reminders need attention."""

from datetime import timedelta
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from schedules.beat import heartbeat
from schedules.explain import reach
from schedules.models import Schedule


def pulse(request: HttpRequest) -> dict[str, Any]:
    """`pulse`: when a beat was last seen, read only if a page shows it."""
    return {"pulse": SimpleLazyObject(_pulse)}


def _pulse() -> dict[str, Any]:
    seen = heartbeat.beat_last_seen()
    is_stopped = seen is None or timezone.now() - seen > timedelta(seconds=heartbeat.STOPPED)
    return {"last_seen": seen, "is_stopped": is_stopped}


def attention(request: HttpRequest) -> dict[str, Any]:
    """`attention`: the number of the person's reminders that need attention, read only if a page shows it."""
    if (user := getattr(request, "user", None)) is None or not user.is_authenticated:
        return {"attention": 0}
    return {
        "attention": SimpleLazyObject(
            lambda: Schedule.objects.for_user(user).filter(reach.needs_attention(user.pk)).count()
        )
    }
