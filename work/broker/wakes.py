"""When work is woken, and waking it: one Celery message a piece of work, which only says "X may be due".

Work that is due soon is published at once, with a countdown; if nobody claims it, rescue publishes it again. A longer
wait stays in the table, and rescue publishes it just before it is over. So losing a message costs time, never work.
"""

import logging
from collections.abc import Iterable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import UUID

from celery import current_app
from django.db import transaction

from common.database import fault_points, postgres
from common.database.group_commit import Alone, Combiner
from work.broker import fair_queue, publisher
from work.broker.shared_connection import has_threads
from work.kinds import Kind

log = logging.getLogger(__name__)

# A longer wait stays in the table: a worker keeps each message that counts down in memory, at 9 KiB, until it is due.
LONGEST_COUNTDOWN = 10.0
# Seconds that published work may stay unclaimed before rescue publishes it again.
CLAIM_WITHIN = 10.0
# Seconds before a wait in the table is over at which rescue, which runs every 5 s, publishes with a countdown.
EARLY = 6.0


class Wake(NamedTuple):
    """Work to publish as a message of `task`, with a countdown of `wait` seconds.

    `person_id`: whose it is. `is_bulk`: it goes to the queue that others do not wait for. `queue`: its own, if any.
    `cost`: see `Kind`.
    """

    task: str
    id: UUID
    wait: float = 0.0
    person_id: int | None = None
    is_bulk: bool = False
    queue: str | None = None
    cost: int = 1


def is_published(wait: float) -> bool:
    """Whether work that is due in `wait` seconds is published now."""
    return wait <= LONGEST_COUNTDOWN


def wake_in(wait: float) -> float:
    """The seconds until `wake_at`, for work that is due in `wait` seconds."""
    return wait + CLAIM_WITHIN if is_published(wait) else wait - EARLY


def wake_at(wait: str) -> str:
    """The same as SQL, for the SQL of a wait. The statement gets `parameters()`."""
    return (
        f"now() + interval '1 second' * CASE WHEN {wait} > %(longest_countdown)s::float"
        f" THEN {wait} - %(early)s::float ELSE {wait} + %(claim_within)s::float END"
    )


def new_work(wait: str) -> dict[str, str]:
    """The columns of new work that is due in `wait` seconds, as SQL. The statement gets `parameters()`."""
    return {
        **{"state": "'pending'", "wake_at": wake_at(wait), "wakes": "0", "tries": "0", "replays": "0"},
        "is_bulk": "%(is_bulk)s",
    }


def parameters(is_bulk: bool = False) -> dict[str, Any]:
    """Bulk work is not published by whoever records it: rescue does so, a portion at a time."""
    claim_within = 0.0 if is_bulk else CLAIM_WITHIN
    return {"longest_countdown": LONGEST_COUNTDOWN, "early": EARLY, "claim_within": claim_within, "is_bulk": is_bulk}


_TAKE_DUE = """
UPDATE $work d
   SET wakes = least(wakes + 1, 30),
       wake_at = greatest(available_at, now()) + least(interval '5 minutes', interval '10 seconds' * 2 ^ wakes)
 WHERE d.id = ANY(ARRAY(
    SELECT id FROM $work WHERE state = 'pending' AND is_bulk = %s AND wake_at <= now()
     ORDER BY wake_at LIMIT %s FOR NO KEY UPDATE SKIP LOCKED
 ))
RETURNING d.id, extract(epoch FROM greatest(available_at, now()) - now())::float AS wait, $person AS person_id, is_bulk,
          $queue_of AS queue, $cost AS cost
"""


def take_due(kind: Kind[Any], limit: int, is_bulk: bool = False) -> list[Wake]:
    """Take up to `limit` pending rows whose `wake_at` has come, and set their next one, with growing gaps.

    What is due first comes first, then by id: in the order of being recorded.
    """
    rows = postgres.query(kind.sql(_TAKE_DUE), [is_bulk, limit])
    return [Wake(kind.task, *row) for row in sorted(rows, key=attrgetter("wait", "id"))]


DUE = """SELECT FROM $work
     WHERE state = 'pending' AND is_bulk = ANY('{f,t}') AND wake_at <= now() + interval '6 minutes'
       AND available_at <= now() + interval '10 seconds'"""
"""The pending work that should have a message."""

_COUNT_DUE = f"SELECT count(*) AS amount FROM ({DUE} LIMIT %s) due"  # noqa: S608 - constants only


def count_due(kind: Kind[Any], most: int) -> int:
    """Count the pending work that should have a message, up to `most`."""
    return int(postgres.query(kind.sql(_COUNT_DUE), [most])[0].amount)


# A gap is 5 minutes at the most, so the range of `wake_at` leaves out longer waits in the table.
_WAKE_ALL = """
UPDATE $work SET wake_at = now(), wakes = 0
 WHERE id = ANY(ARRAY(
    SELECT id FROM $work
     WHERE state = 'pending' AND is_bulk = ANY('{f,t}') AND wake_at > now()
       AND wake_at <= now() + interval '6 minutes' AND available_at <= now()
       FOR NO KEY UPDATE SKIP LOCKED
 ))
"""


def wake_all(kind: Kind[Any]) -> int:
    """Have all due work published again, because the broker lost its messages. Returns how much."""
    return postgres.change(kind.sql(_WAKE_ALL), [])


def publish(due: Iterable[Wake]) -> bool:
    """Publish one message each, in few pipelines. False when the broker is away: rescue publishes them."""
    near = [wake for wake in due if is_published(wake.wait)]
    if not near:
        return True
    fault_points.reach("waking")
    if not has_threads():
        return _publish(near)
    try:
        return _together(near)
    except Alone:
        return _publish(near)  # a message twice does nothing


def _publish(near: Sequence[Wake]) -> bool:
    queues: dict[tuple[str, str | None, int], list[tuple[UUID, float]]] = {}
    for wake in near:
        queue = wake.queue or (fair_queue.QUEUE if wake.is_bulk else fair_queue.queue_for(wake.person_id, wake.cost))
        queues.setdefault((wake.task, queue, wake.cost), []).append((wake.id, wake.wait))
    try:
        for (task, queue, cost), calls in queues.items():
            publisher.publish(current_app, task, calls, queue, cost)
    except publisher.Unreachable as error:
        log.warning("The broker cannot be reached; %d messages were not published: %s", len(near), error)
        return False
    return True


# For threads together: they share one pipeline.
_together: Combiner[Sequence[Wake], bool] = Combiner(lambda batches: [_publish(list(chain(*batches)))] * len(batches))


def publish_after_commit(due: Iterable[Wake]) -> None:
    """Publish once the current transaction is committed; an error in it cannot harm what was committed."""
    committed = list(due)

    def publish_them() -> None:  # not a partial: Django names a robust hook that failed by its __qualname__
        publish(committed)

    transaction.on_commit(publish_them, robust=True)
