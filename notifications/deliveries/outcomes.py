"""The outcome of the last notification of each schedule, where it did not arrive everywhere."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Prefetch

from common.database.postgres import column, query
from notifications.models import Delivery, Notification

# So many of the newest are looked at: behind more that are open or dropped, nothing is shown.
NEWEST = 20

_LAST = """
SELECT last.id
  FROM unnest(%s::uuid[]) AS asked(origin_id),
       LATERAL (
           SELECT n.id, n.outcome
             FROM (SELECT id, outcome FROM notifications_notification
                    WHERE origin_id = asked.origin_id ORDER BY id DESC LIMIT %s) n
            WHERE n.outcome IN ('full', 'partial', 'failed') ORDER BY n.id DESC LIMIT 1
       ) last
 WHERE last.outcome <> 'full'
"""


def last_troubles(origins: Sequence[UUID]) -> dict[UUID, Notification]:
    """By schedule, the newest notification that arrived or failed, unless it arrived in full; with its deliveries."""
    if not origins:
        return {}
    found = [row.id for row in query(_LAST, [column(origins), NEWEST])]
    deliveries = Prefetch("deliveries", Delivery.objects.select_related("channel").order_by("channel_id"))
    troubled = Notification.objects.filter(id__in=found).prefetch_related(deliveries)
    return {said.origin_id: said for said in troubled if said.origin_id is not None}
