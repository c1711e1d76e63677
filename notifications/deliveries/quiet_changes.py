"""Reschedule deliveries that wait for quiet hours when their person changes these, their zone, or a holiday.

Its time is set back to when it was due, in the transaction of the change. The worker that claims it then decides by the
new quiet hours, and rescue publishes what was not published.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models.signals import post_save
from django.dispatch import receiver

from common.database.postgres import query
from notifications.deliveries.outbox import DELIVER
from notifications.reasons import DeliveryCode
from people.models import User
from work.broker import wakes
from work.broker.wakes import Wake, publish_after_commit

WITHDRAWS: list[Callable[[UUID, datetime], bool]] = []
"""Whether a schedule (its id) sends nothing of a slot at an instant. Other apps add to it."""

_DECIDES = {"quiet_from", "quiet_until", "time_zone", "weekly_hours", "public_holidays"}
_RELEASE = f"""
WITH locked AS (
    SELECT d.id, greatest(now(), CASE WHEN jsonb_typeof(d.reason_params -> 'due') = 'number'
                                      THEN to_timestamp((d.reason_params ->> 'due')::float) END) AS due
      FROM notifications_channel c JOIN notifications_delivery d ON d.channel_id = c.id
     WHERE c.user_id = %(user)s AND d.state = 'pending' AND d.settled_at IS NULL AND d.reason_code = %(code)s
     ORDER BY d.id FOR NO KEY UPDATE OF d
)
UPDATE notifications_delivery d
   SET available_at = due, wake_at = {wakes.wake_at("extract(epoch FROM due - now())::float")}, wakes = 0,
       reason_code = '', reason_params = '{{}}'
  FROM locked WHERE d.id = locked.id AND d.wake_at IS NOT NULL
RETURNING d.id, d.is_bulk, extract(epoch FROM due - now())::float AS wait
"""  # noqa: S608 - constants only


@receiver(post_save, sender=User, dispatch_uid="quiet-hours")
def _release(instance: User, created: bool, update_fields: frozenset[str] | None, **_: Any) -> None:
    if not (created or (update_fields is not None and _DECIDES.isdisjoint(update_fields))):
        release(instance.pk)


def release(user_id: int, code: DeliveryCode = DeliveryCode.QUIET_HOURS) -> None:
    """Have what waits for the reason `code`, such as the person's quiet hours, decided again."""
    rows = query(_RELEASE, {**wakes.parameters(), "user": user_id, "code": str(code)})
    publish_after_commit(Wake(DELIVER, row.id, row.wait, user_id, row.is_bulk) for row in rows)
