"""One log line for each try that has ended, and for what rescue ends."""

import logging
from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from common.database.postgres import query
from common.texts.log_line import LogLine
from work.engine.decision import Decision
from work.kinds import Claim, Kind
from work.reasons import Reason

log = logging.getLogger(__name__)

# Without a lease, it has waited until now. `was_due`: a settlement changes when it is due.
_LOAD = """
SELECT d.id, $handler AS handler, $caused_by AS caused_by, $chain AS chain, d.tries, d.available_at,
       coalesce(a.started_at, now()) AS claimed_at
  FROM $work d LEFT JOIN $attempt a ON a.$key = d.id AND a.token = d.lease_token $joins WHERE d.id = ANY(%s)
"""


def load(kind: Kind[Any], ids: Collection[UUID]) -> list[Any]:
    """Return what lines of these rows need, before they are settled; nothing where no line is written."""
    return query(kind.sql(_LOAD), [list(ids)]) if ids and log.isEnabledFor(logging.INFO) else []


def ended(kind: Kind[Any], work: Claim | Any, decision: Decision) -> None:
    """Write that a try has ended by `decision`. `work` is its claim, or a row of `load`."""
    write(kind, work, decision.outcome, decision.reason, will_retry=decision.wait is not None)


def write(kind: Kind[Any], work: Claim | Any, outcome: str, reason: Reason, *, will_retry: bool = False) -> None:
    """Of the reason only its code: parameters may quote a service."""
    if not log.isEnabledFor(logging.INFO):
        return
    due: datetime = work.available_at
    log.info(
        LogLine(
            f"{kind.task}: {outcome}",
            action=kind.task,
            id=str(work.id),
            type=work.handler,
            source=work.caused_by,
            correlation_id=work.chain,
            attempt=work.tries,
            queued_at=due.isoformat(timespec="milliseconds"),
            delay_ms=round((work.claimed_at - due).total_seconds() * 1000),
            outcome=outcome,
            reason=reason.code,
            will_retry=will_retry,
        )
    )
