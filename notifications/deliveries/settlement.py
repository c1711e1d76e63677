"""Write what became of a try, under the lease's token: 0 rows changed means that another worker has taken over.

Settling is one statement, because it is what every delivery pays for.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from common import fault_points, postgres
from common.postgres import persist
from notifications.causes import Code, cause_of
from notifications.deliveries import channel_health
from notifications.deliveries.claims import Claim
from notifications.models import Attempt, Delivery

_OUTCOME = Attempt.Outcome
_STATE = Delivery.State

_SETTLING = """
WITH settled AS (
    UPDATE notifications_delivery
       SET state = %(state)s, reason = %(reason)s, lease_token = NULL, lease_until = NULL,
           settled_at = CASE WHEN %(wait)s::float IS NULL THEN now() END,
           available_at = coalesce(now() + %(wait)s::float * interval '1 second', available_at),
           wake_at = coalesce(now() + (%(wait)s::float + %(wake_after)s::float) * interval '1 second', wake_at),
           wakes = 0, cause = %(cause)s
     WHERE id = %(id)s AND state = 'sending' AND lease_token = %(token)s
 RETURNING id, channel_id
)"""
_CLOSING = """
UPDATE notifications_attempt SET finished_at = clock_timestamp(), outcome = %(outcome)s, reason = %(said)s
 WHERE delivery_id = (SELECT id FROM settled) AND token = %(token)s AND finished_at IS NULL
"""
_SETTLE = _SETTLING + _CLOSING
_SETTLE_ARRIVED = _SETTLING + channel_health.ARRIVED + _CLOSING
_SETTLE_FAILED = _SETTLING + channel_health.FAILED + _CLOSING


def _settle(
    claim: Claim,
    state: Delivery.State,
    outcome: Attempt.Outcome,
    said: str,
    *,
    ask: str = "",
    wait: float | None = None,
    wake_after: float = 0.0,
    code: str = "",
    gone: bool = False,
    tells: bool = True,
) -> bool:
    """Settle the row and close its attempt under the token; False when another worker has taken over since.

    `code` is the cause of a dead letter. `ask` is what the row tells or asks a person, beside what was said. `tells`:
    the try says something about its channel, because its service was asked.
    """
    values: dict[str, Any] = {
        "id": claim.delivery_id,
        "token": claim.token,
        "state": state,
        "reason": "" if state == _STATE.DELIVERED else f"{said[:450]}{ask}",
        "outcome": outcome,
        "said": said[:500],
        "wait": wait,
        "wake_after": wake_after,
        "cause": cause_of(claim.provider, code, state) if code else "",
        "gone": gone,
        "died": state == _STATE.DEAD,
        "patience": channel_health.PATIENCE,
        "link_id": claim.link_id,
        "disabled": channel_health.disabled_because(gone, said),
    }
    statement = _SETTLE
    if tells and state != _STATE.DELIVERED:
        statement = _SETTLE_FAILED
    elif claim.failing and state == _STATE.DELIVERED:
        statement = _SETTLE_ARRIVED
    # What is known must be written if at all possible: a database that is away for seconds must not turn a message
    # that arrived into one that may have. Settling twice under one token changes nothing.
    closed = persist(partial(_write, statement, values), again=lambda: _write(statement, values) or _is_closed(claim))
    fault_points.reach("settled")
    return closed


def _write(statement: str, values: dict[str, Any]) -> bool:
    closed: int = postgres.execute(statement, values).rowcount
    return closed == 1


def _is_closed(claim: Claim) -> bool:
    """Whether this very settling was committed by a connection that broke before it could say so."""
    return (
        Attempt.objects.filter(delivery_id=claim.delivery_id, token=claim.token, finished_at__isnull=False)
        .exclude(outcome=_OUTCOME.LOST)
        .exists()
    )


def deliver(claim: Claim, receipt: str) -> bool:
    """sending -> delivered: the service accepted it, and said `receipt`."""
    return _settle(claim, _STATE.DELIVERED, _OUTCOME.DELIVERED, receipt)


def reject(claim: Claim, reason: str, gone: bool = False, tells: bool = True, code: str = Code.REFUSED) -> bool:
    """sending -> dead: it will never work as it stands.

    Where the address is `gone`, its channel is disabled; where the try `tells` nothing, nothing is held against it.
    """
    return _settle(claim, _STATE.DEAD, _OUTCOME.REJECTED, reason, code=code, gone=gone, tells=tells)


def exhaust(claim: Claim, outcome: Attempt.Outcome, reason: str, tells: bool = True, code: str = Code.REFUSED) -> bool:
    """sending -> dead: it failed once more, and the tries that the provider allows are used up."""
    return _settle(claim, _STATE.DEAD, outcome, reason, code=code, tells=tells)


def postpone(
    claim: Claim,
    outcome: Attempt.Outcome,
    reason: str,
    wait: float,
    wake_after: float,
    note: str = "",
    tells: bool = True,
) -> bool:
    """sending -> pending: try again after `wait` seconds. Rescue publishes it if it is unclaimed `wake_after` seconds
    later, or before that, with a countdown, where `wake_after` is negative.

    `note` says why the wait is longer than usual.
    """
    ask = note and f" {note}"
    return _settle(claim, _STATE.PENDING, outcome, reason, ask=ask, wait=wait, wake_after=wake_after, tells=tells)


def hold(claim: Claim, reason: str, tells: bool = True, code: str = Code.NO_ANSWER) -> bool:
    """sending -> unknown: it may have arrived; a person decides whether to send it again."""
    ask = " It may have arrived; send it again?"
    return _settle(claim, _STATE.UNKNOWN, _OUTCOME.AMBIGUOUS, reason, ask=ask, code=code, tells=tells)
