"""Claim a delivery, and give it back when nothing has been sent.

Claiming is one statement, because every delivery pays for it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from common import encryption, fault_points, postgres
from common.postgres import is_outage, persist
from notifications import providers
from notifications.deliveries import wakes
from notifications.links import ANSWER, UNSUBSCRIBE
from notifications.message import Destination, Message
from notifications.models import Intervention
from notifications.reasons import Code, Reason
from people import codes, quiet
from people.models import display_name
from people.quiet import Window

log = logging.getLogger(__name__)

# Longer than the longest send deadline and Celery's hard time limit, so that a lease only expires under a dead worker.
LEASE = 90.0  # seconds


@dataclass(frozen=True, slots=True)
class Claim:
    """A leased delivery with everything that a worker needs to send it without the database.

    `unusable` is why its channel must not be used (removed, disabled, not verified), None when it may be.
    `tries` counts this try, starting at 1 after each replay. `claimed_at` is on the database's clock. `quiet` are the
    quiet hours that this delivery keeps: None where it is urgent, sent again by its person, or no reminder's.
    `failing`: nothing has arrived on its channel since a try failed. `withdrawn` is why it must not go out, if so: its
    person has answered the notification or stopped its reminder, and has not sent it again, or their account was
    switched off.
    `person_id` and `zone` (a name, may be empty) are its person's; `is_test`: they asked for it to try the channel.
    `link_id` changes with the channel's address.
    `give_up_after`: seconds after which its channel wants no further try, None for the provider's policy. `trying_for`:
    the seconds since its first try, or since it first waited for a host that rests.
    `released`: how often it was given back before anything was sent. `left`: seconds until it is stale, None for never.
    """

    delivery_id: UUID
    token: UUID
    tries: int
    provider: str
    channel_id: UUID
    link_id: UUID
    message: Message
    address: Mapping[str, Any]
    sealed_secrets: str
    on_unknown: str
    give_up_after: int | None
    trying_for: float
    unusable: Reason | None
    claimed_at: datetime
    quiet: Window | None
    failing: bool
    withdrawn: Reason | None
    person_id: int
    zone: str
    is_test: bool
    released: int
    left: float | None

    def destination(self) -> Destination:
        """Raises `encryption.Unreadable` when the key is not there."""
        return Destination(self.address, encryption.unseal_secrets(self.sealed_secrets, self.channel_id))


_CLAIM = f"""
WITH claimed AS (
    UPDATE notifications_delivery
       SET state = 'sending', tries = tries + 1, lease_token = %(token)s,
           lease_until = now() + %(lease)s * interval '1 second'
     WHERE id = %(id)s AND state = 'pending' AND available_at <= now()
       AND (expires_at IS NULL OR expires_at > now())
 RETURNING id, notification_id, channel_id, provider, replays, tries, released, expires_at
), opened AS (
    INSERT INTO notifications_attempt (delivery_id, replay, number, token, worker, started_at, outcome)
    SELECT id, replays, tries + released, %(token)s, %(worker)s, now(), '' FROM claimed
)
SELECT d.tries, d.replays, d.released, d.provider, d.channel_id, now() AS claimed_at,
       extract(epoch FROM d.expires_at - now())::float AS seconds_left,
       n.subject, n.body, n.slot, n.origin IN ('test', 'code') AS is_test,
       CASE WHEN n.origin = 'code' THEN (SELECT nonce FROM people_code WHERE subject = c.id) END AS nonce,
       CASE WHEN n.escalate_after IS NOT NULL THEN n.id END AS escalating_id,
       CASE WHEN n.acknowledged_at IS NULL THEN CASE WHEN d.replays = 0 THEN n.withdrawn ELSE '' END
            WHEN n.snoozed_until IS NULL THEN '{Code.ACKNOWLEDGED}' ELSE '{Code.SNOOZED}' END AS withdrawn,
       coalesce(c.link_id, c.id) AS link_id, c.address, c.sealed_secrets, c.on_unknown,
       c.give_up_after,
       CASE WHEN d.tries + d.released > 1 THEN (
            SELECT extract(epoch FROM now() - min(a.started_at))::float FROM notifications_attempt a
             WHERE a.delivery_id = d.id AND a.replay = d.replays
               AND (a.outcome <> 'released' OR a.reason_code = '{Code.HOST_RESTS}')
       ) END AS trying_for,
       c.disabled_code, c.disabled_params,
       c.failing_since IS NOT NULL AS is_failing,
       CASE WHEN c.removed_at IS NOT NULL THEN '{Code.REMOVED}'
            WHEN c.disabled_at IS NOT NULL THEN '{Code.DISABLED}'
            WHEN c.verified_at IS NULL AND n.origin NOT IN ('test', 'code') THEN '{Code.UNVERIFIED}'
            WHEN jsonb_typeof(c.address) <> 'object' THEN '{Code.DAMAGED}'
            ELSE '' END AS unusable,
       p.id AS person_id, p.name, p.email, p.is_active, p.time_zone,
       CASE WHEN n.origin = 'schedule' AND NOT n.urgent THEN p.quiet_from END AS quiet_from, p.quiet_until
  FROM claimed d
  JOIN notifications_notification n ON n.id = d.notification_id
  JOIN notifications_channel c ON c.id = d.channel_id
  JOIN people_user p ON p.id = n.user_id
