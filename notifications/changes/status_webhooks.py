"""Send changes to status webhooks: each change becomes a notification to its reader's status webhooks."""

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from common.database.damaged import object_of
from common.times.dates import rfc3339
from notifications.changes import feed
from notifications.deliveries import outbox
from notifications.messages.change_types import STATUS
from notifications.models import Notification
from notifications.models.channel import VERIFIED_SQL
from people.models import User
from work.broker.wakes import publish_after_commit

# Each of its readers who have a status webhook for the change: its person, and staff, whose rights `send` checks.
_READERS = f"""
    SELECT w.user_id AS reader_id, array_agg(w.id ORDER BY w.id) AS channels,
           1 + coalesce((SELECT n.hops FROM notifications_notification n
                          WHERE n.id = (c.data ->> 'notification_id')::uuid), 0) AS hops
      FROM (SELECT * FROM notifications_channel c WHERE c.provider = '{STATUS}' AND {VERIFIED_SQL}) w
      JOIN people_user p ON p.id = w.user_id AND p.is_active
     WHERE w.verified_at <= c.at
       AND (w.user_id = c.user_id OR (w.address @> '{{"everybody": true}}' AND p.is_staff))
       AND (w.address -> 'types' ? c.type OR w.address -> 'types' ? (split_part(c.type, '.', 1) || '.*'))
     GROUP BY w.user_id
"""  # noqa: S608 - constants only


def send_changes() -> int:
    """Record a notification for each new change and reader. Returns how many changes were read."""

    def send(rows: Sequence[Any]) -> None:
        of_others = User.objects.filter(pk__in={row.reader_id for row in rows if row.reader_id != row.user_id})
        seeing = {user.pk for user in of_others if user.sees_everybody}
        allowed = (row for row in rows if row.reader_id == row.user_id or row.reader_id in seeing)
        publish_after_commit(outbox.record(map(_notification, allowed)))

    return feed.process("status", _READERS, send)


def _notification(row: Any) -> outbox.NewNotification:
    """The batch is the change, so that a reader gets one notification of it, on all of their status webhooks."""
    channels: list[UUID] = row.channels
    data = object_of(row.data)
    return outbox.NewNotification(
        user_id=row.reader_id,
        channels=[(channel, STATUS) for channel in channels],
        subject=row.type,
        body="",
        origin=Notification.Origin.STATUS,
        batch_id=row.id,
        correlation_id=str(data["correlation_id"]) if data.get("correlation_id") else None,
        hops=row.hops,
        data=json.dumps({"id": str(row.id), "type": row.type, "time": rfc3339(row.at), "data": data}),
    )
