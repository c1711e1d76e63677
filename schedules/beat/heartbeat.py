"""Heartbeats of the beat processes, and the outages between them."""

import os
import socket
import time
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max

from common.database.postgres import change, query
from schedules.models import Heartbeat

# Seconds between two heartbeats.
EVERY = 5.0
# Seconds without a heartbeat that make an outage. After them, a process begins a new row.
GAP = 15.0
# Seconds without a heartbeat of any beat after which pages say that the clock has stopped.
STOPPED = 60.0
RETAINED_DAYS = 90
RETAINED_ROWS = 1_000
"""The newest rows, for a beat that ends again and again. The table is always read whole: see the model."""


@dataclass(frozen=True, slots=True)
class Outage:
    """A time without any beat, aware UTC; `ended` is None while it lasts."""

    began: datetime
    ended: datetime | None


_EXTEND = """
UPDATE schedules_heartbeat SET last_seen_at = greatest(last_seen_at, now()), work = %s, total = total + %s
 WHERE id = %s AND last_seen_at > now() - %s * interval '1 second'
RETURNING id
"""
_DELETE_OLD = """
DELETE FROM schedules_heartbeat
 WHERE last_seen_at < now() - %s * interval '1 day'
    OR id <= (SELECT id FROM schedules_heartbeat ORDER BY id DESC OFFSET %s LIMIT 1)
"""


class HeartbeatWriter:
    """Writes the row of one beat process every few seconds."""

    def __init__(self) -> None:
        self.process = f"{socket.gethostname()}:{os.getpid()}"[:200]
        self._row: int | None = None
        self._work = 0
        self._next = 0.0

    def count(self, work: int) -> None:
        """Add `work` fired schedules, and write when it is time. Raises django.db.Error if the database is away."""
        self._work += work
        if time.monotonic() < self._next:
            return
        if not query(_EXTEND, [self._work, self._work, self._row, GAP]):
            change(_DELETE_OLD, [RETAINED_DAYS, RETAINED_ROWS - 1])
            self._row = Heartbeat.objects.create(process=self.process, work=self._work, total=self._work).id
        self._work = 0
        self._next = time.monotonic() + EVERY


def age() -> float | None:
    """Seconds since any beat was seen, by the clock of the database; None: not yet."""
    [row] = query(
        "SELECT extract(epoch FROM now() - max(last_seen_at))::float8 AS seconds FROM schedules_heartbeat", None
    )
    return row.seconds


def beat_last_seen() -> datetime | None:
    """The last heartbeat of any beat, on the database's clock; None if there is none."""
    return Heartbeat.objects.aggregate(seen=Max("last_seen_at"))["seen"]


_OUTAGES = """
SELECT seen AS began, next AS ended FROM (
    SELECT max(last_seen_at) OVER (ORDER BY started_at, id ROWS UNBOUNDED PRECEDING) AS seen,
           lead(started_at) OVER (ORDER BY started_at, id) AS next
      FROM schedules_heartbeat WHERE started_at <= %(now)s
) spans
 WHERE coalesce(next, %(now)s) > seen + %(gap)s * interval '1 second' AND coalesce(next, %(now)s) > %(since)s
 ORDER BY seen
"""


def outages(since: datetime, now: datetime) -> list[Outage]:
    """The outages between `since` and `now`, oldest first; none before the oldest heartbeat that is kept (90 days)."""
    return query(_OUTAGES, {"now": now, "since": since, "gap": GAP}, Outage)
