"""The health of a channel, written by the statement that settles a try.

A channel without failures costs its deliveries nothing, because the claim has read that already.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from notifications.deliveries.claims import Claim
from notifications.deliveries.decision import Decision
from notifications.models import Delivery
from notifications.reasons import Code, Reason

# A channel with nothing but failures for so long is disabled when the next delivery to it dies.
PATIENCE = timedelta(days=5)

ARRIVED = """, health AS (
    UPDATE notifications_channel SET failing_since = NULL
     WHERE id = (SELECT channel_id FROM settled) AND failing_since IS NOT NULL AND disabled_at IS NULL
)"""

# `gone`: the service said that the address no longer exists. `died`: the delivery will not be tried again. `link_id`:
# failures at the address that the channel had before do not count for the one it has.
_ENDED = "(%(gone)s OR (%(died)s AND failing_since <= now() - %(patience)s))"
FAILED = """, health AS (
    UPDATE notifications_channel
       SET failing_since = coalesce(failing_since, now()),
           disabled_at = CASE WHEN ended THEN now() END,
           disabled_code = CASE WHEN ended THEN %(disabled_code)s ELSE '' END,
           disabled_params = CASE WHEN ended THEN %(disabled_params)s::jsonb ELSE '{}' END
     WHERE id = (SELECT channel_id FROM settled) AND disabled_at IS NULL AND (failing_since IS NULL OR ended)
       AND coalesce(link_id, id) = %(link_id)s
)""".replace("ended", _ENDED)


def parameters(claim: Claim, decision: Decision) -> dict[str, Any]:
    """The values of `FAILED`, with the reason that the channel's owner reads if it is disabled now."""
    why = Reason(Code.ADDRESS_GONE, why=decision.reason)
    if not decision.gone:
        why = Reason(Code.SILENT, days=PATIENCE.days, why=decision.reason)
    return {
        "gone": decision.gone,
        "died": decision.state == Delivery.State.DEAD,
        "patience": PATIENCE,
        "link_id": claim.link_id,
        "disabled_code": why.code,
        "disabled_params": why.json,
    }
