"""Follow those who enable or disable a mirror row: in the admin, by a queryset, or in SQL.

A database trigger notes each such change (migrations 0006 and 0011), but for those of a beat; here it becomes what a
person could have done: `pause` or `resume`, as of the instant of the change.
"""

from __future__ import annotations

import logging

from django.db import connection, transaction

from common.postgres import is_outage
from schedules import editing, mirror
from schedules.models import MirrorChange, Schedule

log = logging.getLogger(__name__)

BATCH = 100
_LOCK = 0x6D6972726F72  # "mirror": one follower at a time keeps the order of changes


def follow() -> int:
    """Apply what has been noted, oldest first, up to `BATCH` changes; returns how many."""
    if not MirrorChange.objects.exists():
        return 0
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
        if not cursor.fetchone()[0]:
            return 0
        changes = list(MirrorChange.objects.all()[:BATCH])
        for change in changes:
            try:
                with transaction.atomic():
                    _apply(change)
            except Exception as error:
                if is_outage(error):
                    raise
                log.error("Mirror row %s: what was done to it cannot be followed: %s", change.task_id, error)
        MirrorChange.objects.filter(id__in=[change.id for change in changes]).delete()
        return len(changes)


def _apply(change: MirrorChange) -> None:
    schedule = Schedule.objects.filter(periodic_task_id=change.task_id).first()
    if schedule is None:
        return
    active = schedule.next_fire_at is not None
    if change.enabled and not active and schedule.deleted_at is None:
        editing.resume(schedule.id, change.at)
    elif not change.enabled and active:
        editing.pause(schedule.id, change.at)
    else:
        mirror.set_enabled(schedule)
