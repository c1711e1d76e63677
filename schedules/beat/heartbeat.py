"""Signs of life of the beats, and the times at which there were none."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max

from common.postgres import change, query
from schedules.models import Heartbeat

# Seconds between two signs of life.
EVERY = 5.0
# Seconds without a sign after which a process that goes on begins a new row, and without any beat, an outage.
GAP = 15.0
# Seconds without a sign of any beat after which the clock counts as stopped.
STOPPED = 60.0
KEPT_DAYS = 90


@dataclass(frozen=True, slots=True)
class Outage:
    """A time without any beat, aware UTC; `ended` is None while it lasts."""

    began: datetime
    ended: datetime | None


_SIGN = """
UPDATE schedules_heartbeat SET last_seen_at = greatest(last_seen_at, now()), work = %s, total = total + %s
 WHERE id = %s AND last_seen_at > now() - %s * interval '1 second'
RETURNING id
"""


class Pulse:
    """One beat process's heartbeat: tell it of each look, and it writes a row every few seconds."""

    def __init__(self) -> None:
        self.process = f"{socket.gethostname()}:{os.getpid()}"[:200]
        self._row: int | None = None
        self._work = 0
        self._next = 0.0

    def tell(self, work: int) -> None:
        """Count `work` schedules that were moved on. Raises django.db.Error when the database is away."""
        self._work += work
        if time.monotonic() < self._next:
            return
        self._row = self._sign() or self._begin()
        self._work = 0
        self._next = time.monotonic() + EVERY

    def _sign(self) -> int | None:
        rows = query(_SIGN, [self._work, self._work, self._row, GAP])
        return rows[0].id if rows else None

    def _begin(self) -> int:
        change("DELETE FROM schedules_heartbeat WHERE last_seen_at < now() - %s * interval '1 day'", [KEPT_DAYS])
        return Heartbeat.objects.create(process=self.process, work=self._work, total=self._work).id


def beat_last_seen() -> datetime | None:
    """When the last sign of life of any beat was written, on the database's clock; None when there never was one."""
    seen: datetime | None = Heartbeat.objects.aggregate(seen=Max("last_seen_at"))["seen"]
    return seen


_OUTAGES = """
SELECT seen AS began, next AS ended FROM (
    SELECT max(last_seen_at) OVER (ORDER BY started_at, id ROWS UNBOUNDED PRECEDING) AS seen,
           lead(started_at) OVER (ORDER BY started_at, id) AS next
      FROM schedules_heartbeat WHERE started_at <= %(now)s
) spans
 WHERE coalesce(next, %(now)s) > seen + %(gap)s * interval '1 second' AND coalesce(next, %(now)s) > %(since)s
 ORDER BY seen
"""


def outages(since: datetime, now: datetime) -> Iterator[Outage]:
    """The times between `since` and `now` in which no beat was seen, oldest first. Nothing is said of the time before
    the first beat that is remembered (90 days)."""
    yield from query(_OUTAGES, {"now": now, "since": since, "gap": GAP}, Outage)
