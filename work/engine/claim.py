"""Claim work: lease it, open its attempt and load what its kind needs. One statement, because all work pays for it."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction

from common.database import fault_points, postgres
from common.database.group_commit import Alone, Combiner
from common.database.postgres import blames_no_row, persist
from common.database.rows import Rows
from work.broker.shared_connection import SharedConnection, has_threads
from work.engine.decision import Decision, give_back
from work.engine.settlement import settle, settlement, write
from work.kinds import C, Kind, Lease
from work.models.hold import OFF
from work.reasons import Reason, WorkCode

log = logging.getLogger(__name__)

# Longer than the longest deadline and Celery's hard time limit, so that a lease only expires under a dead worker.
LEASE = 90.0  # seconds

_NEW = Rows("new", id=UUID, token=UUID)
_CLAIM = f"""
WITH new AS (
    SELECT * FROM {_NEW.sql}
), claimed AS (
    UPDATE $work d
       SET state = '$working', tries = tries + 1, lease_token = new.token,
           lease_until = now() + %(lease)s * interval '1 second'
      FROM new
     WHERE d.id = new.id AND d.state = 'pending' AND d.available_at <= now()
       AND (d.expires_at IS NULL OR d.expires_at > now()) AND num_nulls(d.wake_at) = %(pulled)s
       AND {OFF}
 RETURNING d.*
), opened AS (
    INSERT INTO $attempt ($key, replay, number, token, worker, started_at, outcome)
    SELECT id, replays, tries + released, lease_token, %(worker)s, now(), '' FROM claimed
)
SELECT $claim FROM claimed d $joins
"""  # noqa: S608 - constants only
# For threads together: rows that another transaction has locked are left out.
_CLAIM_MANY = _CLAIM.replace(
    "), claimed AS (",
    """), locked AS MATERIALIZED (
    SELECT d.id FROM $work d
     WHERE d.id = ANY(%(new_id)s::uuid[]) AND d.state = 'pending' FOR NO KEY UPDATE SKIP LOCKED
), claimed AS (""",
).replace("      FROM new\n     WHERE d.id", "      FROM new JOIN locked USING (id)\n     WHERE d.id")


def claim(kind: Kind[C], work_id: UUID, worker: str) -> C | None:
    """pending -> working: lease it and open its attempt. None when there is nothing to claim now.

    A damaged row ends as dead, without being run.
    """
    token = uuid4()
    claimed = _read(kind, Lease(id=work_id, token=token), partial(_claim, kind, work_id, token, worker))
    fault_points.reach("claimed")
    return claimed


def claim_pulled(kind: Kind[C], ids: Iterable[UUID], seconds: float, worker: str) -> list[Any]:
    """pending -> working for work that programs pull: lease those of `ids` that are due for so many seconds.

    Returns their rows in the order of `ids`, to `read` once the caller's transaction is committed. A damaged row ends
    as dead, alone.
    """
    requests = [(work_id, uuid4(), worker) for work_id in ids]
    if not requests:
        return []
    values = _values(requests) | {"lease": seconds, "pulled": 1}
    try:
        with transaction.atomic():
            rows = {row.id: row for row in postgres.execute(kind.sql(_CLAIM), values).fetchall()}
    except Exception as error:
        if blames_no_row(error):
            raise
        if len(requests) > 1:
            return [*chain.from_iterable(claim_pulled(kind, [one], seconds, worker) for one, _, _ in requests)]
        _end_damaged(kind, Lease(id=requests[0][0], token=requests[0][1]), error)
        return []
    return [rows[work_id] for work_id, _, _ in requests if work_id in rows]


def read(kind: Kind[C], row: Any) -> C | None:
    """Return the claimed work. None for a damaged row, which ends as dead."""
    return _read(kind, Lease(id=row.id, token=row.token), lambda: row)


def _read(kind: Kind[C], lease: Lease, load: Callable[[], Any]) -> C | None:
    try:
        row = load()
        return None if row is None else kind.read(row)
    except Exception as error:
        if blames_no_row(error):
            raise
        _end_damaged(kind, lease, error)
        return None


# The claim may have been committed before it could not be read, or it failed: its attempt cannot be written.
# Pulling has locked other rows by now, so it waits for none: a row that is skipped ends at its next claim.
_HOLD = """
WITH locked AS MATERIALIZED (
    SELECT d.id FROM $work d $locked
     WHERE d.id = %(id)s AND (d.state = 'pending' OR d.lease_token = %(token)s) FOR NO KEY UPDATE OF $lock SKIP LOCKED
)
UPDATE $work d SET state = '$working', lease_token = %(token)s, lease_until = now()
  FROM locked WHERE d.id = locked.id
RETURNING $handler AS handler
"""


@transaction.atomic
def _end_damaged(kind: Kind[Any], lease: Lease, error: Exception) -> None:
    """pending, working under this token -> dead."""
    log.error("%s %s cannot be read: %s", kind.task, lease.id, type(error).__name__)
    for row in postgres.query(kind.sql(_HOLD), {"id": lease.id, "token": lease.token}):
        settle(kind, replace(lease, handler=row.handler), Decision("dead", "rejected", unreadable(error)))


def unreadable(error: Exception) -> Reason:
    """Why a damaged row ends. The text of an exception may hold a secret, so only its type is kept."""
    return Reason(WorkCode.DAMAGED_ROW, error=type(error).__name__)


def seconds_until_available(kind: Kind[Any], work_id: UUID) -> float | None:
    """Return the seconds that pending work still waits, on the database's clock; None when it is not pending."""
    rows = postgres.query(
        kind.sql(
            "SELECT extract(epoch FROM available_at - now())::float AS wait FROM $work WHERE id = %s"
            " AND state = 'pending'"
        ),
        [work_id],
    )
    return max(0.0, rows[0].wait) if rows else None


def _claim(kind: Kind[Any], work_id: UUID, token: UUID, worker: str) -> Any:
    """The row, claimed together with what other threads claim at this moment, or alone."""
    alone, again = (partial(claim, kind, work_id, token, worker) for claim in (_claim_alone, _claim_again))
    if not has_threads():
        return persist(alone, again)
    try:
        return _together(kind)((work_id, token, worker))
    except Alone as left:
        return persist(again if left.uncertain else alone, again)


def _claim_alone(kind: Kind[Any], work_id: UUID, token: UUID, worker: str) -> Any:
    return postgres.execute(kind.sql(_CLAIM), _values([(work_id, token, worker)])).fetchone()


def _claim_again(kind: Kind[Any], work_id: UUID, token: UUID, worker: str) -> Any:
    """The connection that broke may have committed the claim before it did; nothing was done under it."""
    undo = settlement(kind, Lease(id=work_id, token=token), give_back(Reason(WorkCode.DATABASE_AWAY)))
    write(kind, [undo])
    row = _claim_alone(kind, work_id, token, worker)
    # It may also have committed while we waited for its lock: its server does not know yet that the line is cut.
    if row is None and write(kind, [undo]):
        row = _claim_alone(kind, work_id, token, worker)
    return row


@cache
def _together(kind: Kind[Any]) -> Combiner[tuple[UUID, UUID, str], Any]:
    """Claims for all threads that claim at the same moment, in one statement and one commit, each under its token."""
    shared = SharedConnection()

    def claim_many(requests: Sequence[tuple[UUID, UUID, str]]) -> list[Any]:
        rows = {row.token: row for row in shared.execute(kind.sql(_CLAIM_MANY), _values(requests)).fetchall()}
        fault_points.reach("claims-committed")
        return [rows.get(token) or Alone() for _, token, _ in requests]

    return Combiner(claim_many)


def _values(requests: Sequence[tuple[UUID, UUID, str]]) -> dict[str, Any]:
    """Of one process."""
    return {**_NEW.values(requests), "lease": LEASE, "worker": requests[0][2][:120], "pulled": 0}
