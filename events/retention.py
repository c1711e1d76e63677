"""Delete old events with their attempts and effects, and the digests that told of them. Notifications stay."""

from __future__ import annotations

import time
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from common.postgres import persist, query
from common.uuid7 import first_of
from events.digest_kind import DIGEST
from events.kind import EVENT
from work.kinds import Kind

_CHUNK = 5_000
# A task may take 70; the next run goes on.
_LONGEST = 30.0  # seconds
_FIRST_ID = UUID(int=0)

# By the ids, which grow with time. Dead letters stay until a person has decided, and so does what a digest needs.
_PRUNE = """
WITH old AS MATERIALIZED (
    SELECT d.id FROM $work d
     WHERE d.id > %(after)s AND d.id < %(before)s AND d.settled_at < %(since)s
       AND d.state IN ('$done', 'cancelled', 'expired') AND NOT EXISTS ({needed})
     ORDER BY d.id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
), attempts AS (
    DELETE FROM $attempt a USING old WHERE a.$key = old.id
){entries}
DELETE FROM $work d USING old WHERE d.id = old.id RETURNING d.id
"""
_PRUNE_EVENTS = _PRUNE.format(
    needed="""SELECT FROM events_effect f JOIN events_digest g ON g.id = f.digest_id
               WHERE f.event_id = d.id AND g.state NOT IN ('sent', 'cancelled', 'expired')""",
    entries=", effects AS (DELETE FROM events_effect f USING old WHERE f.event_id = old.id)",
)
_PRUNE_DIGESTS = _PRUNE.format(needed="SELECT FROM events_effect f WHERE f.digest_id = d.id", entries="")


def prune() -> int:
    """Delete what was settled `EVENTS_KEPT_DAYS` ago, in chunks of a transaction each. Returns how many events."""
    pruned = _prune(EVENT, _PRUNE_EVENTS)
    _prune(DIGEST, _PRUNE_DIGESTS)
    return pruned


def _prune(kind: Kind[Any], statement: str) -> int:
    since = timezone.now() - timedelta(days=settings.EVENTS_KEPT_DAYS)
    pruned, after, give_up_at = 0, _FIRST_ID, time.monotonic() + _LONGEST
    while True:
        values = {"after": after, "before": first_of(since), "since": since, "limit": _CHUNK}
        deleted = [row.id for row in persist(partial(query, kind.sql(statement), values))]
        pruned += len(deleted)
        if len(deleted) < _CHUNK or time.monotonic() > give_up_at:
            return pruned
        after = max(deleted)
