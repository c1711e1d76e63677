"""What an outage of all beats did: how many slots it touched, what became of them, and what still waits."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from common.postgres import query
from schedules.beat.heartbeat import Outage
from schedules.firing import fire
from schedules.firing.misfire import MOST_SENT
from schedules.models import Schedule

# What an outage leaves behind is caught up within this time, at a thousand schedules a second.
CAUGHT_UP = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Schedules whose next slot is past its grace and which nobody has fired; since when (aware UTC)."""

    schedules: int
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Handled:
    """What a misfire policy did with the slots of an outage: `sent` late, `skipped` as missed."""

    policy: Schedule.Misfire
    sent: int
    skipped: int


def waiting(now: datetime) -> Waiting:
    statement = (
        "SELECT count(*) AS schedules, min(next_fire_at) AS since FROM schedules_schedule"
        " WHERE next_fire_at < %(now)s AND next_fire_at < %(now)s - grace * interval '1 second'"
    )
    [found] = query(statement, {"now": now}, Waiting)
    return found


_HANDLED = """
SELECT s.misfire AS policy, count(*) FILTER (WHERE o.reason = 'late') AS sent,
       count(*) FILTER (WHERE o.reason = 'misfire') AS skipped
  FROM schedules_occurrence o JOIN schedules_schedule s ON s.id = o.schedule_id
 WHERE o.id BETWEEN %s AND %s AND o.scheduled_for BETWEEN %s AND %s AND o.reason IN ('late', 'misfire')
 GROUP BY s.misfire ORDER BY s.misfire
"""


def handled(outage: Outage, now: datetime) -> list[Handled]:
    """By policy, what became of the slots between the outage's beginning and its end; policies of which none was missed
    are left out."""
    end = outage.ended or now
    rows = query(_HANDLED, [_first_id(outage.began), _first_id(end + CAUGHT_UP), outage.began, end])
    return [Handled(Schedule.Misfire(row.policy), row.sent, row.skipped) for row in rows]


def settle(now: datetime, policy: Schedule.Misfire, seconds: float) -> int:
    """Handle what waits by one `policy` instead of each owner's: an operator's "send the latest, all, or none".
    One-offs too. Returns how many schedules were moved on; those within their grace fire as ever. Begins no further
    batch after so many `seconds`: the rest waits on."""
    settled, end = 0, time.monotonic() + seconds
    limit = fire.BATCH if policy != Schedule.Misfire.ALL else fire.BATCH // MOST_SENT
    while time.monotonic() < end and (moved := fire.fire_due(now, limit=limit, policy=policy)):
        settled += moved
    return settled


def _first_id(instant: datetime) -> UUID:
    # Occurrences are not indexed by time alone, but their ids begin with the time at which they were recorded.
    return UUID(int=int(instant.timestamp() * 1000) << 80)