"""  # noqa: S608 - constants only


def claim(delivery_id: UUID, worker: str) -> Claim | None:
    """pending -> sending: lease the delivery and open its attempt. None when there is nothing to claim now.

    A damaged row ends as dead, without being sent.
    """
    token = uuid4()
    try:
        row = persist(
            partial(_claim, delivery_id, token, worker), again=partial(_claim_again, delivery_id, token, worker)
        )
        return None if row is None else _read(delivery_id, token, row)
    except Exception as error:
        if is_outage(error):
            raise
        log.error("Delivery %s cannot be read: %s", delivery_id, type(error).__name__)
        refuse(delivery_id, token, unreadable(error))
        return None


def unreadable(error: Exception) -> Reason:
    """Why a damaged delivery ends. The text of an exception may hold a secret, so only its type is kept."""
    return Reason(Code.DAMAGED_ROW, error=type(error).__name__)


def _read(delivery_id: UUID, token: UUID, row: Any) -> Claim:
    own_wish = row.replays > 0 and persist(partial(_sent_again_by, delivery_id)) == row.person_id
    fault_points.reach("claimed")
    return Claim(
        delivery_id=delivery_id,
        token=token,
        tries=row.tries,
        provider=row.provider,
        channel_id=row.channel_id,
        link_id=row.link_id,
        message=Message(
            key=delivery_id,
            subject=row.subject,
            body=_body(row),
            recipient=display_name(row.name, row.email),
            slot=row.slot,
            unsubscribe_url=UNSUBSCRIBE.address(row.link_id) if providers.unsubscribes(row.provider) else "",
            answer_url="" if row.escalating_id is None else ANSWER.address(row.escalating_id),
        ),
        # Django hands jsonb to a raw cursor as text: its decoder sits in JSONField.
        address=json.loads(row.address),
        sealed_secrets=row.sealed_secrets,
        on_unknown=row.on_unknown,
        give_up_after=row.give_up_after,
        trying_for=row.trying_for or 0.0,
        unusable=_unusable(row),
        claimed_at=row.claimed_at,
        quiet=None if own_wish else quiet.window(row.quiet_from, row.quiet_until, row.time_zone),
        failing=row.is_failing,
        withdrawn=_withdrawn(row, own_wish),
        person_id=row.person_id,
        zone=row.time_zone,
        is_test=row.is_test,
        released=row.released,
        left=row.seconds_left,
    )


def _claim(delivery_id: UUID, token: UUID, worker: str) -> Any:
    values = {"id": delivery_id, "token": token, "lease": LEASE, "worker": worker[:120]}
    return postgres.execute(_CLAIM, values).fetchone()


def _unusable(row: Any) -> Reason | None:
    match row.unusable:
        case "":
            return None
        case Code.DISABLED:
            return Reason(Code.DISABLED, why=Reason.read(row.disabled_code, row.disabled_params))
        case Code.DAMAGED:
            return Reason(Code.DAMAGED, part="address")
    return Reason(row.unusable)


def _withdrawn(row: Any, own_wish: bool) -> Reason | None:
    if not row.is_active:
        return Reason(Code.SWITCHED_OFF)
    return Reason(row.withdrawn) if row.withdrawn and not own_wish else None


def _body(row: Any) -> str:
    """The text, with the code that verifies a channel (which no table holds) and an unsubscribe link."""
    body: str = row.body
    if row.nonce is None:
        return body
    revealed = codes.reveal(body, row.channel_id, row.nonce)
    return f"{revealed}\n\nNot yours? Stop it: {UNSUBSCRIBE.address(row.link_id)}"


def _sent_again_by(delivery_id: UUID) -> int | None:
    """The account that replayed the dead letter: an owner's replay skips quiet hours, an operator's does not."""
    return Intervention.objects.filter(deliveries=delivery_id).values_list("by_id", flat=True).first()


def _claim_again(delivery_id: UUID, token: UUID, worker: str) -> Any:
    """The connection that broke may have committed the claim before it did; nothing was sent under it."""
    release(delivery_id, token, Reason(Code.DATABASE_AWAY))
    return _claim(delivery_id, token, worker)


_GIVE_BACK = f"""
WITH given_back AS (
    UPDATE notifications_delivery
       SET state = 'pending', tries = tries - 1, released = released + 1, lease_token = NULL, lease_until = NULL,
           available_at = now() + coalesce(%(wait)s::float, 0) * interval '1 second',
           wake_at = coalesce({wakes.wake_at("%(wait)s::float")}, now()), wakes = 0,
           reason_code = CASE WHEN %(wait)s::float IS NULL THEN reason_code ELSE %(reason_code)s END,
           reason_params = CASE WHEN %(wait)s::float IS NULL THEN reason_params ELSE %(reason_params)s::jsonb END
     WHERE id = %(id)s AND state = 'sending' AND lease_token = %(token)s
 RETURNING id
)
UPDATE notifications_attempt
   SET finished_at = clock_timestamp(), outcome = 'released', reason_code = %(reason_code)s,
       reason_params = %(reason_params)s::jsonb
 WHERE delivery_id = (SELECT id FROM given_back) AND token = %(token)s AND finished_at IS NULL
