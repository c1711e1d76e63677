"""Tasks: two fire schedules under the stock scheduler, with nothing left by our own beat; two prune; the canary."""

from functools import partial
from uuid import UUID

from celery import shared_task, signals
from django.conf import settings
from django.core.cache import cache

from common.database.postgres import change, persist, query
from schedules.beat import canary, periodic_runs
from schedules.firing import early_messages, fire
from schedules.parts import mirror
from work.broker import periodic
from work.retention import Retention

signals.task_success.connect(periodic_runs.note)


@shared_task(name=mirror.FIRE, ignore_result=True)
def fire_one(schedule_id: str) -> None:
    """Fire one schedule if it is due: the task of its `PeriodicTask`."""
    fire.fire_due(fire.read_clock().now, only=[UUID(schedule_id)])


@shared_task(name="schedules.sweep", ignore_result=True)
def sweep() -> None:
    """Fire what is due, whether or not its `PeriodicTask` has run: a crontab cannot express every rule, and no early
    messages."""
    now = fire.read_clock().now
    while fire.fire_due(now) or early_messages.send_due(now):
        pass


periodic.NEEDED["schedules.sweep"] = lambda: "SELECT WHERE false"  # our own beat has fired it

run_canary = shared_task(name="schedules.canary", ignore_result=True)(canary.run)


# What deleted and edited reminders leave is deleted. The reminders stay, since their history refers to them.
_PRUNE = """
DELETE FROM jobs_memory m USING schedules_schedule s
 WHERE s.id = m.origin_id AND s.deleted_at < now() - %s * interval '1 day'
"""

# Rows of instants that one statement reads, and statements of one run: what a run costs does not grow with the table.
_PART, _PARTS = 10_000, 20
_CURSOR = "clocked-cursor"
_PRUNE_CLOCKED = """
WITH part AS (
    SELECT id FROM django_celery_beat_clockedschedule WHERE id > %(after)s AND id <= %(last)s ORDER BY id LIMIT %(part)s
), gone AS (
    DELETE FROM django_celery_beat_clockedschedule WHERE id IN (
        SELECT c.id FROM part JOIN django_celery_beat_clockedschedule c USING (id)
         WHERE NOT EXISTS (SELECT FROM django_celery_beat_periodictask task WHERE task.clocked_id = c.id)
           FOR UPDATE OF c SKIP LOCKED)
    RETURNING id
)
SELECT (SELECT count(*) FROM part) AS seen, (SELECT max(id) FROM part) AS after, (SELECT count(*) FROM gone) AS gone,
       (SELECT max(id) FROM django_celery_beat_clockedschedule) AS newest
"""


# The newest slot of each reminder stays: it says until when its slots are settled. So does what is skipped ahead.
_SETTLED = """
d.scheduled_for < %(since)s
AND EXISTS (SELECT FROM schedules_schedule s
             WHERE s.id = d.schedule_id AND (s.next_fire_at IS NULL OR d.scheduled_for < s.next_fire_at))
AND EXISTS (SELECT FROM schedules_occurrence later
             WHERE later.schedule_id = d.schedule_id AND later.scheduled_for > d.scheduled_for
               AND later.reason <> 'manual')
"""
SLOTS = Retention("slots", "HISTORY_KEPT_DAYS", "schedules_occurrence", _SETTLED)


@shared_task(name="schedules.prune_slots", ignore_result=True)
def prune_slots() -> int:
    return SLOTS.prune()


@shared_task(name="schedules.prune", ignore_result=True)
def prune() -> int:
    """Delete memories of reminders that were deleted `JOBS_KEPT_DAYS` ago, and unused instants. Returns how many."""
    return persist(partial(change, _PRUNE, [settings.JOBS_KEPT_DAYS])) + prune_clocked()


def prune_clocked() -> int:
    """Delete the instants of one-time reminders that no periodic task has any more; returns how many.

    It goes round the table in steps. Rows that are newer than the last round are left: an operator may be about to use
    them.
    """
    after, last = cache.get(_CURSOR) or (0, 0)
    deleted = 0
    for _ in range(_PARTS):
        [row] = persist(partial(query, _PRUNE_CLOCKED, {"after": after, "last": last, "part": _PART}))
        deleted += row.gone
        after = row.after
        if row.seen < _PART:
            after, last = 0, row.newest or 0
            break
    cache.set(_CURSOR, (after, last), None)
    return deleted
