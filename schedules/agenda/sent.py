"""What the reminders of a person sent on the days of a span, by what became of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

from common.postgres import column, query
from common.uuid7 import first_of
from people.models import User
from schedules.agenda.entry import Days, Entry, begin_of

MOST = 1_500
"""Messages that are read of a day: a reminder of every minute hides no other one."""

# By the index of the history: ids grow with time.
_SENT = """
SELECT asked.day, said.*
  FROM unnest(%(days)s::int[], %(since)s::uuid[], %(until)s::uuid[]) AS asked(day, since, until),
       LATERAL (
           SELECT origin_id, outcome, count(*) AS count, min(at) AS first, max(at) AS last,
                  (array_agg(id))[1] AS id, (array_agg(subject))[1] AS subject
             FROM (SELECT id, origin_id, outcome, coalesce(slot, created_at) AS at, subject
                     FROM notifications_notification
                    WHERE user_id = %(user)s AND id >= asked.since AND id < asked.until AND origin = 'schedule'
                    ORDER BY id LIMIT %(most)s) one
            GROUP BY origin_id, outcome
       ) said
 ORDER BY said.first
"""
# By `Notification.Outcome`, the states for people.
_STATES = {"open": "pending", "full": "fired", "partial": "partial", "failed": "dead", "dropped": "cancelled"}


def sent(user: User, days: Days, now: datetime) -> list[Entry]:
    """Entries up to `now`: one for each reminder, day and state, at the time for which it was sent. One statement."""
    edges = [begin_of(day, days.zone) for day in [*days, days.last + timedelta(days=1)]]
    begun = [(since, until) for since, until in pairwise(edges) if since <= now]
    rows = query(
        _SENT,
        {
            "days": column(range(len(begun))),
            "since": column(first_of(since) for since, _ in begun),
            "until": column(first_of(until) for _, until in begun),
            "user": user.pk,
            "most": MOST,
        },
    )
    read = [0] * len(begun)
    for row in rows:
        read[row.day] += row.count
    return [
        Entry(
            row.subject,
            row.first,
            row.last,
            days.zone,
            row.count,
            row.count > 1 and read[row.day] == MOST,
            _STATES[row.outcome],
            schedule_id=row.origin_id,
            notification_id=row.id,
        )
        for row in rows
    ]
