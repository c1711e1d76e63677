"""Queues that workers serve. Each worker says so in Redis every few seconds, while it is connected to the broker.

A queue that nobody serves loses nothing, but its work waits, and nothing else would show it.
"""

from collections.abc import Callable, Iterable
from typing import Any

from celery import bootsteps
from django.conf import settings
from django.core.cache import cache
from django.utils.translation import gettext as _

from common import probe

EVERY = 10.0  # seconds
# A queue that no worker has named for so long is not served.
SILENT = 60  # seconds
REMEMBERED = 24 * 3_600  # seconds

# Apps add what returns further queues in use.
also_used: list[Callable[[], Iterable[str]]] = []


def announce(queues: Iterable[str]) -> None:
    for queue in queues:
        cache.set(_key(queue), 1, REMEMBERED)


def last_seen() -> dict[str, float | None]:
    """For each queue in use, the seconds since a worker named it; None: not within a day.

    Empty while Redis does not answer, because nobody knows then.
    """
    if not cache.answers():  # type: ignore[attr-defined]  # common.redis.cache.Cache
        return {}
    used = list(dict.fromkeys([*settings.QUEUES, *(queue for queues in also_used for queue in queues())]))
    # By the age of the key, so that only the clock of Redis counts.
    left = cache.seconds_left([_key(queue) for queue in used])  # type: ignore[attr-defined]  # common.redis.cache.Cache
    return {queue: None if one is None else REMEMBERED - one for queue, one in zip(used, left, strict=True)}


def is_served(seen: float | None) -> bool:
    return seen is not None and seen < SILENT


def unserved() -> list[str]:
    """The queues in use that no worker serves; none while Redis does not answer."""
    return [queue for queue, seen in last_seen().items() if not is_served(seen)]


def warning(queues: list[str]) -> str:
    """The problem and its remedy, for operators."""
    return _("No worker serves %(queues)s: its messages wait. Start a worker with -Q %(option)s.") % {
        "queues": ", ".join(queues),
        "option": ",".join(queues),
    }


class Announcement(bootsteps.StartStopStep):
    """A step of a worker's consumer: it ends with the connection to the broker."""

    requires = ("celery.worker.consumer.tasks:Tasks",)
    _timer: Any = None

    def start(self, consumer: Any) -> None:
        """Announce at once, then every few seconds: queues can be added and cancelled meanwhile."""
        _announce_queues_of(consumer)
        self._timer = consumer.timer.call_repeatedly(EVERY, _announce_queues_of, (consumer,))

    def stop(self, consumer: Any) -> None:
        probe.note("worker", waits_for="the broker")
        if self._timer:
            self._timer.cancel()

    shutdown = stop


def _announce_queues_of(consumer: Any) -> None:
    probe.note("worker")
    announce(queue.name for queue in consumer.task_consumer.queues)


def _key(queue: str) -> str:
    return f"served-queue:{queue}"
