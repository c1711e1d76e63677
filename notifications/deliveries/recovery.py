"""What a crash or an outage left behind.

Any number of rescuers may run these at once: each statement takes rows that no other one holds, by a partial index
whose size is that of the work to be done. Rows are chosen in an ARRAY(…), which PostgreSQL evaluates once: under some
plans it would run an `IN (SELECT … LIMIT … SKIP LOCKED)` again for each row, past the limit. What ends a delivery takes
its notification too, whose outcome a trigger writes: a statement that never waits for a row cannot deadlock.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db import connection


def expire(limit: int) -> int:
    """pending -> expired: up to `limit` of what is past its `expires_at`."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE notifications_delivery
               SET state = 'expired', reason = 'It was stale before it could be sent.', settled_at = now()
             WHERE id = ANY(ARRAY(
                SELECT d.id FROM notifications_delivery d
                  JOIN notifications_notification n ON n.id = d.notification_id
                 WHERE d.state = 'pending' AND d.expires_at IS NOT NULL AND d.expires_at <= now()
                 ORDER BY d.expires_at LIMIT %s FOR UPDATE OF d SKIP LOCKED FOR NO KEY UPDATE OF n SKIP LOCKED
             ))
            """,
            [limit],
        )
        expired: int = cursor.rowcount
        return expired


def due_for_a_ring(limit: int) -> list[tuple[UUID, float, int]]:
    """Take up to `limit` pending deliveries that nobody rang for, and set their next ring, with growing gaps.

    Returns each with the seconds until it is available (0: it is), and with its person's id.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE notifications_delivery d
               SET rings = least(rings + 1, 30),
                   ring_at = greatest(available_at, now())
                           + least(interval '5 minutes', interval '10 seconds' * 2 ^ rings)
              FROM notifications_notification n
             WHERE n.id = d.notification_id AND d.id = ANY(ARRAY(
                SELECT id FROM notifications_delivery WHERE state = 'pending' AND ring_at <= now()
                 ORDER BY ring_at LIMIT %s FOR UPDATE SKIP LOCKED
             ))
         RETURNING d.id, extract(epoch FROM greatest(available_at, now()) - now())::float, n.user_id
            """,
            [limit],
        )
        return [(row[0], row[1], row[2]) for row in cursor.fetchall()]


def forget_rings() -> int:
    """Have every due delivery rung anew: the broker has lost what it held. Returns how many were thought rung.

    A gap is 5 minutes at the most, so the range of `ring_at` leaves out what waits in the table for longer.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE notifications_delivery SET ring_at = now(), rings = 0
             WHERE id = ANY(ARRAY(
                SELECT id FROM notifications_delivery
                 WHERE state = 'pending' AND ring_at > now() AND ring_at <= now() + interval '6 minutes'
                   AND available_at <= now()
                   FOR UPDATE SKIP LOCKED
             ))
            """
        )
        forgotten: int = cursor.rowcount
        return forgotten


@dataclass(frozen=True, slots=True)
class LostRule:
    """What a provider wants done when a worker is lost while sending: `tries` in all, `repeatable` without harm."""

    provider: str
    repeatable: bool
    tries: int


@dataclass(frozen=True, slots=True)
class Recovered:
    again: int
    held: int
    dead: int


_RECOVER = """
WITH expired AS (
    SELECT d.id, d.lease_token,
           CASE WHEN c.on_unknown = 'retry' OR (c.on_unknown = '' AND coalesce(rule.repeatable, false)) THEN
                     CASE WHEN d.tries >= coalesce(rule.tries, 1) THEN 'dead' ELSE 'pending' END
                ELSE 'unknown' END AS state
      FROM notifications_delivery d
      JOIN notifications_channel c ON c.id = d.channel_id
      JOIN notifications_notification n ON n.id = d.notification_id
      LEFT JOIN unnest(%(providers)s::text[], %(repeatable)s::bool[], %(tries)s::int[])
           AS rule(provider, repeatable, tries) ON rule.provider = d.provider
     WHERE d.state = 'sending' AND d.lease_until <= now()
     ORDER BY d.lease_until LIMIT %(limit)s FOR UPDATE OF d SKIP LOCKED FOR NO KEY UPDATE OF n SKIP LOCKED
), recovered AS (
    UPDATE notifications_delivery d
       SET state = expired.state, lease_token = NULL, lease_until = NULL, rings = 0,
           available_at = CASE expired.state WHEN 'pending' THEN now() ELSE d.available_at END,
           ring_at = CASE expired.state WHEN 'pending' THEN now() ELSE d.ring_at END,
           settled_at = CASE expired.state WHEN 'pending' THEN NULL ELSE now() END,
           reason = CASE expired.state WHEN 'unknown' THEN %(reason)s || ' It may have arrived; send it again?'
                                       ELSE %(reason)s END
      FROM expired WHERE d.id = expired.id
 RETURNING d.id, d.state, expired.lease_token
), closed AS (
    UPDATE notifications_attempt a SET finished_at = now(), outcome = 'lost', reason = %(reason)s
      FROM recovered WHERE a.delivery_id = recovered.id AND a.token = recovered.lease_token AND a.finished_at IS NULL
)
SELECT count(*) FILTER (WHERE state = 'pending'), count(*) FILTER (WHERE state = 'unknown'),
       count(*) FILTER (WHERE state = 'dead')
  FROM recovered
"""


def recover_expired_leases(rules: Iterable[LostRule], limit: int) -> Recovered:
    """sending -> pending, unknown, dead: the worker is gone, and nobody knows whether the message went out.

    A channel's own choice comes before its provider's rule. One that has used up its tries this way (a payload that
    kills every worker) is dead, so that it cannot go round for ever.
    """
    rules = list(rules)
    with connection.cursor() as cursor:
        cursor.execute(
            _RECOVER,
            {
                "providers": [rule.provider for rule in rules],
                "repeatable": [rule.repeatable for rule in rules],
                "tries": [rule.tries for rule in rules],
                "limit": limit,
                "reason": "The worker was lost while it was sending.",
            },
        )
        return Recovered(*cursor.fetchone())
