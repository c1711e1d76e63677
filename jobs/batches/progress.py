"""Batches: record them, say how far they have come, cancel them.

Progress is kept by parts of an audience: see `Part`. A task counts the open parts again, a few at a time.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from common.database import correlation
from common.database.postgres import change, column, query
from common.database.rows import Rows
from jobs.models import Batch, Job
from jobs.models.batch import COUNTED, WORDS
from notifications.deliveries.dead_letters import sendable
from notifications.models import Delivery, Notification
from work import dead_letters
from work.broker import wakes
from work.broker.wakes import Wake
from work.dead_letters import Who, stale
from work.models import DEAD_LETTERS

log = logging.getLogger(__name__)

TELL = "jobs.tell"
# Parts of 2,000 people that one task counts, so that it is short.
PARTS_A_TICK = 10
# So many dead letters are replayed at a time, oldest first.
MOST_REPLAYED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBatch:
    """A batch to record, for who belongs to the audience at `as_of`, None for now. Instants are aware.

    `message` is what its people are told and how, as `batch_kind` reads it.
    `local_time`: `slot` is civil time on each reader's clock, as the first zone on Earth has it (UTC+14).
    """

    id: UUID
    user_id: int
    audience: str
    audience_key: str
    origin: Notification.Origin
    message: Mapping[str, Any]
    origin_id: UUID | None = None
    correlation_id: str | None = None
    as_of: datetime | None = None
    slot: datetime | None = None
    local_time: bool = False
    stale_after: int | None = None
    job_kind: str = ""
    job_payload: Mapping[str, Any] = field(default_factory=dict)
    on_error: str = "daily"
    errors_allowed: int = 3


_BATCHES = Rows("new", NewBatch, **correlation.COLUMNS)
_RECORD = f"""
{_BATCHES.insert("jobs_batch", **wakes.new_work("0.0"), as_of="coalesce(as_of, now())", available_at="now()")}
ON CONFLICT (id) DO NOTHING
RETURNING id, user_id
"""


def record(batches: Iterable[NewBatch]) -> list[Wake]:
    """Write batches, within the caller's transaction; returns what to publish after it. Known ids are left out."""
    if not (new := list(batches)):
        return []
    rows = query(_RECORD, {**_BATCHES.values(new), **wakes.parameters()})
    return [Wake(TELL, row.id, 0.0, row.user_id) for row in rows]


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts of a batch by state. It counts deliveries; of a batch of jobs, the jobs, each with its message.

    `is_complete`: nobody is left to notify, so that none at all means the end of it.
    """

    pending: int
    processing: int
    completed: int
    failed: int
    dropped: int
    is_complete: bool = True

    @property
    def parts(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in COUNTED}

    @property
    def total(self) -> int:
        return sum(self.parts.values())

    @property
    def percent(self) -> float:
        """The percentage that has ended, in whichever way."""
        ended = self.completed + self.failed + self.dropped
        return round(100 * ended / self.total, 1) if self.total else 100.0 * self.is_complete


def progress_of(batch: Batch) -> Progress:
    """Return the progress of a batch that was read `with_counts`. Who is not told yet counts as one pending."""
    counts = batch.counts or dict.fromkeys(COUNTED, 0)  # type: ignore[attr-defined]
    return Progress(**counts | {"pending": counts["pending"] + _untold(batch)}, is_complete=not _is_notifying(batch))


def shown(batch: Batch) -> Progress:
    """Return the progress that its owner sees; the batch was read `with_counts` and with its user.

    Owners who are not staff see of a topic's batch only how many of its people are told: those that wait or fail
    would tell whether an added address has an account.
    """
    if not hides_deliveries(batch):
        return progress_of(batch)
    untold = _untold(batch)
    dropped = max(0, (batch.size or 0) - batch.told - untold)
    return Progress(untold, 0, batch.told, 0, dropped, is_complete=not _is_notifying(batch))


def hides_deliveries(batch: Batch) -> bool:
    return not batch.user.is_staff


def ended_at(batch: Batch) -> datetime | None:
    """When its owner sees it as ended."""
    return batch.settled_at if hides_deliveries(batch) else batch.ended_at


def _untold(batch: Batch) -> int:
    return max(0, (batch.size or 0) - batch.told) if _is_notifying(batch) else 0


def _is_notifying(batch: Batch) -> bool:
    return batch.state in {"pending", WORDS.working} and batch.cancelled_at is None


# One that waits in a queue of its reader has arrived: when their program pulls it is nothing that a batch waits for.
_COUNT_DELIVERIES = """
SELECT p.id, CASE WHEN d.state = 'pending' AND d.wake_at IS NULL THEN 'delivered' ELSE d.state END AS state
  FROM chosen p
  JOIN notifications_notification n ON n.batch_id = p.batch_id AND n.user_id BETWEEN p.first AND p.last
  JOIN notifications_delivery d ON d.notification_id = n.id WHERE p.job_kind = ''
