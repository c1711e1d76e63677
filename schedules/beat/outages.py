"""After an outage of all beats: the schedules that still wait, and what became of the others."""

import time
from datetime import datetime, timedelta
from typing import Any

from common import uuid7
from common.database.postgres import query
from schedules.beat.heartbeat import Outage
from schedules.firing import fire
from schedules.models import Schedule
from work.models.hold import OFF

# Beats catch up within this time after an outage.
CAUGHT_UP = timedelta(hours=1)


_WAITING = f"""
SELECT count(*) AS schedules, min(next_fire_at) AS since, NOT {OFF} AS is_on_hold FROM schedules_schedule
 WHERE next_fire_at < %(now)s AND next_fire_at < %(now)s - grace * interval '1 second'
"""  # noqa: S608 - constants only


def waiting(now: datetime) -> Any:
    """How many `schedules` have a next slot that is missed (past its grace) and not fired yet, and `since` when."""
    [row] = query(_WAITING, {"now": now})
    return row


_HANDLED = """
SELECT s.misfire AS policy, count(*) FILTER (WHERE o.reason = 'late') AS sent,
       count(*) FILTER (WHERE o.reason = 'misfire') AS skipped
  FROM schedules_occurrence o JOIN schedules_schedule s ON s.id = o.schedule_id
 WHERE o.id BETWEEN %s AND %s AND o.scheduled_for BETWEEN %s AND %s AND o.reason IN ('late', 'misfire')
 GROUP BY s.misfire ORDER BY s.misfire
"""


def handled(outage: Outage, now: datetime) -> list[Any]:
    """Count the slots within an outage, for each policy that had some: `sent` late, and `skipped` as missed."""
    end = outage.ended or now
    # Occurrences are not indexed by time alone.
    return query(_HANDLED, [uuid7.first_of(outage.began), uuid7.first_of(end + CAUGHT_UP), outage.began, end])


def settle(now: datetime, policy: Schedule.Misfire, seconds: float) -> int:
    """Fire what waits by one `policy` instead of each owner's, one-time reminders too; returns how many schedules.

    Slots within their grace fire as usual. No batch begins after `seconds`: the rest still waits.
    """
    settled, end = 0, time.monotonic() + seconds
    while time.monotonic() < end and (moved := fire.fire_due(now, limit=fire.BATCH, policy=policy)):
        settled += moved
    return settled
