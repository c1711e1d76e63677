"""Every change of a delivery's state, each a named verb, and nowhere else.

A change is a guarded UPDATE: it names the state that it leaves and, for a delivery that is being sent, the lease's
token. Zero rows changed means that somebody else was first, and the caller writes nothing. The database's clock decides
leases and dues, never the caller's.

Claiming and settling are one statement each, because they are what every delivery pays for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.db import connection
from django.db.models.functions import Now

from notifications import secrets
from notifications.message import Destination, Message
from notifications.models import Attempt, Delivery

# Longer than the longest send deadline and Celery's hard time limit, so that a lease only expires under a dead worker.
LEASE = 90.0  # seconds

_OUTCOME = Attempt.Outcome
_STATE = Delivery.State


@dataclass(frozen=True, slots=True)
class Claim:
    """A leased delivery with all that a worker needs to send it, so that sending reads no database.

    `unusable` says why its channel must not be used (removed, disabled, not verified), empty when it may.
    `tries` counts this try, starting at 1 after each replay.
    """

    delivery_id: UUID
    token: UUID
    tries: int
    provider: str
    channel_id: UUID
    message: Message
    address: Mapping[str, Any]
    sealed_secrets: str
    on_unknown: str
    unusable: str

    def destination(self) -> Destination:
        """Raises `secrets.Unreadable` when the key is not there."""
        return Destination(self.address, secrets.unseal(self.sealed_secrets, self.channel_id))


_CLAIM = """
WITH claimed AS (
    UPDATE notifications_delivery
       SET state = 'sending', tries = tries + 1, lease_token = %(token)s,
           lease_until = now() + %(lease)s * interval '1 second'
     WHERE id = %(id)s AND state = 'pending' AND available_at <= now()
       AND (expires_at IS NULL OR expires_at > now())
 RETURNING id, notification_id, channel_id, provider, replays, tries
), opened AS (
    INSERT INTO notifications_attempt (delivery_id, replay, number, token, worker, started_at, outcome, reason)
    SELECT id, replays, tries, %(token)s, %(worker)s, now(), '', '' FROM claimed
)
SELECT claimed.tries, claimed.provider, claimed.channel_id, n.subject, n.body, n.slot, p.name, p.email,
       c.address, c.sealed_secrets, c.on_unknown,
       CASE WHEN c.removed_at IS NOT NULL THEN 'The channel was removed.'
            WHEN c.disabled_at IS NOT NULL THEN 'The channel is disabled: ' || c.disabled_reason
            WHEN c.verified_at IS NULL AND n.origin <> 'test' THEN 'The channel has not been verified.'
            ELSE '' END
  FROM claimed
  JOIN notifications_notification n ON n.id = claimed.notification_id
  JOIN notifications_channel c ON c.id = claimed.channel_id
  JOIN people_user p ON p.id = n.user_id
"""


def claim(delivery_id: UUID, worker: str) -> Claim | None:
    """pending -> sending: lease the delivery and open its attempt. None when there is nothing to claim now."""
    token = uuid4()
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, {"id": delivery_id, "token": token, "lease": LEASE, "worker": worker[:120]})
        row = cursor.fetchone()
    if row is None:
        return None
    tries, provider, channel_id, subject, body, slot, name, email, address, sealed, on_unknown, unusable = row
    return Claim(
        delivery_id=delivery_id,
        token=token,
        tries=tries,
        provider=provider,
        channel_id=channel_id,
        message=Message(key=delivery_id, subject=subject, body=body, recipient=name or email, slot=slot),
        # Django hands jsonb to a raw cursor as text: its decoder sits in JSONField.
        address=json.loads(address),
        sealed_secrets=sealed,
        on_unknown=on_unknown,
        unusable=unusable,
    )


_SETTLE = """
WITH settled AS (
    UPDATE notifications_delivery
       SET state = %(state)s, reason = %(reason)s, lease_token = NULL, lease_until = NULL,
           settled_at = CASE WHEN %(wait)s::float IS NULL THEN now() END,
           available_at = coalesce(now() + %(wait)s::float * interval '1 second', available_at),
           ring_at = coalesce(now() + (%(wait)s::float + %(unheard)s::float) * interval '1 second', ring_at),
           rings = 0
     WHERE id = %(id)s AND state = 'sending' AND lease_token = %(token)s
 RETURNING id
)
UPDATE notifications_attempt SET finished_at = clock_timestamp(), outcome = %(outcome)s, reason = %(said)s
 WHERE delivery_id = (SELECT id FROM settled) AND token = %(token)s AND finished_at IS NULL
