"""Every change of a delivery's state, each a named verb, and nowhere else.

A change is a guarded UPDATE: it names the state that it leaves and, for a delivery that is being sent, the lease's
token. Zero rows changed means that somebody else was first, and the caller writes nothing. The database's clock decides
leases and dues, never the caller's. Triggers refuse whatever is not an edge of `docs/life-of-a-delivery.md`.

Each verb's docstring begins with its edges, and a test compares them with the triggers and with the diagram.
"""

from __future__ import annotations

from notifications.deliveries.claims import Claim, claim, defer, refuse, release, seconds_until_available, unreadable
from notifications.deliveries.manual import cancel, cancel_unsent, discard, mark_read, replay
from notifications.deliveries.recovery import (
    LostRule,
    Recovered,
    expire,
    recover_expired_leases,
    take_due,
    wake_all,
)
from notifications.deliveries.settlement import deliver, exhaust, hold, postpone, reject

__all__ = [
    "Claim",
    "LostRule",
    "Recovered",
    "cancel",
    "cancel_unsent",
    "claim",
    "defer",
    "deliver",
    "discard",
    "exhaust",
    "expire",
    "hold",
    "mark_read",
    "postpone",
    "recover_expired_leases",
    "refuse",
    "reject",
    "release",
    "replay",
    "seconds_until_available",
    "take_due",
    "unreadable",
    "wake_all",
]
