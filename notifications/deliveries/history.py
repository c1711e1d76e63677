"""Find a person's notifications by day, channel, state and words; the last outcomes of schedules and channels.

A bounded part of a long history is read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Prefetch, QuerySet

from common.database.paging import FIRST_ID, LAST_ID, Span
from common.database.postgres import column, query
from common.uuid7 import first_of
from notifications.models import Delivery, Notification

# Ids are made by the clocks of several machines, `created_at` by the database's.
_SLACK = timedelta(minutes=10)

# By the indexes `delivery_history` and `delivery_open`, which are in the order of the pages: so many rows at most for
# each channel and state. A join could be planned as one of all rows.
_ENDED = """(
           SELECT d.notification_id AS id FROM notifications_delivery d
            WHERE d.channel_id = c.id AND d.state = s.state AND d.settled_at IS NOT NULL
              AND d.notification_id > %(above)s AND d.notification_id < %(below)s
              AND (SELECT n.created_at >= %(since)s AND n.created_at < %(until)s AND n.origin <> ALL (%(without)s)
                     FROM notifications_notification n WHERE n.id = d.notification_id)
            ORDER BY d.notification_id {order} LIMIT %(most)s)"""
_CANDIDATES = """
SELECT DISTINCT match.id
  FROM unnest(%(channels)s::uuid[]) c (id) CROSS JOIN unnest(%(states)s::text[]) s (state)
 CROSS JOIN LATERAL ($ended UNION ALL $open) match
 ORDER BY match.id {order} LIMIT %(most)s
""".replace("$ended", _ENDED).replace("$open", _ENDED.replace("IS NOT NULL", "IS NULL"))


@dataclass(frozen=True, slots=True)
class Period:
    """From `since` on, before `until`, by when they were recorded; None: without an end."""

    since: datetime | None = None
    until: datetime | None = None

    def of(self, rows: QuerySet[Notification]) -> QuerySet[Notification]:
        """Those of `rows` in it; by id too, which the indexes have."""
        if self.since is not None:
            rows = rows.filter(created_at__gte=self.since, id__gte=self.first)
        if self.until is not None:
            rows = rows.filter(created_at__lt=self.until, id__lt=self.last)
        return rows

    @property
    def first(self) -> UUID:
        return FIRST_ID if self.since is None else first_of(self.since - _SLACK)

    @property
    def last(self) -> UUID:
        return LAST_ID if self.until is None else first_of(self.until + _SLACK)


def candidates(
    channels: Sequence[UUID], states: Sequence[str], period: Period, span: Span, without: Sequence[str]
) -> list[UUID]:
    """The ids of the notifications with a delivery to one of `channels` in one of `states`, not of these origins."""
    values = {
        "channels": list(channels),
        "states": list(states),
        "above": max(span.above, period.first),
        "below": min(span.below, period.last),
        "since": period.since or datetime.min.replace(tzinfo=UTC),
        "until": period.until or datetime.max.replace(tzinfo=UTC),
        "without": list(without),
        "most": span.most,
    }
    return [row.id for row in query(_CANDIDATES.format(order="ASC" if span.ascending else "DESC"), values)]


def with_delivery(
    rows: QuerySet[Notification], channels: Sequence[UUID], states: Sequence[str]
) -> QuerySet[Notification]:
    """Those of `rows`, which must be few, with a delivery to one of `channels` in one of `states`."""
    return rows.filter(
        Exists(Delivery.objects.filter(notification=OuterRef("pk"), channel__in=channels, state__in=states))
    )


NEWEST = 20
"""Of a schedule: behind more that are open or dropped, nothing is shown."""

_LAST = """
SELECT last.id
  FROM unnest(%s::uuid[]) AS given(origin_id),
       LATERAL (
           SELECT n.id, n.outcome
             FROM (SELECT id, outcome FROM notifications_notification
                    WHERE origin_id = given.origin_id ORDER BY id DESC LIMIT %s) n
            WHERE n.outcome IN ('full', 'partial', 'failed') ORDER BY n.id DESC LIMIT 1
       ) last
 WHERE last.outcome <> 'full'
"""


def last_troubles(origins: Sequence[UUID]) -> dict[UUID, Notification]:
    """By schedule, the newest notification that arrived or failed, unless it arrived in full; with its deliveries."""
    if not origins:
        return {}
    ids = [row.id for row in query(_LAST, [column(origins), NEWEST])]
    deliveries = Prefetch("deliveries", Delivery.objects.select_related("channel").order_by("channel_id"))
    troubled = Notification.objects.filter(id__in=ids).prefetch_related(deliveries)
    return {notification.origin_id: notification for notification in troubled if notification.origin_id is not None}


MOST_COUNTED = 1_000
DAYS = 30

# Read by the index `delivery_of_channel`; ids grow with time.
_STATISTICS = """
WITH newest AS (
    SELECT state, created_at, available_at, settled_at FROM notifications_delivery
     WHERE channel_id = %(channel)s ORDER BY id DESC LIMIT %(newest)s
)
SELECT count(*) AS counted,
       count(*) FILTER (WHERE state = 'delivered') AS sent,
       count(*) FILTER (WHERE state IN ('dead', 'unknown')) AS failed,
       max(settled_at) FILTER (WHERE state = 'delivered') AS last,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY settled_at - available_at)
           FILTER (WHERE state = 'delivered') AS median
  FROM newest WHERE created_at > now() - %(days)s * interval '1 day'
"""


def statistics_of(channel_id: UUID) -> Any:
    """Of the last `DAYS` days, at most `MOST_COUNTED` deliveries; `median`: from when it may be sent to acceptance."""
    [row] = query(_STATISTICS, {"channel": channel_id, "newest": MOST_COUNTED, "days": DAYS})
    return row
