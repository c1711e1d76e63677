"""Send changes to status webhooks: each change becomes a notification to its reader's status webhooks.

The position in the feed moves in the transaction that records the notifications, so each change is sent once.
"""

from __future__ import annotations

import json
from datetime import UTC
from typing import Any
from uuid import UUID

from django.db import transaction

from common.postgres import change, persist, query
from notifications.change_feed import HORIZON, START
from notifications.change_types import STATUS
from notifications.deliveries import outbox
from notifications.models import Notification
from work.wakes import publish_after_commit

CHUNK = 500

_BEGIN = "INSERT INTO notifications_statusposition (id, xact, change_id) VALUES (1, %s, %s) ON CONFLICT DO NOTHING"
# A position in the future is of another database, such as the one that a backup was restored into this one from.
_TAKE = """
SELECT CASE WHEN xact <= pg_snapshot_xmax(pg_current_snapshot())::text::bigint THEN xact ELSE 0 END AS xact, change_id
  FROM notifications_statusposition FOR UPDATE SKIP LOCKED
"""
_MOVE = "UPDATE notifications_statusposition SET xact = %s, change_id = %s"

# Each change, with each of its readers who have a status webhook for it; without one, with nulls.
_FOUND = f"""
WITH page AS MATERIALIZED (
    SELECT c.* FROM notifications_change c
     WHERE (c.xact, c.id) > (%(xact)s, %(id)s) AND c.xact < {HORIZON}
     ORDER BY c.xact, c.id LIMIT %(limit)s
)
SELECT c.xact, c.id, c.type, c.at, c.data::text AS data, reader.user_id AS reader_id, reader.channels
  FROM page c LEFT JOIN LATERAL (
    SELECT w.user_id, array_agg(w.id ORDER BY w.id) AS channels
      FROM notifications_channel w JOIN people_user p ON p.id = w.user_id AND p.is_active
     WHERE w.provider = '{STATUS}' AND w.removed_at IS NULL AND w.disabled_at IS NULL AND w.verified_at <= c.at
       AND (w.user_id = c.user_id OR (w.address @> '{{"everybody": true}}' AND p.is_staff))
       AND (w.address -> 'types' ? c.type OR w.address -> 'types' ? (split_part(c.type, '.', 1) || '.*'))
     GROUP BY w.user_id
  ) reader ON true
 ORDER BY c.xact, c.id, reader.user_id
"""  # noqa: S608 - constants only


def send_changes() -> int:
    """Record a notification for each new change and reader. Returns how many changes were looked at.

    Does nothing while another process does it.
    """
    seen = 0
    while True:
        taken = persist(_send_chunk)
        seen += taken
        if taken < CHUNK:
            return seen


@transaction.atomic
def _send_chunk() -> int:
    change(_BEGIN, list(START))
    position = query(_TAKE, [])
    if not position:
        return 0
    rows = query(_FOUND, {"xact": position[0].xact, "id": position[0].change_id, "limit": CHUNK})
    if not rows:
        return 0
    publish_after_commit(outbox.record(_notification(row) for row in rows if row.reader_id is not None))
    change(_MOVE, [rows[-1].xact, rows[-1].id])
    return len({row.id for row in rows})


def _notification(row: Any) -> outbox.NewNotification:
    """The batch is the change, so that a reader gets one notification of it, on all of their status webhooks."""
    channels: list[UUID] = row.channels
    return outbox.NewNotification(
        user_id=row.reader_id,
        channels=[(channel, STATUS) for channel in channels],
        subject=row.type,
        body="",
        origin=Notification.Origin.STATUS,
        batch_id=row.id,
        data=json.dumps(
            {
                "id": str(row.id),
                "type": row.type,
                "time": row.at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
                "data": json.loads(row.data),
            }
        ),
    )
