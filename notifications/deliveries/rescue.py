"""Rescue, every few seconds: expired leases, stale deliveries, channels next in order, unclaimed deliveries.

Any number of rescuers may run at once: each statement skips locked rows. None costs more because a million deliveries
wait.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial

from common.postgres import persist
from notifications import deliveries, providers
from notifications.deliveries import LostRule, Recovered, broker, fair_queue, fallback, outbox, wakes

log = logging.getLogger(__name__)

BATCH = 2_000
# With so many messages waiting, workers are busy; after an outage of hours, more would fill the broker.
ENOUGH = 10_000


@dataclass(frozen=True, slots=True)
class Rescued:
    expired: int
    recovered: Recovered
    advanced: int
    published: int


def rescue() -> Rescued:
    """Settle, then publish. Each part is its own statement, so that none holds up another."""
    expired = persist(partial(deliveries.expire, BATCH))
    rules = [
        LostRule(provider.kind, provider.recognises_repeats, provider.retry_policy.tries)
        for provider in providers.all()
    ]
    recovered = persist(partial(deliveries.recover_expired_leases, rules, BATCH))
    advanced = persist(fallback.advance)
    return Rescued(expired, recovered, advanced, _publish_due())


def _publish_due() -> int:
    found = broker.look(outbox.DELIVER, fair_queue.QUEUE)
    if found is None:
        return 0  # the rows stay due, and are published as soon as the broker is back
    if found.forgot:
        woken = persist(wakes.wake_all)
        if woken:  # else it is a new installation, and nothing is amiss
            log.warning("The broker has lost what it held: %d deliveries are published again", woken)
        broker.mark()
    published = 0
    for free in range(ENOUGH - found.waiting, 0, -BATCH):
        due = persist(partial(wakes.take_due, min(free, BATCH)))
        outbox.publish(outbox.Wake(*one) for one in due)
        published += len(due)
        if len(due) < BATCH:
            break
    return published
