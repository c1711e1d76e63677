"""What the reminders of a person sent on the days of a span, by what became of it, and which times were skipped."""

from __future__ import annotations

from collections import defaultdict
from datetime import date, datetime, timedelta
from itertools import pairwise
from uuid import UUID

from common.civil_time import local
from common.postgres import column, query
from common.uuid7 import first_of
from people.models import User
from schedules.agenda.entry import Days, Entry, begin_of
from schedules.models import Occurrence

MOST = 1_500
"""Messages that are read of a day: a reminder of every minute hides no other one."""

MOST_SKIPPED = 1_000
"""Times without a message that are read of a span."""

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


def skipped(user: User, days: Days, now: datetime) -> list[Entry]:
    """The times up to `now` for which nothing was sent: missed, without a channel, on holiday, … One statement."""
    rows = Occurrence.objects.filter(
        schedule__user=user,
        schedule__deleted_at=None,
        outcome=Occurrence.Outcome.SKIPPED,
        scheduled_for__gte=days.begin,
        scheduled_for__lt=min(days.end, now),
    ).values_list("schedule_id", "schedule__title", "scheduled_for")
    by_day: dict[tuple[UUID, date], list[datetime]] = defaultdict(list)
    titles: dict[UUID, str] = {}
    for schedule_id, title, slot in rows.order_by()[:MOST_SKIPPED]:
        by_day[schedule_id, local(days.zone, slot).date()].append(slot)
        titles[schedule_id] = title
    return [
        Entry(titles[one], min(slots), max(slots), days.zone, len(slots), state="skipped", schedule_id=one)
        for (one, _), slots in by_day.items()
    ]
