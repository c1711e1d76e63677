"""When work is woken: which waits a message carries, and when rescue publishes.

A delivery that is due soon is published at once, with a countdown; if nobody claims it, rescue publishes it again. A
longer wait stays in the table, and rescue publishes it just before it is over.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from uuid import UUID

from common import postgres

# A longer wait stays in the table: a worker keeps each message that counts down in memory, at 9 KiB, until it is due.
LONGEST_COUNTDOWN = 10.0
# Seconds that a published delivery may stay unclaimed before rescue publishes it again.
CLAIM_WITHIN = 10.0
# Seconds before a wait in the table is over at which rescue, which runs every 5 s, publishes with a countdown.
EARLY = 6.0


def is_published(wait: float) -> bool:
    """Whether a delivery that is due in `wait` seconds is published now."""
    return wait <= LONGEST_COUNTDOWN


def wake_at(wait: str) -> str:
    """The SQL of `wake_at` for a delivery due in `wait` seconds (SQL too). The statement gets `parameters()`."""
    return (
        f"now() + interval '1 second' * CASE WHEN {wait} > %(longest_countdown)s::float"
        f" THEN {wait} - %(early)s::float ELSE {wait} + %(claim_within)s::float END"
    )


def wake_at_unpublished(wait: str) -> str:
    """The same for one that nobody publishes now, however near it is."""
    return f"now() + interval '1 second' * greatest({wait} - %(early)s::float, 0)"


def parameters() -> dict[str, Any]:
    return {"longest_countdown": LONGEST_COUNTDOWN, "early": EARLY, "claim_within": CLAIM_WITHIN}


class Unclaimed(NamedTuple):
    """A pending delivery that nobody has claimed; `wait` is in seconds, 0 where it is available."""

    delivery_id: UUID
    wait: float
    person_id: int


_TAKE_DUE = """
UPDATE notifications_delivery d
   SET wakes = least(wakes + 1, 30),
       wake_at = greatest(available_at, now()) + least(interval '5 minutes', interval '10 seconds' * 2 ^ wakes)
  FROM notifications_notification n
 WHERE n.id = d.notification_id AND d.id = ANY(ARRAY(
    SELECT id FROM notifications_delivery WHERE state = 'pending' AND wake_at <= now()
     ORDER BY wake_at LIMIT %s FOR UPDATE SKIP LOCKED
 ))
RETURNING d.id AS delivery_id, extract(epoch FROM greatest(available_at, now()) - now())::float AS wait,
          n.user_id AS person_id
"""


def take_due(limit: int) -> list[Unclaimed]:
    """Take up to `limit` pending deliveries whose `wake_at` has come, and set their next one, with growing gaps."""
    return postgres.query(_TAKE_DUE, [limit], Unclaimed)


# A gap is 5 minutes at the most, so the range of `wake_at` leaves out longer waits in the table.
_WAKE_ALL = """
UPDATE notifications_delivery SET wake_at = now(), wakes = 0
 WHERE id = ANY(ARRAY(
    SELECT id FROM notifications_delivery
     WHERE state = 'pending' AND wake_at > now() AND wake_at <= now() + interval '6 minutes' AND available_at <= now()
       FOR UPDATE SKIP LOCKED
 ))
"""


def wake_all() -> int:
    """Have every due delivery published again, because the broker lost its messages. Returns how many."""
    return postgres.change(_WAKE_ALL, [])
