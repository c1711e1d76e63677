"""Every change of a delivery's state, each a named verb, and nowhere else.

A change is a guarded UPDATE: it names the state that it leaves and, for a delivery that is being sent, the lease's
token. Zero rows changed means that another worker was first, and the caller writes nothing. The database's clock
decides leases and due times, never the caller's. Triggers refuse other edges than `docs/life-of-a-delivery.md` has.

Each verb's docstring begins with its edges, and a test compares them with the triggers and with the diagram.
"""

from __future__ import annotations

from notifications.deliveries.claims import Claim, claim, defer, refuse, release, seconds_until_available, unreadable
from notifications.deliveries.manual import cancel, cancel_unsent, discard, mark_read, replay
from notifications.deliveries.recovery import LostRule, Recovered, expire, recover_expired_leases
from notifications.deliveries.settlement import settle

__all__ = [
    "Claim",
    "LostRule",
    "Recovered",
    "cancel",
    "cancel_unsent",
    "claim",
    "defer",
    "discard",
    "expire",
    "mark_read",
    "recover_expired_leases",
    "refuse",
    "release",
    "replay",
    "seconds_until_available",
    "settle",
    "unreadable",
]
