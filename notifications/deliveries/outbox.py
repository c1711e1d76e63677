"""Record what is to be delivered, and publish it.

The rows are the outbox. A Celery message only says "look at delivery X": losing one costs time, never a delivery, for
`rescue.py` publishes again what nobody has claimed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from celery import current_app
from django.db import transaction

from common import fault_points
from common.postgres import column, query
from common.uuid7 import uuid7
from notifications import providers
from notifications.deliveries import fair_queue, publisher
from notifications.models import Channel, Notification
from people import quiet

log = logging.getLogger(__name__)

DELIVER = "notifications.deliver"

# A longer wait stays in the table: a worker keeps each message that counts down in memory, at 9 KiB, until it is due.
LONGEST_COUNTDOWN = 10.0
# Seconds that a published delivery may stay unclaimed before rescue publishes it again.
CLAIM_WITHIN = 10.0
# Seconds before a wait in the table is over at which rescue, which runs every 5 s, publishes with a countdown.
EARLY = 6.0


@dataclass(frozen=True, slots=True)
class NewNotification:
    """A notification to be recorded, with the channels (id, provider) that it goes to. Instants are aware.

    `quiet_hours` is what those of its deliveries wait for that would disturb the person. Where `in_order`, only the
    first channel gets a delivery now, and `escalate_after` is in minutes; see `fallback`.
    """

    user_id: int
    channels: Sequence[tuple[UUID, str]]
    subject: str
    body: str
    origin: Notification.Origin
    batch_id: UUID
    origin_id: UUID | None = None
    slot: datetime | None = None
    available_at: datetime | None = None
    expires_at: datetime | None = None
    urgent: bool = False
    quiet_hours: quiet.Wait | None = None
    in_order: bool = False
    escalate_after: int | None = None


@dataclass(frozen=True, slots=True)
class Wake:
    """A delivery to publish, with a countdown of `wait` seconds. `person_id` is whose it is, None where not known."""

    delivery_id: UUID
    wait: float = 0.0
    person_id: int | None = None


_RECORD = """
WITH said AS (
    INSERT INTO notifications_notification (id, batch_id, user_id, origin, origin_id, slot, subject, body, urgent,
                                            channel_order, escalate_after, advance_at)
    SELECT id, batch_id, user_id, origin, origin_id, slot, subject, body, urgent, channel_order::uuid[],
           escalate_after, greatest(first_at, now()) + escalate_after * interval '1 minute'
      FROM unnest(%s::uuid[], %s::uuid[], %s::bigint[], %s::text[], %s::uuid[], %s::timestamptz[], %s::text[],
                  %s::text[], %s::bool[], %s::text[], %s::int[], %s::timestamptz[])
           AS n(id, batch_id, user_id, origin, origin_id, slot, subject, body, urgent, channel_order, escalate_after,
                first_at)
    ON CONFLICT (batch_id, user_id) DO NOTHING
    RETURNING id
)
INSERT INTO notifications_delivery (id, notification_id, channel_id, provider, state, available_at, wake_at, wakes,
                                    expires_at, tries, replays, reason)
SELECT d.id, d.notification_id, d.channel_id, d.provider, 'pending', greatest(d.available_at, now()),
       CASE WHEN d.available_at > now() + %s * interval '1 second' THEN d.available_at - %s * interval '1 second'
            ELSE greatest(d.available_at, now()) + %s * interval '1 second' END,
       0, d.expires_at, 0, 0, d.reason
  FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[], %s::text[], %s::timestamptz[], %s::timestamptz[], %s::text[])
       AS d(id, notification_id, channel_id, provider, available_at, expires_at, reason)
  JOIN said ON said.id = d.notification_id
RETURNING id, extract(epoch FROM available_at - now())::float AS wait, notification_id
"""


def record(sayings: Iterable[NewNotification]) -> list[Wake]:
    """Write notifications and their deliveries, pending, in one statement, within the caller's transaction.

    A saying whose batch has already spoken to that person is left out: recording twice says nothing twice. Returns what
    to publish once the transaction has been committed.
    """
    told = [(uuid7(), saying) for saying in sayings]
    if not told:
        return []
    sent = [
        (uuid7(), notification_id, channel_id, provider, *_wait(saying, provider))
        for notification_id, saying in told
        for channel_id, provider in (saying.channels[:1] if saying.in_order else saying.channels)
    ]
    rows = query(
        _RECORD,
        [
            column(notification_id for notification_id, _ in told),
            column(saying.batch_id for _, saying in told),
            column(saying.user_id for _, saying in told),
            column(str(saying.origin) for _, saying in told),
            column(saying.origin_id for _, saying in told),
            column(saying.slot for _, saying in told),
            column(saying.subject for _, saying in told),
            column(saying.body for _, saying in told),
            column(saying.urgent for _, saying in told),
            column(_order(saying) for _, saying in told),
            column(saying.escalate_after for _, saying in told),
            column(_wait(saying, saying.channels[0][1])[0] if saying.in_order else None for _, saying in told),
            LONGEST_COUNTDOWN,
            EARLY,
            CLAIM_WITHIN,
            *([column(values) for values in zip(*sent, strict=True)] or ["{}"] * 7),
        ],
    )
    whose = {notification_id: saying.user_id for notification_id, saying in told}
    return [Wake(row.id, row.wait, whose[row.notification_id]) for row in rows]


def _order(saying: NewNotification) -> str:
    """The literal of the array of the channels in order; empty where all of them are told at once."""
    return column(channel_id for channel_id, _ in saying.channels) if saying.in_order else "{}"


def _wait(saying: NewNotification, provider: str) -> tuple[datetime | None, datetime | None, str]:
    """When a delivery becomes available, when it expires, and why it waits."""
    if saying.quiet_hours is None or not providers.disturbs(provider):
        return saying.available_at, saying.expires_at, ""
    return saying.quiet_hours.until, saying.expires_at, saying.quiet_hours.note


def publish(wakes: Iterable[Wake]) -> bool:
    """Publish one task a delivery, in one pipeline a queue. False when the broker is away: rescue publishes them."""
    near = [wake for wake in wakes if wake.wait <= LONGEST_COUNTDOWN]
    if not near:
        return True
    fault_points.reach("waking")
    queues: dict[str | None, list[tuple[UUID, float]]] = {}
    for wake in near:
        queues.setdefault(fair_queue.queue_for(wake.person_id), []).append((wake.delivery_id, wake.wait))
    try:
        for queue, calls in queues.items():
            publisher.publish(current_app, DELIVER, calls, queue)
    except publisher.Unreachable as error:
        log.warning("The broker cannot be reached; %d deliveries wait for rescue: %s", len(near), error)
        return False
    return True


def publish_after_commit(wakes: Iterable[Wake]) -> None:
    """Publish once the current transaction is committed; an error in it cannot harm what was committed."""
    committed = list(wakes)

    def publish_them() -> None:  # not a partial: Django names a robust hook that failed by its __qualname__
        publish(committed)

    transaction.on_commit(publish_them, robust=True)


def notify(user_id: int, channels: Sequence[Channel], subject: str, body: str, origin: Notification.Origin) -> UUID:
    """Say something to one person outside of any schedule, now. Returns the batch's id."""
    batch_id = uuid7()
    with transaction.atomic():
        wakes = record(
            [
                NewNotification(
                    user_id=user_id,
                    channels=[(channel.id, channel.provider) for channel in channels],
                    subject=subject,
                    body=body,
                    origin=origin,
                    batch_id=batch_id,
                )
            ]
        )
        publish_after_commit(wakes)
    return batch_id
