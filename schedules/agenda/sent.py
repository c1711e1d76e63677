"""A person's sent reminders on the days of a span, by outcome, and their skipped times."""

from collections import defaultdict
from datetime import date, datetime
from itertools import pairwise
from uuid import UUID

from common.database.postgres import query
from common.database.rows import Rows
from common.times.civil_time import local
from common.uuid7 import first_of
from people.models import User
from schedules.agenda.entry import Days, Entry
from schedules.models import Occurrence

MOST = 1_500
"""Messages that are read of a day: a reminder of every minute hides no other one."""

MOST_SKIPPED = 1_000
"""Times without a message that are read of a span."""

# By an index: ids grow with time. A row of each group is remembered by its place in the table, which costs half as much
# as an array of its columns for each of a thousand groups.
_SPANS = Rows("span", day=int, since=UUID, until=UUID, way=int)
_SENT = f"""
SELECT span.day, entry.*, one.id, one.subject
  FROM {_SPANS.sql}, LATERAL (
           SELECT origin_id, outcome, count(*) AS count, min(at) AS first, max(at) AS last, min(ctid) AS place,
                  count(*) OVER () AS entries, sum(count(*)) OVER () AS read
             FROM (SELECT ctid, origin_id, outcome, coalesce(slot, created_at) AS at
                     FROM notifications_notification
                    WHERE user_id = %(user)s AND id >= span.since AND id < span.until AND origin = 'schedule'
                      AND early IS NULL
                    ORDER BY id LIMIT %(most)s) read
            GROUP BY origin_id, outcome
            ORDER BY count(*) > 1, date_part('epoch', min(at)) * span.way LIMIT %(shown)s
       ) entry
  JOIN notifications_notification one ON one.ctid = entry.place
 ORDER BY entry.first
"""  # noqa: S608 - constants only
# By `Notification.Outcome`, the states for people.
_STATES = {"open": "pending", "full": "fired", "partial": "partial", "failed": "dead", "dropped": "cancelled"}


def sent(user: User, days: Days, now: datetime, shown: int) -> tuple[list[Entry], dict[date, int]]:
    """Entries up to `now`: one for each reminder, day and state, at the time for which it was sent. One statement.

    Of each day the first `shown`, of the last day the last ones; and how many more there are, where there are more.
    """
    spans = [
        (day, first_of(since), first_of(until), -1 if until > now else 1)
        for day, (since, until) in enumerate(pairwise(days.edges()))
        if since <= now
    ]
    values = {**_SPANS.values(spans), "user": user.pk, "most": MOST, "shown": shown}
    entries, more, dates = [], {}, [*days]
    for row in query(_SENT, values):
        if row.entries > shown:
            more[dates[row.day]] = row.entries - shown
        entries.append(
            Entry(
                row.subject,
                row.first,
                row.last,
                days.zone,
                row.count,
                row.count > 1 and row.read == MOST,
                _STATES[row.outcome],
                schedule_id=row.origin_id,
                notification_id=row.id,
            )
        )
    return entries, more


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
