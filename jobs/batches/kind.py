"""The batch as a kind of work: tell an audience, in parts of one transaction each, which moves the cursor in its row.

A worker that dies leaves the cursor behind the last part, and the next one goes on there. Nobody is told twice: a batch
has one notification, or one job, for each person.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from functools import partial
from typing import Annotated, Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

from django.db import transaction

from common import zones
from common.database import correlation, fault_points, postgres
from common.database.postgres import persist
from common.times import civil_time
from jobs import kinds as job_kinds
from jobs.batches import sql
from jobs.batches.audiences import AUDIENCES
from jobs.batches.progress import TELL
from jobs.checks.recording import CHECK, own_queue, queue_of
from jobs.models import Batch, BatchAttempt
from jobs.reasons import JobCode
from notifications.deliveries import outbox
from notifications.deliveries.outbox import DELIVER, SendOptions
from notifications.deliveries.pull_signal import wake_pullers_after_commit
from notifications.messages import text
from work import kinds
from work.answers import Answer, Cancel, Defer, Done, NotStarted
from work.broker import wakes
from work.broker.wakes import Wake
from work.kinds import Kind, Loaded
from work.reasons import Reason, WorkCode
from work.retry import INSIDE

log = logging.getLogger(__name__)

PART = 2_000
# Seconds after which the batch is given back, so that another one has its turn; far below the lease.
PORTION = 5.0
# An audience up to here is published at once; the deliveries of a larger one are bulk work.
FEW = 200
# Stands for the reader's name until the statement fills it in; nobody types it.
_NAME = uuid4().hex
# Another worker has taken over, or it was cancelled.
_OVERTAKEN = Defer(0.0, Reason(WorkCode.OVERTAKEN))
# Each holds a connection and a thread of this process.
_large_ones = threading.BoundedSemaphore(2)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchClaim(kinds.Claim):
    """A leased batch; see `Batch`. `message` is what its people are told: texts, and how they are sent."""

    slot: datetime | None
    local_time: bool
    job_kind: str
    message: Annotated[Mapping[str, Any], Loaded("d.message::text", read=lambda text: dict(json.loads(text)))]
    is_cancelled: Annotated[bool, Loaded("d.cancelled_at IS NOT NULL")]
    may_announce: Annotated[bool, Loaded("d.origin <> 'announcement' OR p.is_staff AND p.is_active")]


class BatchKind(Kind[BatchClaim]):
    task = TELL
    queue = "jobs"
    model, attempts = Batch, BatchAttempt
    handler = "audience"
    caused_by = "d.audience"
    chain = correlation.sql("d")
    claim = BatchClaim
    dead_letters = "admin:jobs_deadbatch"
    retries = INSIDE
    repeats = True  # each part commits with the cursor, or not at all

    def prepare(self, claim: BatchClaim) -> Defer | Cancel | Answer | Callable[[], Answer | Defer]:
        if claim.is_cancelled:
            return Cancel(Reason(JobCode.CANCELLED_BATCH))
        if claim.handler not in AUDIENCES:
            return NotStarted(Reason(JobCode.NO_AUDIENCE, audience=claim.handler))
        if not claim.may_announce:
            return NotStarted(Reason(JobCode.NOT_STAFF))
        return super().prepare(claim)

    def run(self, claim: BatchClaim) -> Answer | Defer:
        return tell(claim) or Done()


BATCH = BatchKind()


def tell(batch: BatchClaim) -> Defer | None:
    """Tell those who have not been told. None once it is over; else when to go on."""
    audience = AUDIENCES[batch.handler]
    size = sql.SIZE.replace("$people", audience.people).replace("$nobody", audience.nobody)
    if not (counted := postgres.query(size, {"id": batch.id, "token": batch.token})):
        return _OVERTAKEN
    [row] = counted
    if batch.tries + batch.released == 1:
        log.info("Batch %s begins: it is for %s people", batch.id, row.size)
    is_bulk = row.size > FEW
    if is_bulk and not _large_ones.acquire(blocking=False):
        return Defer(1.0, Reason(JobCode.OTHERS_FIRST))
    try:
        statement = (sql.CHECK if batch.job_kind else sql.SAY).replace("$people", audience.people)
        return _tell(batch, statement, _values(batch, is_bulk))
    finally:
        if is_bulk:
            _large_ones.release()


def _tell(batch: BatchClaim, statement: str, values: dict[str, Any]) -> Defer | None:
    until = time.monotonic() + PORTION
    counted = not values["is_bulk"]
    task, queue = (CHECK, own_queue(values["queue"])) if batch.job_kind else (DELIVER, None)
    while True:
        rows = persist(partial(_tell_part, statement, values))
        fault_points.reach("chunk-told")
        if not rows:
            return _OVERTAKEN
        [row] = rows
        wake_pullers_after_commit(set(row.pulled))
        if row.work:
            wakes.publish(Wake(task, UUID(key), wait, user, queue=queue) for key, user, wait in json.loads(row.work))
        if row.passed < PART:
            log.info("Batch %s is recorded: %s of %s people were reached", batch.id, row.reached, row.size)
            return None
        if not counted and postgres.query(sql.ANALYZED, [])[0].rows < row.size:
            postgres.change(sql.ANALYZE, [])
        counted = True
        if time.monotonic() > until:
            return Defer(0.0, Reason(JobCode.MORE_TO_TELL, told=row.told, size=row.size))


def _tell_part(statement: str, values: dict[str, Any]) -> list[Any]:
    """Lock first: a statement that has to wait for the batch would not see who left meanwhile (see `withdrawal`)."""
    with transaction.atomic():
        postgres.query(sql.LOCK, {"id": values["id"]})
        return postgres.query(statement, values)


def _values(batch: BatchClaim, is_bulk: bool) -> dict[str, Any]:
    message, clocks, kind = batch.message, _clocks(batch), job_kinds.find(batch.job_kind)
    return {
        "id": batch.id,
        "token": batch.token,
        "part": PART,
        **sql.CLOCKS.values((zone, slot, text_.subject, text_.body) for zone, (slot, text_) in clocks.items()),
        "marker": _NAME,
        **{option.name: message.get(option.name, option.default) for option in fields(SendOptions)},
        "queue": queue_of(batch.job_kind),
        "connection": kind.connection if kind else "",
        **outbox.parameters(is_bulk),
    }


def _clocks(batch: BatchClaim) -> dict[str, tuple[datetime | None, text.Text]]:
    """By the reader's zone, when its slot is and what is said; "" is for all zones that are not listed.

    The reader's name is filled in by the statement. A batch without a slot says the same to all.
    """
    message, own = batch.message, str(batch.message.get("time_zone", ""))
    title, body = str(message["title"]), str(message["body"])
    if batch.slot is None:
        return {"": (None, text.Text(title, body))}
    civil = civil_time.local(zones.read(zones.FIRST_ZONE), batch.slot).replace(tzinfo=None)

    def at(zone: str) -> tuple[datetime, text.Text]:
        slot = civil_time.first_instant(ZoneInfo(zone), civil) if batch.local_time else batch.slot
        assert slot is not None  # noqa: S101 - see above
        return slot, text.compose(title, body, name=_NAME, slot=slot, time_zone=zone)

    return {"": at(own if own in zones.known() else "UTC"), **{zone: at(zone) for zone in sorted(zones.known())}}
