"""Channels in a chosen order: try the next one when the one before failed, or when nobody acknowledged in time.

A trigger marks the notification (`advance_at`) within the very statement that ends a delivery as dead or unknown, and
recording marks it with the time of its escalation. Whatever crashes, the mark is there, and the next call of `advance`
goes on from it. A delivery that is unknown may have arrived; it counts as failed all the same, because its person has
named another channel for that case, and the first one is not sent to twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import transaction

from common import fault_points
from common.postgres import column, query
from common.uuid7 import uuid7
from notifications.deliveries import outbox
from notifications.models import Delivery, Notification

BATCH = 500

_FAILED = (Delivery.State.DEAD, Delivery.State.UNKNOWN)
_GIVEN_UP = (Delivery.State.CANCELLED, Delivery.State.EXPIRED)


class Standing(NamedTuple):
    """Where a notification stands whose `advance_at` has come. Instants are aware, `escalate_after` is in minutes.

    `label` is the newest delivery's channel, `waits_until` when that delivery becomes available where it has not yet;
    `next_id` and `next_provider` are the first channel in order that can be used and has not been tried.
    """

    notification_id: UUID
    escalate_after: int | None
    now: datetime
    label: str
    state: str
    reason: str
    waits_until: datetime | None
    expires_at: datetime | None
    next_id: UUID | None
    next_provider: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """Whether the next channel is tried and why, and when to look again (None: not before something fails)."""

    go: bool
    because: str = ""
    look_at: datetime | None = None


_TAKE = """
SELECT n.id AS notification_id, n.escalate_after, now() AS now, newest.label, newest.state, newest.reason,
       CASE WHEN newest.state = 'pending' AND newest.tries = 0 AND newest.available_at > now()
            THEN newest.available_at END AS waits_until,
       newest.expires_at, following.id AS next_id, following.provider AS next_provider
  FROM notifications_notification n
  JOIN LATERAL (
       SELECT c.label, d.state, d.reason, d.tries, d.available_at, d.expires_at
         FROM notifications_delivery d JOIN notifications_channel c ON c.id = d.channel_id
        WHERE d.notification_id = n.id ORDER BY d.created_at DESC, d.id DESC LIMIT 1
       ) newest ON true
  LEFT JOIN LATERAL (
       SELECT c.id, c.provider
         FROM unnest(n.channel_order) WITH ORDINALITY AS chosen(id, place)
         JOIN notifications_channel c ON c.id = chosen.id
        WHERE c.removed_at IS NULL AND c.disabled_at IS NULL AND c.verified_at IS NOT NULL
          AND NOT EXISTS (SELECT FROM notifications_delivery d WHERE d.notification_id = n.id AND d.channel_id = c.id)
        ORDER BY chosen.place LIMIT 1
       ) following ON true
 WHERE n.advance_at <= now()
 ORDER BY n.advance_at LIMIT %s FOR UPDATE OF n SKIP LOCKED
"""

_WRITE = """
WITH step AS (
    SELECT * FROM unnest(%s::uuid[], %s::timestamptz[], %s::uuid[], %s::uuid[], %s::text[], %s::timestamptz[],
                         %s::text[])
           AS s(notification_id, look_at, id, channel_id, provider, expires_at, because)
), looked AS (
    UPDATE notifications_notification n
       SET advance_at = step.look_at, outcome = CASE WHEN step.id IS NULL THEN n.outcome ELSE 'open' END
      FROM step WHERE n.id = step.notification_id
)
INSERT INTO notifications_delivery (id, notification_id, channel_id, provider, state, available_at, wake_at, wakes,
                                    expires_at, tries, replays, reason, because)
SELECT id, notification_id, channel_id, provider, 'pending', now(), now() + %s * interval '1 second', 0, expires_at,
       0, 0, '', because
  FROM step WHERE id IS NOT NULL
ON CONFLICT (notification_id, channel_id) DO NOTHING
RETURNING id, (SELECT user_id FROM notifications_notification n WHERE n.id = notification_id) AS person_id
"""


def decide(standing: Standing) -> Step:
    """What to do about a notification whose time has come."""
    every = None if standing.escalate_after is None else timedelta(minutes=standing.escalate_after)
    later = None if every is None else standing.now + every
    if standing.next_id is None or standing.state in _GIVEN_UP:
        return Step(False)
    if standing.state in _FAILED:
        said = "failed" if standing.state == Delivery.State.DEAD else "may have failed"
        return Step(True, f"{standing.label} {said}: {standing.reason}", later)
    if every is None:
        return Step(False)  # it was sent again meanwhile; the trigger speaks up if that fails too
    if standing.waits_until is not None:
        return Step(False, look_at=standing.waits_until + every)  # nobody can acknowledge what has not gone out
    minutes = "minute" if standing.escalate_after == 1 else f"{standing.escalate_after} minutes"
    return Step(True, f"nobody acknowledged it within {minutes} of {standing.label}.", later)


def advance(limit: int = BATCH) -> int:
    """(none) -> pending: record a delivery to the next channel of up to `limit` notifications whose time has come.

    Any number of processes may call it at once. Returns how many deliveries were recorded; they are published after the
    commit, and wait for the end of quiet hours like all others.
    """
    with transaction.atomic():
        taken = query(_TAKE, [limit], Standing)
        if not taken:
            return 0
        steps = [(standing, decide(standing)) for standing in taken]
        rows = query(
            _WRITE,
            [
                column(standing.notification_id for standing, _ in steps),
                column(step.look_at for _, step in steps),
                column(uuid7() if step.go else None for _, step in steps),
                column(standing.next_id for standing, _ in steps),
                column(standing.next_provider for standing, _ in steps),
                column(standing.expires_at for standing, _ in steps),
                column(step.because[:500] for _, step in steps),
                outbox.CLAIM_WITHIN,
            ],
        )
        fault_points.reach("advancing")
        outbox.publish_after_commit(outbox.Wake(row.id, 0.0, row.person_id) for row in rows)
    return len(rows)


def stop(origin_id: UUID) -> int:
    """No further channel is tried for what the schedule `origin_id` has said: it was paused or deleted."""
    return Notification.objects.filter(origin_id=origin_id, advance_at__isnull=False).update(advance_at=None)