"""  # noqa: S608 - constants only


def release(delivery_id: UUID, token: UUID, reason: Reason) -> bool:
    """sending -> pending: nothing was sent, so the try does not count; another worker may claim it at once.

    False when the lease of `token` is no longer there.
    """
    return _give_back(delivery_id, token, reason, None)


def defer(claim: Claim, wait: float, reason: Reason) -> bool:
    """sending -> pending: it must not go out now (a rate limit, quiet hours), but `wait` seconds later.

    Nothing was sent, so the try does not count. False when the claim's lease is no longer there.
    """
    # A database that is away for a moment must not let the lease expire: the outcome would then be unknown.
    return persist(partial(_give_back, claim.delivery_id, claim.token, reason, wait))


def _give_back(delivery_id: UUID, token: UUID, reason: Reason, wait: float | None) -> bool:
    values = {"id": delivery_id, "token": token, "wait": wait, "reason_code": reason.code, "reason_params": reason.json}
    return postgres.change(_GIVE_BACK, values | wakes.parameters()) == 1


_REFUSE = """
WITH refused AS (
    UPDATE notifications_delivery
       SET state = 'dead', reason_code = %(code)s, reason_params = %(params)s::jsonb, cause = %(code)s,
           lease_token = NULL, lease_until = NULL, settled_at = now(), wakes = 0
     WHERE id = %(id)s AND state = 'sending' AND lease_token = %(token)s
 RETURNING id
)
UPDATE notifications_attempt
   SET finished_at = clock_timestamp(), outcome = 'rejected', reason_code = %(code)s, reason_params = %(params)s::jsonb
 WHERE delivery_id = (SELECT id FROM refused) AND token = %(token)s AND finished_at IS NULL
"""


def refuse(delivery_id: UUID, token: UUID, reason: Reason) -> bool:
    """sending -> dead: it cannot be read, so nothing was sent. False when the lease of `token` is no longer there."""
    values = {"id": delivery_id, "token": token, "code": reason.code, "params": reason.json}
    return postgres.change(_REFUSE, values) == 1


def seconds_until_available(delivery_id: UUID) -> float | None:
    """How long a pending delivery has yet to wait, on the database's clock; None when it is not pending."""
    rows = postgres.query(
        "SELECT extract(epoch FROM available_at - now())::float AS wait FROM notifications_delivery"
        " WHERE id = %s AND state = 'pending'",
        [delivery_id],
    )
    return max(0.0, rows[0].wait) if rows else None
