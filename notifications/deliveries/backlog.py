"""Waiting deliveries and dead ones of channels, and programs that pull queues; for many channels in one statement."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from common.database.postgres import column, query

COUNTED = 1_000
"""Deliveries are counted up to here; one more means more."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """Of one channel. `oldest`: when the oldest that waits was recorded. `pulled_by`: who took the newest message."""

    id: UUID
    waiting: int
    oldest: datetime | None
    dead: int
    pulled_by: str


# The parts read the first entries of `delivery_open`, `delivery_dead_of_channel`, `delivery_pulled` and
# `delivery_history`.
_MOST = COUNTED + 1
_OF = "FROM notifications_delivery d WHERE d.channel_id = c.id"
_OPEN = f"{_OF} AND d.settled_at IS NULL AND d.state = 'pending'"
_WORKER = "SELECT (SELECT worker FROM notifications_attempt WHERE delivery_id = d.id ORDER BY id DESC LIMIT 1)"
_BACKLOGS = f"""
SELECT c.id, (SELECT count(*) FROM (SELECT {_OPEN} LIMIT {_MOST}) open) AS waiting,
       (SELECT d.created_at {_OPEN} ORDER BY d.notification_id LIMIT 1) AS oldest,
       (SELECT count(*) FROM (SELECT {_OF} AND d.state IN ('dead', 'unknown') LIMIT {_MOST}) dead) AS dead,
       CASE WHEN c.provider = 'queue' THEN coalesce(
           ({_WORKER} {_OF} AND d.provider = 'queue' AND d.state = 'sending' AND d.tries > 0 LIMIT 1),
           ({_WORKER} {_OF} AND d.settled_at IS NOT NULL AND d.state = 'delivered'
             ORDER BY d.notification_id DESC LIMIT 1)
       ) END AS pulled_by
  FROM notifications_channel c WHERE c.id = ANY(%(channels)s::uuid[])
"""  # noqa: S608 - constants only


def of_channels(channel_ids: Iterable[UUID]) -> dict[UUID, Backlog]:
    """By the id of the channel."""
    channels = list(channel_ids)
    return {row.id: row for row in query(_BACKLOGS, {"channels": column(channels)}, Backlog)} if channels else {}
