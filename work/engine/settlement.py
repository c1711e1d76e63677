"""Write what became of a try, under the lease's token: 0 rows changed means that another worker has taken over.

One statement does it, for one piece of work as for many, because all work pays for it.
"""

import re
from collections.abc import Sequence
from functools import cache, partial
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction

from common.database import fault_points, postgres
from common.database.group_commit import Alone, Combiner
from common.database.postgres import persist
from common.database.rows import Json, Rows
from work.answers import Answer, Done, effects_of
from work.broker.shared_connection import SharedConnection, has_threads
from work.engine.decision import Decision, give_back
from work.kinds import Kind, Lease
from work.reasons import NO_REASON, Reason, cause_of


class Settlement(NamedTuple):
    """A decision under a lease. `reason` and `cause` are the row's; `follow` is the kind's own row, None for none."""

    lease: Lease
    decision: Decision
    reason: Reason
    cause: str
    follow: object | None


_ROWS = Rows(
    "new",
    id=(UUID, attrgetter("lease.id")),
    token=(UUID, attrgetter("lease.token")),
    state=(str, attrgetter("decision.state")),
    wait=(float, attrgetter("decision.wait")),
    wake=(float, attrgetter("decision.wake")),
    uncounted=(int, lambda row: int(not row.decision.counted)),
    reason_code=(str, attrgetter("reason.code")),
    reason_params=(Json, attrgetter("reason.json")),
    cause=(str, attrgetter("cause")),
    outcome=(str, attrgetter("decision.outcome")),
    attempt_code=(str, attrgetter("decision.reason.code")),
    attempt_params=(Json, attrgetter("decision.reason.json")),
)
# What the triggers write to is locked first, see "The order of locks" in docs/architecture.md.
_SETTLE = f"""
WITH new AS (
    SELECT * FROM {_ROWS.sql}
), locked AS MATERIALIZED (
    SELECT d.id FROM new JOIN $work d USING (id) $locked$follow_locked
     WHERE d.state = '$working' AND d.lease_token = new.token FOR NO KEY UPDATE OF $follow_lock$lock
), settled AS (
    UPDATE $work d
       SET state = new.state, reason_code = new.reason_code, reason_params = new.reason_params,
           cause = new.cause, tries = tries - uncounted, released = released + uncounted,
           lease_token = NULL, lease_until = NULL,
           settled_at = CASE WHEN new.state <> 'pending' THEN now() END,
           available_at = coalesce(now() + wait * interval '1 second', available_at),
           wake_at = CASE WHEN wake_at IS NOT NULL THEN coalesce(now() + wake * interval '1 second', wake_at) END,
           wakes = 0
      FROM new JOIN locked USING (id)
     WHERE d.id = new.id
 RETURNING d.*
), closed AS (
    UPDATE $attempt a
       SET finished_at = clock_timestamp(), outcome = new.outcome, reason_code = new.attempt_code,
           reason_params = new.attempt_params
      FROM settled JOIN new USING (id)
     WHERE a.$key = settled.id AND a.token = new.token AND a.finished_at IS NULL
)$follow
SELECT id FROM settled
"""  # noqa: S608 - constants only


# Others wait for what threads settle together.
_IMPATIENT = "SELECT set_config('lock_timeout', '1s', true)"
_PLAIN = re.sub(r"\$follow\w*", "", _SETTLE)
# For threads together: rows that another transaction has locked, or that the triggers would wait for, are left out.
_SETTLE_MANY, _PLAIN_MANY = (one.replace("$lock\n", "$lock SKIP LOCKED\n") for one in (_SETTLE, _PLAIN))


def settlement(kind: Kind[Any], lease: Lease, decision: Decision, follow: object | None = None) -> Settlement:
    """Return the values that `decision` writes under the lease."""
    forgets = decision.state == kind.words.done and not kind.keeps_receipt(decision.reason)
    reason = NO_REASON if forgets else decision.reason
    dead = decision.state in ("dead", "unknown")
    cause = cause_of(lease.handler, decision.reason, decision.state) if dead else ""
    return Settlement(lease, decision, reason, cause, follow)


