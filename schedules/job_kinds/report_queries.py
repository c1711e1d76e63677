"""Queries of reports: each is bounded, by an index, whatever the history. Takes and returns values of JSON."""

from datetime import datetime, timedelta
from functools import partial
from typing import Any

from common.database.postgres import persist, query
from common.uuid7 import first_of

MOST_COUNTED = 10_000
"""Of one person; beyond, a report says “10,000+”."""
MOST_OF_ALL = 100_000
LINES = 10
COMING = timedelta(days=7)

# By the index of a person's history, whose ids are in the order of time. What a status webhook is sent may be far more
# than all else, so that is bounded before it is left out.
_SENT = """
WITH newest AS MATERIALIZED (
    SELECT subject, outcome, created_at, origin FROM notifications_notification
     WHERE user_id = %(user)s AND id >= %(first)s AND id < %(last)s ORDER BY id DESC LIMIT %(most_read)s
), lately AS MATERIALIZED (
    SELECT * FROM newest WHERE origin NOT IN ('test', 'code', 'status') LIMIT %(most)s + 1
)
SELECT count(*) FILTER (WHERE outcome IN ('full', 'partial')) AS count,
       (SELECT coalesce(json_agg(json_build_array(created_at, subject)), '[]')
          FROM (SELECT * FROM lately WHERE outcome IN ('full', 'partial') LIMIT %(lines)s) shown) AS lines
  FROM lately
"""

# By the index of a channel's dead letters.
_FAILED = """
WITH failed AS MATERIALIZED (
    SELECT d.id, d.notification_id, d.reason_code, d.reason_params, d.settled_at, c.label
      FROM notifications_channel c CROSS JOIN LATERAL (
               SELECT * FROM notifications_delivery
                WHERE channel_id = c.id AND state IN ('dead', 'unknown') AND id >= %(first)s AND id < %(last)s
                ORDER BY id DESC LIMIT %(most)s + 1
           ) d
     WHERE c.user_id = %(user)s AND c.provider <> 'status'
)
SELECT (SELECT count(*) FROM failed) AS count,
       (SELECT coalesce(json_agg(json_build_array(f.settled_at, n.subject, f.label, f.reason_code, f.reason_params)
                                 ORDER BY f.id DESC), '[]')
          FROM (SELECT * FROM failed ORDER BY id DESC LIMIT %(lines)s) f
          JOIN notifications_notification n ON n.id = f.notification_id) AS lines
"""

# By the index of a person's next slots.
_COMING = """
WITH coming AS MATERIALIZED (
    SELECT title, next_fire_at FROM schedules_schedule
     WHERE user_id = %(user)s AND deleted_at IS NULL AND next_fire_at >= %(now)s AND next_fire_at < %(until)s
     ORDER BY next_fire_at LIMIT %(most)s + 1
)
SELECT (SELECT count(*) FROM coming) AS count,
       (SELECT coalesce(json_agg(json_build_array(next_fire_at, title)), '[]')
          FROM (SELECT * FROM coming LIMIT %(lines)s) shown) AS lines
"""

# By the primary keys, which are in the order of time.
_DELIVERIES = """
WITH lately AS MATERIALIZED (
    SELECT provider, state, created_at FROM notifications_delivery
     WHERE id >= %(first)s AND id < %(last)s AND provider <> 'status' ORDER BY id DESC LIMIT %(most)s
)
SELECT coalesce((SELECT json_agg(json_build_array(provider, sent, failed) ORDER BY failed DESC, sent DESC, provider)
                   FROM (SELECT provider, count(*) FILTER (WHERE state = 'delivered') AS sent,
                                count(*) FILTER (WHERE state IN ('dead', 'unknown')) AS failed
                           FROM lately GROUP BY provider) by_provider), '[]') AS providers,
       (SELECT json_build_array(date_trunc('hour', created_at, 'UTC'), count(*))
          FROM lately GROUP BY date_trunc('hour', created_at, 'UTC') ORDER BY count(*) DESC LIMIT 1) AS busiest
"""
_LATENESS = """
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY late) AS median,
       percentile_cont(0.99) WITHIN GROUP (ORDER BY late) AS most
  FROM (SELECT extract(epoch FROM fired_at - scheduled_for) AS late FROM schedules_occurrence
         WHERE id >= %(first)s AND id < %(last)s AND outcome = 'fired' ORDER BY id DESC LIMIT %(most)s) lately
"""
# By the partial indexes of dead letters.
_DEAD = """
SELECT count(*) AS count FROM (
    (SELECT FROM notifications_delivery WHERE state IN ('dead', 'unknown') LIMIT %(most)s + 1)
    UNION ALL (SELECT FROM events_event WHERE state IN ('dead', 'unknown') LIMIT %(most)s + 1)
    UNION ALL (SELECT FROM jobs_job WHERE state IN ('dead', 'unknown') LIMIT %(most)s + 1)
    UNION ALL (SELECT FROM jobs_batch WHERE state IN ('dead', 'unknown') LIMIT %(most)s + 1)
) dead
"""


def of_person(user_id: int, start: datetime, end: datetime) -> dict[str, Any]:
    """Count a person's deliveries from `start` to `end`, and list what comes after it. Three statements."""
    values = {
        "user": user_id,
        "first": first_of(start),
        "last": first_of(end),
        "now": end,
        "until": end + COMING,
        "most": MOST_COUNTED,
        "most_read": MOST_OF_ALL,
        "lines": LINES,
    }
    parts = {}
    for part, statement in (("sent", _SENT), ("failed", _FAILED), ("coming", _COMING)):
        [row] = _read(statement, values)
        parts[part] = {"count": row.count, "lines": row.lines}
    return parts


def of_everybody(start: datetime, end: datetime) -> dict[str, Any]:
    """The newest 100,000 deliveries and slots from `start` to `end`, and the waiting dead letters. Three statements."""
    values = {"first": first_of(start), "last": first_of(end), "most": MOST_OF_ALL}
    [deliveries] = _read(_DELIVERIES, values)
    [lateness] = _read(_LATENESS, values)
    [dead] = _read(_DEAD, {"most": MOST_COUNTED})
    late = None if lateness.median is None else [float(lateness.median), float(lateness.most)]
    return {"providers": deliveries.providers, "busiest": deliveries.busiest, "late": late, "dead": dead.count}


def _read(statement: str, values: dict[str, Any]) -> list[Any]:
    return persist(partial(query, statement, values))
