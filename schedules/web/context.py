"""Context processor: whether beat runs."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from schedules.beat import heartbeat


class Pulse:
    """When a beat was last seen; read only if a page shows it."""

    def __init__(self) -> None:
        self.last_seen: datetime | None = heartbeat.beat_last_seen()

    @property
    def is_stopped(self) -> bool:
        return self.last_seen is None or timezone.now() - self.last_seen > timedelta(seconds=heartbeat.STOPPED)


def pulse(request: HttpRequest) -> dict[str, Any]:
    return {"pulse": SimpleLazyObject(Pulse)}
