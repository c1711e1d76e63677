"""Write what became of a try, under the lease's token: 0 rows changed means that another worker has taken over.

Settling is one statement, because every delivery pays for it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from common import fault_points, postgres
from common.postgres import persist
from notifications.deliveries import channel_health, wakes
from notifications.deliveries.claims import Claim
from notifications.deliveries.decision import Decision
from notifications.models import Attempt, Delivery
from notifications.reasons import NO_REASON, cause_of

_STATE = Delivery.State

_SETTLING = f"""
WITH settled AS (
    UPDATE notifications_delivery
       SET state = %(state)s, reason_code = %(reason_code)s, reason_params = %(reason_params)s::jsonb,
           lease_token = NULL, lease_until = NULL,
           settled_at = CASE WHEN %(wait)s::float IS NULL THEN now() END,
           available_at = coalesce(now() + %(wait)s::float * interval '1 second', available_at),
           wake_at = coalesce({wakes.wake_at("%(wait)s::float")}, wake_at),
           wakes = 0, cause = %(cause)s
     WHERE id = %(id)s AND state = 'sending' AND lease_token = %(token)s
 RETURNING id, channel_id
)"""  # noqa: S608 - constants only
_CLOSING = """
UPDATE notifications_attempt
   SET finished_at = clock_timestamp(), outcome = %(outcome)s, reason_code = %(said_code)s,
       reason_params = %(said_params)s::jsonb
 WHERE delivery_id = (SELECT id FROM settled) AND token = %(token)s AND finished_at IS NULL
"""
_SETTLE = _SETTLING + _CLOSING
_SETTLE_ARRIVED = _SETTLING + channel_health.ARRIVED + _CLOSING
_SETTLE_FAILED = _SETTLING + channel_health.FAILED + _CLOSING


def settle(claim: Claim, decision: Decision) -> bool:
    """sending -> delivered, pending, dead, unknown: write the decision and close the attempt, under the token.

    False when another worker has taken over since.
    """
    delivered, ended = decision.state == _STATE.DELIVERED, decision.state in (_STATE.DEAD, _STATE.UNKNOWN)
    reason = NO_REASON if delivered else decision.reason
    values: dict[str, Any] = wakes.parameters() | {
        "id": claim.delivery_id,
        "token": claim.token,
        "state": decision.state,
        "reason_code": reason.code,
        "reason_params": reason.json,
        "outcome": decision.outcome,
        "said_code": decision.reason.code,
        "said_params": decision.reason.json,
        "wait": decision.wait,
        "cause": cause_of(claim.provider, decision.reason, decision.state) if ended else "",
    }
    statement = _SETTLE
    if decision.about_channel and not delivered:
        statement = _SETTLE_FAILED
        values |= channel_health.parameters(claim, decision)
    elif claim.failing and delivered:
        statement = _SETTLE_ARRIVED
    # The result must be written if at all possible: a database that is away for seconds must not turn a message that
    # arrived into one that may have. Settling twice under one token changes nothing.
    closed = persist(partial(_write, statement, values), again=lambda: _write(statement, values) or _is_closed(claim))
    fault_points.reach("settled")
    return closed


def _write(statement: str, values: dict[str, Any]) -> bool:
    closed: int = postgres.execute(statement, values).rowcount
    return closed == 1


def _is_closed(claim: Claim) -> bool:
    """Whether this settlement was committed by a connection that broke before it could confirm that."""
    return (
        Attempt.objects.filter(delivery_id=claim.delivery_id, token=claim.token, finished_at__isnull=False)
        .exclude(outcome=Attempt.Outcome.LOST)
        .exists()
    )