"""
# A job has not ended before its message, which may wait for the morning.
_COUNT_JOBS = """
SELECT p.id, coalesce(message.state, j.state) FROM chosen p
  JOIN jobs_job j ON j.batch_id = p.batch_id AND j.user_id BETWEEN p.first AND p.last
  CROSS JOIN LATERAL (
      SELECT min(d.state) AS state
        FROM notifications_notification n JOIN notifications_delivery d ON d.notification_id = n.id
       WHERE n.batch_id = j.batch_id AND n.user_id = j.user_id
         AND (d.state = 'sending' OR d.state = 'pending' AND d.wake_at IS NOT NULL)
  ) message WHERE p.job_kind <> ''
"""
_COUNT = f"""
WITH chosen AS MATERIALIZED (
    SELECT p.*, b.job_kind FROM jobs_part p JOIN jobs_batch b ON b.id = p.batch_id
     WHERE {{which}} ORDER BY p.counted_at LIMIT %(limit)s
       FOR NO KEY UPDATE OF p SKIP LOCKED
), states AS ({_COUNT_DELIVERIES} UNION ALL {_COUNT_JOBS}), counted AS (
    SELECT chosen.id,
           count(*) FILTER (WHERE state = 'pending') AS pending,
           count(*) FILTER (WHERE state IN ('sending', 'looking')) AS processing,
           count(*) FILTER (WHERE state IN ('delivered', 'decided')) AS completed,
           count(*) FILTER (WHERE state IN ('dead', 'unknown')) AS failed,
           count(*) FILTER (WHERE state IN ('cancelled', 'expired')) AS dropped
      FROM chosen LEFT JOIN states USING (id) GROUP BY chosen.id
)
UPDATE jobs_part p
   SET pending = c.pending, processing = c.processing, completed = c.completed, failed = c.failed,
       dropped = c.dropped, counted_at = now()
  FROM counted c WHERE p.id = c.id
"""  # noqa: S608 - constants only
# Those counted last come last: so all of a large batch have their turn.
_COUNT_OPEN = _COUNT.format(which="b.ended_at IS NULL AND p.pending + p.processing > 0")
_COUNT_ONE = _COUNT.format(which="b.id = %(batch)s AND (p.pending + p.processing + p.failed > 0)")
_COUNT_THESE = _COUNT.format(which="p.id = ANY(%(parts)s::bigint[])")
_END = """
UPDATE jobs_batch b SET ended_at = now()
 WHERE ended_at IS NULL AND state NOT IN ('pending', 'telling')
   AND NOT EXISTS (SELECT FROM jobs_part p WHERE p.batch_id = b.id AND p.pending + p.processing > 0)
RETURNING id, size, reached
"""


def count_open() -> int:
    """Count some of the open parts again, and end the batches that have none. Returns how many parts."""
    counted = change(_COUNT_OPEN, {"limit": PARTS_A_TICK})
    for row in query(_END, []):
        log.info("Batch %s ended: %s of %s people were reached", row.id, row.reached, row.size)
    return counted


def count_again(batch: Batch) -> None:
    """Count one batch again, for somebody who looks at it: also what failed, which may have been replayed."""
    change(_COUNT_ONE, {"batch": batch.id, "limit": PARTS_A_TICK})


def count_parts(ids: Iterable[int]) -> None:
    """Count these parts again, at most `PARTS_A_TICK`."""
    change(_COUNT_THESE, {"parts": column(ids), "limit": PARTS_A_TICK})


def replay(batch: Batch, who: Who) -> int:
    """Have the oldest dead letters of a batch done again; if it is one itself, also the telling. Returns how many.

    Of a cancelled batch nothing is replayed, because what waits of it is cancelled.
    """
    if batch.cancelled_at is not None:
        return 0
    which = f"of the batch {batch.id}"
    telling = dead_letters.replay(Batch.objects.filter(id=batch.id, state__in=DEAD_LETTERS), which, who)
    rows: QuerySet[Any] = Job.objects.filter(batch_id=batch.id, state__in=DEAD_LETTERS)
    if not batch.job_kind:
        rows = sendable(Delivery.objects.filter(notification__batch_id=batch.id, state__in=DEAD_LETTERS))
    oldest = list(rows.exclude(stale()).order_by("settled_at").values_list("id", flat=True)[:MOST_REPLAYED])
    done = dead_letters.replay(rows.model._default_manager.filter(id__in=oldest), which, who)
    changed = len(telling.changed) + len(done.changed)
    if changed:
        Batch.objects.filter(id=batch.id).update(ended_at=None)
        count_again(batch)
    return changed
