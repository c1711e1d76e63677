"""Settle what a crash or an outage left behind: expired leases and stale work.

Any number of rescuers may run these at once: each statement takes rows that no other transaction has locked, by a
partial index of the work to do. Rows are selected in an ARRAY(…), which PostgreSQL evaluates once: under some plans it
would run an `IN (SELECT … LIMIT … SKIP LOCKED)` again for each row, past the limit. What the triggers of a settlement
write to is locked too, and no row is waited for, so they cannot deadlock.
"""

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from common.database import postgres
from work.engine import log_lines
from work.engine.decision import decide_lost
from work.engine.settlement import settlement, write
from work.kinds import Kind, Lease
from work.reasons import Reason, WorkCode

_EXPIRE = f"""
UPDATE $work
   SET state = 'expired', reason_code = '{WorkCode.STALE}', reason_params = '{{}}', settled_at = now()
 WHERE id = ANY(ARRAY(
    SELECT d.id FROM $work d $locked
     WHERE d.state = 'pending' AND d.expires_at <= now()
     ORDER BY d.expires_at LIMIT %s FOR NO KEY UPDATE OF $lock SKIP LOCKED
 ))
RETURNING id
"""  # noqa: S608 - constants only


def expire(kind: Kind[Any], limit: int) -> int:
    """pending -> expired: up to `limit` rows past their `expires_at`."""
    ids = [row.id for row in postgres.query(kind.sql(_EXPIRE), [limit])]
    for row in log_lines.load(kind, ids):
        log_lines.write(kind, row, "expired", Reason(WorkCode.STALE))
    return len(ids)


_LOST = """
SELECT $lease, $most_tries AS most_tries FROM $work d $locked
 WHERE d.state = '$working' AND d.lease_until <= now()
 ORDER BY d.lease_until LIMIT %s FOR NO KEY UPDATE OF $lock SKIP LOCKED
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lost(Lease):
    most_tries: int | None


_COUNTED_AS = {"pending": "again", "unknown": "held", "dead": "dead"}


def recover(kind: Kind[Any], limit: int) -> Counter[str]:
    """working -> pending, unknown, dead: the worker is gone, and nobody knows how its try ended.

    Work that has used up its tries this way (a payload that kills every worker) is dead. Returns how many are done
    again, are held for a person, and are dead.
    """
    with transaction.atomic():
        leases = postgres.query(kind.sql(_LOST), [limit], _Lost)
        lost = {lease.id: decide_lost(kind, lease, lease.most_tries, random.random()) for lease in leases}  # noqa: S311
        rows = log_lines.load(kind, lost)
        if lost:
            write(kind, [settlement(kind, lease, lost[lease.id]) for lease in leases])
    for row in rows:
        log_lines.ended(kind, row, lost[row.id])
    return Counter(_COUNTED_AS[decision.state] for decision in lost.values())
