"""Channels in a chosen order: try the next one when the one before failed, or when nobody acknowledged in time.

A trigger marks the notification (`advance_at`) in the statement that ends a delivery as dead or unknown, and recording
marks it with the time of its escalation. So no crash loses the mark, and the next call of `advance` finds it.

A delivery that is unknown may have arrived. It counts as failed, because its person named another channel for that
case, and nothing is sent twice to the first one. So does one that waited for a channel that was removed.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import transaction

from common.database import fault_points
from common.database.postgres import change, column, query
from common.database.rows import Json, Rows
from common.uuid7 import child
from notifications.deliveries import outbox
from notifications.models import Delivery
from notifications.models.channel import USABLE_SQL
from notifications.reasons import DeliveryCode
from work.broker.wakes import publish_after_commit
from work.engine import manual
from work.reasons import NO_REASON, Reason

BATCH = 500

_FAILED = (Delivery.State.DEAD, Delivery.State.UNKNOWN)
_GIVEN_UP = (Delivery.State.CANCELLED, Delivery.State.EXPIRED)


class FallbackState(NamedTuple):
    """The state of a notification whose `advance_at` has come. Instants are aware, `escalate_after` is in minutes.

    `label` is the newest delivery's channel, `waits_until` when that delivery becomes available where it has not yet;
    `next_id` and `next_provider` are the first channel in order that can be used and has not been tried.
    """

    notification_id: UUID
    escalate_after: int | None
    now: datetime
    person_id: int
    label: str
    state: str
    reason_code: str
    reason_params: str
    waits_until: datetime | None
    expires_at: datetime | None
    next_id: UUID | None
    next_provider: str | None

    def escalation(self, since: datetime) -> datetime | None:
        """When the next channel is tried unless somebody has acknowledged; None where that has no time."""
        return None if self.escalate_after is None else since + timedelta(minutes=self.escalate_after)


@dataclass(frozen=True, slots=True)
class Step:
    """Whether the next channel is tried and why, and when to decide again (None: not before something fails)."""

    go: bool
    because: Reason = NO_REASON
    next_at: datetime | None = None


WAITING = "SELECT FROM notifications_notification WHERE advance_at <= now()"
_TAKE = f"""
SELECT n.id AS notification_id, n.escalate_after, now() AS now, n.user_id AS person_id, newest.label,
       newest.state, newest.reason_code, newest.reason_params,
       CASE WHEN newest.state = 'pending' AND newest.tries = 0 AND newest.available_at > now()
            THEN newest.available_at END AS waits_until,
       newest.expires_at, following.id AS next_id, following.provider AS next_provider
  FROM notifications_notification n
  JOIN LATERAL (
       SELECT c.label, d.state, d.reason_code, d.reason_params, d.tries, d.available_at, d.expires_at
         FROM notifications_delivery d JOIN notifications_channel c ON c.id = d.channel_id
        WHERE d.notification_id = n.id ORDER BY d.created_at DESC, d.id DESC LIMIT 1
       ) newest ON true
  LEFT JOIN LATERAL (
       SELECT c.id, c.provider
         FROM unnest(n.channel_order) WITH ORDINALITY AS chosen(id, place)
         JOIN notifications_channel c ON c.id = chosen.id
        WHERE {USABLE_SQL}
          AND NOT EXISTS (SELECT FROM notifications_delivery d WHERE d.notification_id = n.id AND d.channel_id = c.id)
        ORDER BY chosen.place LIMIT 1
       ) following ON true
 WHERE n.advance_at <= now()
 ORDER BY n.advance_at LIMIT %(limit)s FOR NO KEY UPDATE OF n SKIP LOCKED