def statement(kind: Kind[Any], rows: Sequence[Settlement], many: bool = False) -> tuple[str, dict[str, str]]:
    """The statement that settles rows of different work and returns the ids of those still leased; and its values.

    `many`: it also leaves out those that another transaction has locked.
    """
    values, follow = _ROWS.values(rows), [row.follow for row in rows if row.follow]
    if kind.follow_rows is None or not follow:
        return kind.sql(_PLAIN_MANY if many else _PLAIN), values
    return kind.sql(_SETTLE_MANY if many else _SETTLE), values | kind.follow_rows.values(follow)


def write(kind: Kind[Any], rows: Sequence[Settlement]) -> int:
    """Settle them, waiting for those that another transaction has locked. Returns how many leases were still there."""
    return len(postgres.execute(*statement(kind, rows)).fetchall())


def settle(kind: Kind[Any], lease: Lease, decision: Decision, answer: Answer | None = None) -> bool:
    """working -> done, pending, dead, unknown: write the decision and close the attempt, under the token.

    The effects of a `Done` are run in the same transaction. False when another worker has taken over since. Raises an
    error for which `postgres.is_locked` is true where the effect needs what another transaction has locked.
    """
    row = settlement(kind, lease, decision, None if answer is None else kind.follow_row(lease, answer, decision.state))
    done = effects_of(answer)
    alone = partial(_settle, kind, row, done)
    # The result must be written if at all possible: a database that is away for seconds must not turn a success into
    # an unknown outcome. Settling twice under one token changes nothing.
    again = partial(_settle_again, kind, row, done)
    try:
        if done.shared is not None and has_threads():
            closed = _with_effects(kind)((row, done.shared))
        else:
            closed = persist(alone, again) if done.has_effect or not has_threads() else _together(kind)(row)
    except Alone as left:
        closed = persist(again if left.uncertain else alone, again)
    fault_points.reach("settled")
    return closed


def release(kind: Kind[Any], lease: Lease, reason: Reason, wait: float | None = None) -> bool:
    """working -> pending: nothing was done, so the try does not count. It is available at once, or in `wait` seconds.

    False when the lease is no longer there.
    """
    return settle(kind, lease, give_back(reason, wait))


def _settle(kind: Kind[Any], row: Settlement, done: Done) -> bool:
    if not done.has_effect:
        return write(kind, [row]) == 1
    with transaction.atomic():
        if done.before is not None:
            done.before()
        if not (settled := write(kind, [row]) == 1):
            transaction.set_rollback(True)
        elif done.effect is not None:
            done.effect()
    return settled


def _settle_again(kind: Kind[Any], row: Settlement, done: Done) -> bool:
    """The connection that broke may have committed the settlement before it could confirm that."""
    if _settle(kind, row, done):
        return True
    attempts = kind.attempts._default_manager.filter(token=row.lease.token, finished_at__isnull=False)
    return attempts.filter(**{kind.words.key: row.lease.id}).exclude(outcome="lost").exists()


@cache
def _together(kind: Kind[Any]) -> Combiner[Settlement, bool]:
    """Settles for all threads that settle at the same moment, in one statement and one commit."""
    shared = SharedConnection()

    def settle_many(rows: Sequence[Settlement]) -> list[bool | Exception]:
        # One of each piece of work: a worker whose lease was lost may settle beside the one that has it.
        chosen = {row.lease.id: row for row in rows}
        settled = {row.id for row in shared.execute(*statement(kind, [*chosen.values()], many=True)).fetchall()}
        fault_points.reach("settlements-committed")
        return [True if row is chosen[row.lease.id] and row.lease.id in settled else Alone() for row in rows]

    return Combiner(settle_many)


@cache
def _with_effects(kind: Kind[Any]) -> Combiner[tuple[Settlement, Any], bool]:
    """Settles with their effects for all threads that settle at the same moment."""
    return Combiner(partial(settle_with_effects, kind))


def settle_with_effects(kind: Kind[Any], given: Sequence[tuple[Settlement, Any]]) -> list[bool | Exception]:
    """Settle in one transaction, with what is `shared` in each answer. Returns what `Kind.apply_together` does."""

    def settle_those(places: Sequence[int]) -> None:
        rows = [given[place][0] for place in places]
        if len(postgres.execute(*statement(kind, rows, many=True)).fetchall()) < len(rows):
            raise Alone

    with transaction.atomic():
        postgres.execute(_IMPATIENT, {})
        results = kind.apply_together([shared for _, shared in given], settle_those)
    fault_points.reach("settlements-committed")
    return results
