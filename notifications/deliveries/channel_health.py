"""The health of a channel, written by the statement that settles a try.

A channel without failures costs its deliveries nothing, because the claim has read that already.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from common.database.rows import Json, Rows
from notifications.messages.message import Rejected
from notifications.models import Channel
from notifications.reasons import DeliveryCode
from work.answers import Answer, Done, NotStarted, OwnFault
from work.reasons import Reason

# A channel with nothing but failures for so long is disabled when the next delivery to it dies.
PATIENCE = timedelta(days=5)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a delivery's try (`id`) for its channel.

    `gone`: the service said that the address no longer exists. `died`: the delivery will not be tried again. `link_id`:
    failures at the address that the channel had before do not count for the one it has. The reason is what the owner
    reads if the channel is disabled now.
    """

    id: UUID
    arrived: bool
    gone: bool
    died: bool
    link_id: UUID
    disabled_code: str
    disabled_params: Json


ROWS = Rows("outcome", Outcome)
# Of tries for one channel that end together, only one counts: first one whose address is gone, then one whose delivery
# died, then one that arrived.
_ENDED = f"(tried.gone OR (tried.died AND c.failing_since <= now() - interval '{PATIENCE.days} days'))"
WRITE = f""", tried AS (
    SELECT DISTINCT ON (channel_id, link_id) channel_id, outcome.* FROM settled JOIN {ROWS.sql} USING (id)
     ORDER BY channel_id, link_id, gone DESC, died DESC, arrived DESC
), health AS (
    UPDATE notifications_channel c
       SET failing_since = CASE WHEN tried.arrived THEN NULL ELSE coalesce(c.failing_since, now()) END,
           disabled_at = CASE WHEN ended THEN now() END,
           disabled_code = CASE WHEN ended THEN tried.disabled_code ELSE '' END,
           disabled_params = CASE WHEN ended THEN tried.disabled_params ELSE '{{}}' END
      FROM tried
     WHERE c.id = tried.channel_id AND c.disabled_at IS NULL
       AND CASE WHEN tried.arrived THEN c.failing_since IS NOT NULL
                ELSE coalesce(c.link_id, c.id) = tried.link_id AND (c.failing_since IS NULL OR ended) END
)""".replace("ended", _ENDED)  # noqa: S608 - constants only


def outcome(delivery_id: UUID, link_id: UUID, failing: bool, answer: Answer, state: str) -> Outcome | None:
    """None: nothing changes."""
    if isinstance(answer, Done):
        return Outcome(delivery_id, True, False, False, link_id, "", "{}") if failing else None
    if isinstance(answer, NotStarted | OwnFault):
        return None
    gone = isinstance(answer, Rejected) and answer.gone
    why = Reason(DeliveryCode.SILENT, days=PATIENCE.days, why=answer.reason)
    if gone:
        why = Reason(DeliveryCode.ADDRESS_GONE, why=answer.reason)
    return Outcome(delivery_id, False, gone, state == "dead", link_id, why.code, why.json)


def update_address(channel_id: UUID, address: Mapping[str, Any], moved_to: Mapping[str, Any]) -> bool:
    """Apply a permanent move that the service announced; False if `address` is no longer the channel's."""
    return Channel.objects.filter(id=channel_id, address=dict(address)).update(address={**address, **moved_to}) == 1
