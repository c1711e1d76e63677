"""Delete work that has ended, with its attempts, in chunks of a transaction each."""

import time
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.utils import timezone

from common.database.postgres import persist, query
from common.uuid7 import first_of
from work.kinds import Kind

_CHUNK = 5_000
# A task may take 70; the next run goes on.
_LONGEST = 30.0  # seconds
_FIRST_ID = UUID(int=0)

# By the ids, which grow with time. Dead letters stay until a person has decided.
_PRUNE = """
WITH old AS MATERIALIZED (
    SELECT d.id FROM $work d
     WHERE d.id > %(after)s AND d.id < %(before)s AND d.settled_at < %(since)s
       AND d.state IN ('$done', 'cancelled', 'expired') AND NOT EXISTS ({needed})
     ORDER BY d.id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
), attempts AS (
    DELETE FROM $attempt a USING old WHERE a.$key = old.id
){also}
DELETE FROM $work d USING old WHERE d.id = old.id RETURNING d.id
"""


def prune(kind: Kind[Any], days: int, needed: str, also: str = "") -> int:
    """Delete what was settled `days` ago. Returns how much.

    Work `d` for which the SQL `needed` finds a row stays. `also` has CTEs that delete what belongs to the rows `old`.
    """
    statement = kind.sql(_PRUNE.format(needed=needed, also=also))
    since = timezone.now() - timedelta(days=days)
    pruned, after, give_up_at = 0, _FIRST_ID, time.monotonic() + _LONGEST
    while True:
        values = {"after": after, "before": first_of(since), "since": since, "limit": _CHUNK}
        deleted = [row.id for row in persist(partial(query, statement, values))]
        pruned += len(deleted)
        if len(deleted) < _CHUNK or time.monotonic() > give_up_at:
            return pruned
        after = max(deleted)