"""  # noqa: S608 - constants only

# Of (standing, step).
_STEPS = Rows(
    "step",
    notification_id=(UUID, lambda one: one[0].notification_id),
    next_at=(datetime, lambda one: one[1].next_at),
    id=(UUID, lambda one: child(one[0].notification_id, one[0].next_id) if one[1].go else None),
    channel_id=(UUID, lambda one: one[0].next_id),
    provider=(str, lambda one: one[0].next_provider),
    expires_at=(datetime, lambda one: one[0].expires_at),
    because_code=(str, lambda one: one[1].because.code),
    because_params=(Json, lambda one: one[1].because.json),
)
_WRITE = f"""
WITH step AS (
    SELECT * FROM {_STEPS.sql}
), moved AS (
    UPDATE notifications_notification n
       SET advance_at = step.next_at, outcome = CASE WHEN step.id IS NULL THEN n.outcome ELSE 'open' END
      FROM step WHERE n.id = step.notification_id
), new AS (
    SELECT *, now() AS available_at FROM step WHERE id IS NOT NULL
){outbox.insert_deliveries("because_code", "because_params")}"""  # noqa: S608 - constants only


def decide(standing: FallbackState) -> Step:
    later = standing.escalation(standing.now)
    is_removed = standing.reason_code == DeliveryCode.REMOVED
    if standing.next_id is None or (standing.state in _GIVEN_UP and not is_removed):
        return Step(False)
    if standing.state in _FAILED or is_removed:
        is_unknown = standing.state == Delivery.State.UNKNOWN
        code = DeliveryCode.BEFORE_UNKNOWN if is_unknown else DeliveryCode.BEFORE_FAILED
        why = Reason.read(standing.reason_code, standing.reason_params)
        return Step(True, Reason(code, label=standing.label, why=why), later)
    if later is None:
        return Step(False)  # it was sent again meanwhile; the trigger marks it again if that fails too
    if standing.waits_until is not None:  # nobody can acknowledge what has not gone out
        return Step(False, next_at=standing.escalation(standing.waits_until))
    because = Reason(DeliveryCode.NOT_ACKNOWLEDGED, minutes=standing.escalate_after, label=standing.label)
    return Step(True, because, later)


_MARK = """
UPDATE notifications_notification n SET advance_at = now()
  FROM notifications_delivery d
 WHERE d.id = ANY(%(ids)s::uuid[]) AND d.reason_code = %(removed)s
   AND n.id = d.notification_id AND n.channel_order <> '{}' AND n.acknowledged_at IS NULL AND n.withdrawn = ''
   AND NOT EXISTS (SELECT FROM notifications_delivery later
                    WHERE later.notification_id = n.id AND (later.created_at, later.id) > (d.created_at, d.id))
"""


@transaction.atomic
def cancel_removed(ids: Collection[UUID]) -> None:
    """pending -> cancelled: their channel was removed. Where there is another channel in order, it is tried."""
    manual.cancel(Delivery, ids, Reason(DeliveryCode.REMOVED))
    change(_MARK, {"ids": column(ids), "removed": str(DeliveryCode.REMOVED)})


_LEFT = """
SELECT d.id FROM notifications_channel c
  JOIN notifications_delivery d ON d.channel_id = c.id AND d.provider = 'queue' AND d.state = 'pending'
 WHERE c.provider = 'queue' AND c.removed_at IS NOT NULL LIMIT 1000
"""


def cancel_left() -> None:
    """Cancel what was being recorded for a queue when it was removed: nobody pulls it, and no worker looks at it."""
    cancel_removed([row.id for row in query(_LEFT, None)])


def advance(limit: int = BATCH) -> int:
    """(none) -> pending: record a delivery to the next channel of up to `limit` notifications whose time has come.

    Any number of processes may call it at once. Returns how many deliveries were recorded; they are published after the
    commit, and wait for the end of quiet hours like all others.
    """
    with transaction.atomic():
        if not (taken := query(_TAKE, {"limit": limit, **outbox.parameters()}, FallbackState)):
            return 0
        steps = [(standing, decide(standing)) for standing in taken]
        rows = query(_WRITE, {**_STEPS.values(steps), **outbox.parameters()})
        fault_points.reach("advancing")
        publish_after_commit(outbox.due_of(rows, {one.notification_id: one.person_id for one in taken}))
    return len(rows)
