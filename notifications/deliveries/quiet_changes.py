"""Reschedule deliveries that wait for quiet hours when their person changes these, their zone, or a holiday.

Its time is set back to when it was due. The worker that claims it then decides by the new quiet hours, and rescue
publishes what was not published. The transaction of the change does this for the oldest of each channel. Where there
are more, it marks the channel with the last one (`held_after`), from where rescue goes on. What is locked is left out,
since it is about to be decided: nobody waits for a lock while holding others.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models.signals import post_save
from django.dispatch import receiver

from common.database.postgres import change, query
from notifications.deliveries.outbox import DELIVER
from notifications.reasons import DeliveryCode
from people.models import User
from work.broker import wakes
from work.broker.wakes import Wake, publish_after_commit

WITHDRAWS: list[Callable[[UUID, datetime], bool]] = []
"""Whether a schedule (its id) sends nothing of a slot at an instant. Other apps add to it."""

_DECIDES = {"quiet_from", "quiet_until", "time_zone", "weekly_hours", "public_holidays"}
# Deliveries of a channel that are looked at in the transaction of the change, and in one of rescue.
FIRST, BATCH = 100, 2_000
_MARKED = """, marked AS (
    UPDATE notifications_channel c SET held_after = last
      FROM reached WHERE c.id = reached.id AND c.held_after IS DISTINCT FROM last
)"""
_RELEASE = f"""
WITH channel AS (
    SELECT c.id, {{after}} AS after FROM notifications_channel c WHERE {{chosen}}
), part AS (
    SELECT open.* FROM channel CROSS JOIN LATERAL (
           SELECT d.id, d.channel_id, d.notification_id FROM notifications_delivery d
            WHERE d.channel_id = channel.id AND d.state = 'pending' AND d.settled_at IS NULL
              AND d.notification_id > channel.after
            ORDER BY d.notification_id LIMIT %(most)s
           ) open
), reached AS (
    SELECT channel.id, CASE WHEN count(part.id) = %(most)s
                            THEN (array_agg(part.notification_id ORDER BY part.notification_id DESC))[1] END AS last
      FROM channel LEFT JOIN part ON part.channel_id = channel.id GROUP BY channel.id
){{marked}}, held AS (
    SELECT d.id, greatest(now(), CASE WHEN jsonb_typeof(d.reason_params -> 'due') = 'number'
                                      THEN to_timestamp((d.reason_params ->> 'due')::float) END) AS due
      FROM part JOIN notifications_delivery d ON d.id = part.id
     WHERE d.state = 'pending' AND d.reason_code = %(code)s
       FOR NO KEY UPDATE OF d SKIP LOCKED
)
UPDATE notifications_delivery d
   SET available_at = due, wake_at = {wakes.wake_at("extract(epoch FROM due - now())::float")}, wakes = 0,
       reason_code = '', reason_params = '{{{{}}}}'
  FROM held WHERE d.id = held.id
RETURNING d.id, d.is_bulk, extract(epoch FROM due - now())::float AS wait
"""  # noqa: S608 - constants only
_PERSON = {"after": f"'{UUID(int=0)}'::uuid", "chosen": "c.user_id = %(user)s AND c.removed_at IS NULL"}
_OF_PERSON = _RELEASE.format(marked=_MARKED, **_PERSON)
_ALL_OF_PERSON = _RELEASE.format(marked="", **_PERSON)
WAITING = "SELECT FROM notifications_channel WHERE held_after IS NOT NULL"
_NEXT = _RELEASE.format(
    marked=_MARKED,
    after="c.held_after",
    chosen="c.held_after IS NOT NULL ORDER BY c.held_after LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED",
)


@receiver(post_save, sender=User, dispatch_uid="quiet-hours")
def _release(instance: User, created: bool, update_fields: frozenset[str] | None, **_: Any) -> None:
    if not (created or (update_fields is not None and _DECIDES.isdisjoint(update_fields))):
        release(instance.pk)


def release(user_id: int) -> None:
    """Have what the person's quiet hours hold decided again: the first of each channel now, all others by `go_on`."""
    _publish(_OF_PERSON, user_id, DeliveryCode.QUIET_HOURS, FIRST)


def release_all(user_id: int, code: DeliveryCode) -> None:
    """Have all that waits for the reason `code` decided again."""
    _publish(_ALL_OF_PERSON, user_id, code, None)


def _publish(statement: str, user_id: int, code: DeliveryCode, most: int | None) -> None:
    rows = query(statement, {**wakes.parameters(), "user": user_id, "code": str(code), "most": most})
    publish_after_commit(Wake(DELIVER, row.id, row.wait, user_id, row.is_bulk) for row in rows)


def go_on() -> int:
    """Release the next ones of one channel; the same run of rescue publishes them. Returns how many."""
    return change(_NEXT, {**wakes.parameters(is_bulk=True), "code": str(DeliveryCode.QUIET_HOURS), "most": BATCH})
