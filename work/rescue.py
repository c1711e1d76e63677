"""Rescue, every few seconds: expired leases, stale work, unclaimed work, and what each kind has besides.

Any number of rescuers may run at once: each statement skips locked rows. None costs more because a million rows wait.
"""

from __future__ import annotations

import logging
from collections import Counter
from functools import partial

from common.postgres import persist
from work import broker, fair_queue, recovery, wakes
from work.kinds import KINDS

log = logging.getLogger(__name__)

BATCH = 2_000
# With so many messages waiting, workers are busy; after an outage of hours, more would fill the broker.
ENOUGH = 10_000
# Of these, so many are never of bulk work: there is room for the others' when a million wait.
RESERVED = 2_000


def rescue() -> dict[str, int]:
    """Settle, then publish; returns how many rows were expired, recovered (again, held, dead), followed, published.

    Each part is its own statement, so that none holds up another.
    """
    done: Counter[str] = Counter()
    for kind in KINDS.values():
        done["expired"] += persist(partial(recovery.expire, kind, BATCH))
        done.update(persist(partial(recovery.recover, kind, BATCH)))
        done["followed"] += persist(kind.rescue)
    done["published"] = _publish_due()
    return {name: done[name] for name in ("expired", "again", "held", "dead", "followed", "published")}


def _publish_due() -> int:
    found = broker.look([kind.task for kind in KINDS.values()], fair_queue.QUEUE)
    if found is None:
        return 0  # the rows stay due, and are published as soon as the broker is back
    if found.forgot:
        woken = sum(persist(partial(wakes.wake_all, kind)) for kind in KINDS.values())
        if woken:  # else it is a new installation, and nothing is amiss
            log.warning("The broker has lost what it held: %d messages are published again", woken)
        broker.mark()
    free = start = ENOUGH - found.waiting
    for is_bulk, reserved in ((False, 0), (True, RESERVED)):
        for kind in KINDS.values():
            while free > reserved:
                due = persist(partial(wakes.take_due, kind, min(free - reserved, BATCH), is_bulk))
                wakes.publish(due)
                free -= len(due)
                if len(due) < BATCH:
                    break
    return start - max(free, 0) if start > 0 else 0
