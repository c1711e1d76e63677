"""What the crash left behind: expired leases, stale deliveries, and deliveries that nobody rang for.

Any number of rescuers may run at once: each statement skips the rows that another one holds.
"""

from __future__ import annotations

from dataclasses import dataclass

from notifications import deliveries, outbox, providers
from notifications.deliveries import LostRule, Recovered

BATCH = 2_000


@dataclass(frozen=True, slots=True)
class Rescued:
    expired: int
    recovered: Recovered
    rung: int


def rescue() -> Rescued:
    """Settle what has ended, ring for what waits; each part by its own statement, so that none holds up another."""
    expired = deliveries.expire()
    rules = [
        LostRule(provider.kind, provider.recognises_repeats, provider.policy.tries) for provider in providers.all()
    ]
    recovered = deliveries.recover_expired_leases(rules, BATCH)
    unheard = deliveries.due_for_a_ring(BATCH)
    outbox.ring(outbox.Ring(delivery_id) for delivery_id in unheard)
    return Rescued(expired, recovered, len(unheard))