"""


def _settle(
    claim: Claim,
    state: Delivery.State,
    outcome: Attempt.Outcome,
    said: str,
    *,
    wait: float | None = None,
    unheard: float = 0.0,
) -> bool:
    """Settle the row and close its attempt under the token; False when another worker has taken over since."""
    with connection.cursor() as cursor:
        cursor.execute(
            _SETTLE,
            {
                "id": claim.delivery_id,
                "token": claim.token,
                "state": state,
                "reason": "" if state == _STATE.DELIVERED else said[:500],
                "outcome": outcome,
                "said": said[:500],
                "wait": wait,
                "unheard": unheard,
            },
        )
        closed: int = cursor.rowcount
        return closed == 1


def deliver(claim: Claim, receipt: str) -> bool:
    """sending -> delivered: the service accepted it, and said `receipt`."""
    return _settle(claim, _STATE.DELIVERED, _OUTCOME.DELIVERED, receipt)


def reject(claim: Claim, reason: str) -> bool:
    """sending -> dead: it will never work as it stands."""
    return _settle(claim, _STATE.DEAD, _OUTCOME.REJECTED, reason)


def exhaust(claim: Claim, outcome: Attempt.Outcome, reason: str) -> bool:
    """sending -> dead: it failed once more, and the tries that the provider allows are used up."""
    return _settle(claim, _STATE.DEAD, outcome, reason)


def postpone(claim: Claim, outcome: Attempt.Outcome, reason: str, wait: float, unheard: float) -> bool:
    """sending -> pending: try again after `wait` seconds; rescue rings if it is unclaimed `unheard` seconds later."""
    return _settle(claim, _STATE.PENDING, outcome, reason, wait=wait, unheard=unheard)


def hold(claim: Claim, reason: str) -> bool:
    """sending -> unknown: it may have arrived; a person decides whether to send it again."""
    return _settle(claim, _STATE.UNKNOWN, _OUTCOME.AMBIGUOUS, reason)


def seconds_until_available(delivery_id: UUID) -> float | None:
    """How long a pending delivery has yet to wait, on the database's clock; None when it is not pending."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM available_at - now())::float FROM notifications_delivery"
            " WHERE id = %s AND state = 'pending'",
            [delivery_id],
        )
        row = cursor.fetchone()
    return None if row is None else max(0.0, row[0])


def cancel(deliveries: Iterable[UUID], reason: str) -> int:
    """pending -> cancelled: a person does not want them any more. What is being sent is not touched."""
    return Delivery.objects.filter(id__in=list(deliveries), state=_STATE.PENDING).update(
        state=_STATE.CANCELLED, reason=reason[:500], settled_at=Now()
    )


def cancel_unsent(origin_id: UUID, reason: str) -> int:
    """pending -> cancelled for all that the schedule `origin_id` caused and nobody has sent yet."""
    return Delivery.objects.filter(notification__origin_id=origin_id, state=_STATE.PENDING).update(
        state=_STATE.CANCELLED, reason=reason[:500], settled_at=Now()
    )


def expire() -> int:
    """pending -> expired: what is past its `expires_at`."""
    return Delivery.objects.filter(state=_STATE.PENDING, expires_at__lte=Now()).update(
        state=_STATE.EXPIRED, reason="It was stale before it could be sent.", settled_at=Now()
    )


def replay(deliveries: Iterable[UUID]) -> list[UUID]:
    """dead, unknown -> pending: a person sends them again, with the same idempotency key. Returns those changed."""
    return _returning_ids(
        """
        UPDATE notifications_delivery
           SET state = 'pending', available_at = now(), ring_at = now(), rings = 0, tries = 0, replays = replays + 1,
               expires_at = NULL, reason = '', settled_at = NULL
         WHERE id = ANY(%s) AND state IN ('dead', 'unknown')
     RETURNING id
        """,
        [list(deliveries)],
    )


def discard(deliveries: Iterable[UUID], reason: str) -> int:
    """dead, unknown -> cancelled: a person has decided that they need not arrive."""
    return (
        Delivery.objects.filter(id__in=list(deliveries))
        .dead_letters()
        .update(state=_STATE.CANCELLED, reason=reason[:500], settled_at=Now())
    )


def due_for_a_ring(limit: int) -> list[UUID]:
    """Take up to `limit` pending deliveries that nobody rang for, and set their next ring, with growing gaps.

    Any number of rescuers may run: rows that another one holds are left to it.
    """
    return _returning_ids(
        """
        UPDATE notifications_delivery
           SET rings = least(rings + 1, 30),
               ring_at = now() + least(interval '5 minutes', interval '10 seconds' * 2 ^ rings)
         WHERE id IN (
            SELECT id FROM notifications_delivery WHERE state = 'pending' AND ring_at <= now()
             ORDER BY ring_at LIMIT %s FOR UPDATE SKIP LOCKED
         )
     RETURNING id
        """,
        [limit],
    )


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
           CASE WHEN c.on_unknown = 'hold' THEN 'unknown'
                WHEN c.on_unknown = '' AND NOT coalesce(rule.repeatable, false) THEN 'unknown'
                WHEN d.tries >= coalesce(rule.tries, 1) THEN 'dead'
                ELSE 'pending' END AS state
      FROM notifications_delivery d
      JOIN notifications_channel c ON c.id = d.channel_id
      LEFT JOIN unnest(%(providers)s::text[], %(repeatable)s::bool[], %(tries)s::int[])
           AS rule(provider, repeatable, tries) ON rule.provider = d.provider
     WHERE d.state = 'sending' AND d.lease_until <= now()
     ORDER BY d.lease_until LIMIT %(limit)s FOR UPDATE OF d SKIP LOCKED
), recovered AS (
    UPDATE notifications_delivery d
       SET state = expired.state, reason = %(reason)s, lease_token = NULL, lease_until = NULL, rings = 0,
           available_at = CASE expired.state WHEN 'pending' THEN now() ELSE d.available_at END,
           ring_at = CASE expired.state WHEN 'pending' THEN now() ELSE d.ring_at END,
           settled_at = CASE expired.state WHEN 'pending' THEN NULL ELSE now() END
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
    """sending -> pending, unknown or dead: the worker is gone, and nobody knows whether the message went out.

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
                "reason": "The worker was lost while it was sending; the message may have arrived.",
            },
        )
        return Recovered(*cursor.fetchone())


def _returning_ids(statement: str, parameters: list[Any]) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [row[0] for row in cursor.fetchall()]


def mark_read(inbox: Iterable[UUID], at: datetime) -> int:
    """The person has seen these inbox messages; a mark, not a change of state."""
    return Delivery.objects.filter(id__in=list(inbox), read_at=None).update(read_at=at)
