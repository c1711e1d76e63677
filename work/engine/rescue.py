"""Rescue, every few seconds: expired leases, stale work, unclaimed work, and what each kind has besides.

Any number of rescuers may run at once: each statement skips locked rows. None costs more because a million rows wait.
"""

import logging
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.conf import settings

from common.database.postgres import persist
from work.broker import backlog, fair_queue, wakes
from work.engine import hold, recovery
from work.kinds import KINDS, Kind, of_all

log = logging.getLogger(__name__)

BATCH = 2_000
# With so many messages in a queue, its workers are busy; after an outage of hours, more would fill the broker.
ENOUGH = 10_000
# Of these, so many are never of bulk work: there is room for the others' when a million wait.
RESERVED = 2_000


def rescue() -> dict[str, int]:
    """Settle, then publish; returns how many rows were expired, recovered (again, held, dead), followed, published.

    Nothing while the hold is on. Each part is its own statement, so that none holds up another.
    """
    done: Counter[str] = Counter()
    if not persist(hold.is_on):
        for kind in KINDS.values():
            done["expired"] += persist(partial(recovery.expire, kind, BATCH))
            done.update(persist(partial(recovery.recover, kind, BATCH)))
            done["followed"] += persist(kind.rescue)
        done["published"] = _publish_due()
    return {name: done[name] for name in ("expired", "again", "held", "dead", "followed", "published")}


# Each part by the index that serves it in `rescue`.
_NEEDED = f"""
SELECT FROM $work WHERE state = 'pending' AND expires_at <= now()
 UNION ALL SELECT FROM $work WHERE state = '$working' AND lease_until <= now()
 UNION ALL {wakes.DUE} UNION ALL SELECT FROM ($rescues) own
"""  # noqa: S608 - constants only


def needed() -> str:
    """The SQL of rows for which `rescue` has something to do."""
    return of_all(_NEEDED)


def _publish_due() -> int:
    if (broker := backlog.read({fair_queue.QUEUE}.union(*map(_queues, KINDS.values())))) is None:
        return 0  # the rows stay due, and are published as soon as the broker is back
    if broker.forgot:
        woken = sum(persist(partial(wakes.wake_all, kind)) for kind in KINDS.values())
        if woken:  # else it is a new installation, and nothing is amiss
            log.warning("The broker has lost what it held: %d messages are published again", woken)
        backlog.mark()
    kinds, bulk = _lacking(broker.waiting), broker.waiting[fair_queue.QUEUE]
    published = 0
    for kind, own in kinds.items():
        published += _publish(kind, ENOUGH - own, None if bulk < ENOUGH else kind.queue)
    room = ENOUGH - RESERVED - bulk
    for kind in kinds:
        published += (done := _publish(kind, room, fair_queue.QUEUE, is_bulk=True))
        room -= done
    return published


def _queues(kind: Kind[Any]) -> set[str]:
    """The queues of a kind's rows, but for the one of bulk work."""
    return {kind.queue, *(settings.JOB_QUEUES.values() if kind.queue_of != Kind.queue_of else ())}


def _lacking(waiting: Mapping[str, int]) -> dict[Kind[Any], int]:
    """The kinds that have more work pending than messages, each with the messages in its own queues.

    Work beyond those may have its message in the bulk queue. Messages there do not say whose they are: they count for
    the kind that has most such work. A few pieces of work are published again, which costs little.
    """
    own = {kind: sum(waiting[name] for name in _queues(kind)) for kind in KINDS.values()}
    bulk = waiting[fair_queue.QUEUE]
    beyond = {kind: persist(partial(wakes.count_due, kind, own[kind] + bulk + 1)) - own[kind] for kind in own}
    most = max(beyond, key=lambda kind: beyond[kind])
    return {
        kind: own[kind]
        for kind in own
        if beyond[kind] > (bulk if kind is most and beyond[kind] > fair_queue.FEW else 0)
    }


def _publish(kind: Kind[Any], room: int, queue: str | None, is_bulk: bool = False) -> int:
    """Publish what is due, at most `room`, to `queue` or (None) where each belongs. Returns how much.

    To the queue of the kind goes only what belongs there: where the bulk queue is full, a person's many wait for a
    later round, and nobody else behind them.
    """
    published = taken = 0
    while taken < room:
        limit = min(room - taken, BATCH)
        due = taken_rows = persist(partial(wakes.take_due, kind, limit, is_bulk))
        if queue == kind.queue:
            due = [wake for wake in taken_rows if fair_queue.queue_for(wake.person_id, wake.cost) is None]
        wakes.publish(due if queue is None else [wake._replace(queue=wake.queue or queue) for wake in due])
        published, taken = published + len(due), taken + len(taken_rows)
        if len(taken_rows) < limit:
            break
    return published
