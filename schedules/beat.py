"""The clock: django-celery-beat's scheduler, which also fires our schedules from their index.

Beat holds nothing: what is due stands in the database, so any number of beats may run, and one that dies loses nothing.
"""

from __future__ import annotations

from typing import Any

from celery.utils.log import get_logger
from django.db import Error, close_old_connections
from django.db.models import QuerySet
from django_celery_beat.schedulers import DatabaseScheduler

from schedules import firing, mirror

log = get_logger(__name__)

# A schedule made just now fires within this many seconds of its slot.
LONGEST_SLEEP = 1.0


class Scheduler(DatabaseScheduler):  # type: ignore[misc]  # django-celery-beat ships no types
    """`celery beat --scheduler schedules.beat:Scheduler`."""

    def enabled_models_qs(self) -> QuerySet[Any]:
        """The periodic tasks of the stock loop: not our mirror rows, which it would compare one by one."""
        stock: QuerySet[Any] = super().enabled_models_qs()
        return stock.exclude(task=mirror.FIRE)

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Fire what is due; returns the seconds until the next look, at most `LONGEST_SLEEP`."""
        wait = self._fire_due()
        stock: float = super().tick(*args, **kwargs)
        return min(wait, stock)

    def _fire_due(self) -> float:
        """One batch, so that the stock entries are not starved; 0 when there may be more."""
        try:
            clock = firing.read_clock()
            if clock.seconds_to_next is None or clock.seconds_to_next > LONGEST_SLEEP:
                return LONGEST_SLEEP
            if clock.seconds_to_next > 0:
                return clock.seconds_to_next
            return 0.0 if firing.fire_due(clock.now) else LONGEST_SLEEP
        except Error as error:
            # The database is away or has ended our connection: the slots stay due, and the next tick looks again.
            log.warning("Beat cannot read or write schedules: %s", str(error).strip().partition("\n")[0])
            close_old_connections()
            return LONGEST_SLEEP
