"""What a try says about its channel, written by the statement that settles the try: neither is without the other.

A channel that is not failing costs its deliveries nothing: the claim has read that already.
"""

from __future__ import annotations

from datetime import timedelta

# A channel on which nothing but failures came for so long is disabled when the next delivery to it dies.
PATIENCE = timedelta(days=5)

ARRIVED = """, judged AS (
    UPDATE notifications_channel SET failing_since = NULL
     WHERE id = (SELECT channel_id FROM settled) AND failing_since IS NOT NULL AND disabled_at IS NULL
)"""

# `gone`: the service said that the address is no more. `died`: the delivery will not be tried again. `link_id`: what
# failed at the address that the channel had before says nothing about the one it has.
_ENDED = "(%(gone)s OR (%(died)s AND failing_since <= now() - %(patience)s))"
FAILED = """, judged AS (
    UPDATE notifications_channel
       SET failing_since = coalesce(failing_since, now()),
           disabled_at = CASE WHEN ended THEN now() END,
           disabled_reason = CASE WHEN ended THEN %(disabled)s ELSE '' END
     WHERE id = (SELECT channel_id FROM settled) AND disabled_at IS NULL AND (failing_since IS NULL OR ended)
       AND coalesce(link_id, id) = %(link_id)s
)""".replace("ended", _ENDED)


def disabled_because(gone: bool, said: str) -> str:
    """What the owner of a channel reads that was disabled after its service had `said` that."""
    why = "Its service says that it is gone." if gone else f"Nothing has arrived for {PATIENCE.days} days."
    return f"{why} {said}"[:300]
