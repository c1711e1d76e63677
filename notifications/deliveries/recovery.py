"""Settle what a crash or an outage left behind: expired leases and stale deliveries.

Any number of rescuers may run these at once: each statement takes rows that no other transaction has locked, by a
partial index of the work to do. Rows are selected in an ARRAY(…), which PostgreSQL evaluates once: under some plans it
would run an `IN (SELECT … LIMIT … SKIP LOCKED)` again for each row, past the limit. A statement that ends a delivery
locks its notification too, because a trigger writes the outcome; it never waits for a row, so it cannot deadlock.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from common import postgres
from notifications.reasons import Code, Reason, cause_of

_EXPIRE = f"""
UPDATE notifications_delivery
   SET state = 'expired', reason_code = '{Code.STALE}', reason_params = '{{}}', settled_at = now()
 WHERE id = ANY(ARRAY(
    SELECT d.id FROM notifications_delivery d
      JOIN notifications_notification n ON n.id = d.notification_id
     WHERE d.state = 'pending' AND d.expires_at IS NOT NULL AND d.expires_at <= now()
     ORDER BY d.expires_at LIMIT %s FOR UPDATE OF d SKIP LOCKED FOR NO KEY UPDATE OF n SKIP LOCKED
 ))
"""  # noqa: S608 - constants only


def expire(limit: int) -> int:
    """pending -> expired: up to `limit` deliveries past their `expires_at`."""
    return postgres.change(_EXPIRE, [limit])


@dataclass(frozen=True, slots=True)
class LostRule:
    """A provider's rule for a worker that is lost while sending: `tries` in all, `repeatable` without harm."""

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
    SELECT d.id, d.lease_token, rule.dead_cause, rule.unknown_cause,
           CASE WHEN c.on_unknown = 'retry' OR (c.on_unknown = '' AND coalesce(rule.repeatable, false)) THEN
                     CASE WHEN d.tries >= coalesce(rule.tries, 1) THEN 'dead' ELSE 'pending' END
                ELSE 'unknown' END AS state
      FROM notifications_delivery d
      JOIN notifications_channel c ON c.id = d.channel_id
      JOIN notifications_notification n ON n.id = d.notification_id
      LEFT JOIN unnest(%(providers)s::text[], %(repeatable)s::bool[], %(tries)s::int[], %(dead_causes)s::text[],
                       %(unknown_causes)s::text[])
           AS rule(provider, repeatable, tries, dead_cause, unknown_cause) ON rule.provider = d.provider
     WHERE d.state = 'sending' AND d.lease_until <= now()
     ORDER BY d.lease_until LIMIT %(limit)s FOR UPDATE OF d SKIP LOCKED FOR NO KEY UPDATE OF n SKIP LOCKED
), recovered AS (
    UPDATE notifications_delivery d
       SET state = expired.state, lease_token = NULL, lease_until = NULL, wakes = 0,
           available_at = CASE expired.state WHEN 'pending' THEN now() ELSE d.available_at END,
           wake_at = CASE expired.state WHEN 'pending' THEN now() ELSE d.wake_at END,
           settled_at = CASE expired.state WHEN 'pending' THEN NULL ELSE now() END,
           reason_code = %(reason)s, reason_params = '{}',
           cause = coalesce(CASE expired.state WHEN 'unknown' THEN expired.unknown_cause
                                               WHEN 'dead' THEN expired.dead_cause ELSE '' END, %(no_provider)s)
      FROM expired WHERE d.id = expired.id
 RETURNING d.id, d.state, expired.lease_token
), closed AS (
    UPDATE notifications_attempt a SET finished_at = now(), outcome = 'lost', reason_code = %(reason)s
      FROM recovered WHERE a.delivery_id = recovered.id AND a.token = recovered.lease_token AND a.finished_at IS NULL
)
SELECT count(*) FILTER (WHERE state = 'pending') AS again, count(*) FILTER (WHERE state = 'unknown') AS held,
       count(*) FILTER (WHERE state = 'dead') AS dead
  FROM recovered
"""


def recover_expired_leases(rules: Iterable[LostRule], limit: int) -> Recovered:
    """sending -> pending, unknown, dead: the worker is gone, and nobody knows whether the message went out.

    A channel's own choice comes before its provider's rule. A delivery that has used up its tries this way (a payload
    that kills every worker) is dead.
    """
    rules = list(rules)
    values = {
        "providers": [rule.provider for rule in rules],
        "repeatable": [rule.repeatable for rule in rules],
        "tries": [rule.tries for rule in rules],
        "dead_causes": [cause_of(rule.provider, Reason(Code.LOST), "dead") for rule in rules],
        "unknown_causes": [cause_of(rule.provider, Reason(Code.LOST), "unknown") for rule in rules],
        "no_provider": Code.NO_PROVIDER,
        "limit": limit,
        "reason": Code.LOST,
    }
    [recovered] = postgres.query(_RECOVER, values, Recovered)
    return recovered
