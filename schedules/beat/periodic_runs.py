"""Carillon's own periodic tasks that are disabled, or do not run: health, the admin and beat's log name them.

A worker notes in Redis that a task has ended well. So it does not matter why one does not run: a clock, a lost
message, a worker that stands still, or an error each time.
"""

from typing import Any

from celery.schedules import crontab
from django.conf import settings
from django.core.cache import cache
from django_celery_beat.models import PeriodicTask

# Longer than any pause between two runs: the age of a key says when it was written, by the clock of Redis alone.
_REMEMBERED = 400 * 86_400
_TOLERATED = 60  # seconds, on top of two intervals


def note(sender: Any = None, **_: Any) -> None:
    """Note a run; a receiver of Celery's `task_success`."""
    if sender.name in _names():
        cache.set(_key(sender.name), 1, _REMEMBERED)


def faults() -> dict[str, bool]:
    """The tasks that do not run, and whether each is disabled. While Redis does not answer, only the disabled ones."""
    names = PeriodicTask.objects.filter(name__in=settings.CELERY_BEAT_SCHEDULE, enabled=False).order_by("name")
    disabled = dict.fromkeys(names.values_list("name", flat=True), True)
    return dict.fromkeys(late(), False) | disabled


def late() -> list[str]:
    """Tasks that have not run for two intervals and a minute. One that never ran counts from the first question."""
    tasks = _names()
    left = cache.seconds_left([_key(task) for task in tasks])  # type: ignore[attr-defined]  # common.redis.cache.Cache
    for task, one in zip(tasks, left, strict=True):
        if one is None:
            cache.add(_key(task), 1, _REMEMBERED)
    return [
        name
        for (name, every), one in zip(tasks.values(), left, strict=True)
        if one is not None and _REMEMBERED - one > 2 * every + _TOLERATED
    ]


def _names() -> dict[str, tuple[str, float]]:
    """For each task, the name of its entry and the seconds between two runs; a crontab of ours is a daily one."""
    return {
        entry["task"]: (name, 86_400.0 if isinstance(entry["schedule"], crontab) else entry["schedule"])
        for name, entry in settings.CELERY_BEAT_SCHEDULE.items()
    }


def _key(task: str) -> str:
    return f"periodic-run:{task}"
