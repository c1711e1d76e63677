"""What the crash left behind: expired leases, stale deliveries, channels next in order, and what nobody rang for.

Any number of rescuers may run at once: each statement skips the rows that another one holds. None of them costs more
because a million deliveries wait.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial

from common.postgres import persist
from notifications import deliveries, providers
from notifications.deliveries import LostRule, Recovered, broker, fair_queue, fallback, outbox

log = logging.getLogger(__name__)

BATCH = 2_000
# Where as many messages wait, workers have enough to do: more bells would only be heard in vain, and after an outage
# of hours they would fill the broker.
ENOUGH = 10_000


@dataclass(frozen=True, slots=True)
class Rescued:
    expired: int
    recovered: Recovered
    advanced: int
    rung: int


def rescue() -> Rescued:
    """Settle what has ended, ring for what waits; each part by its own statement, so that none holds up another."""
    expired = persist(partial(deliveries.expire, BATCH))
    rules = [
        LostRule(provider.kind, provider.recognises_repeats, provider.policy.tries) for provider in providers.all()
    ]
    recovered = persist(partial(deliveries.recover_expired_leases, rules, BATCH))
    advanced = persist(fallback.advance)
    return Rescued(expired, recovered, advanced, _ring())


def _ring() -> int:
    found = broker.look(outbox.DELIVER, fair_queue.QUEUE)
    if found is None:
        return 0  # the rows stay due for a ring, and are rung as soon as it is back
    if found.forgot:
        forgotten = persist(deliveries.forget_rings)
        if forgotten:  # else it is a new house, and nothing is amiss
            log.warning("The broker has lost what it held: %d deliveries are rung again", forgotten)
        broker.mark()
    rung = 0
    for room in range(ENOUGH - found.waiting, 0, -BATCH):
        unheard = persist(partial(deliveries.due_for_a_ring, min(room, BATCH)))
        outbox.ring(outbox.Ring(*bell) for bell in unheard)
        rung += len(unheard)
        if len(unheard) < BATCH:
            break
    return rung
