"""The Celery tasks. Their arguments are ids only, because they are logged."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from notifications.changes import feed
from notifications.channels import owner_notices
from notifications.deliveries import acknowledge, fallback
from notifications.deliveries.kind import DELIVERY
from work.broker import periodic
from work.retention import Retention
from work.tasks import task_of

deliver = task_of(DELIVERY)


@shared_task(name="notifications.tell_owners", ignore_result=True, store_errors_even_if_ignored=True)
def tell_owners() -> int:
    return owner_notices.tell_owners(timezone.now())


@shared_task(name=acknowledge.CLOSE, ignore_result=True)
def close_shown(notification_id: str) -> None:
    acknowledge.close_shown(UUID(notification_id))


send_changes = shared_task(name="notifications.send_changes", ignore_result=True)(feed.send_changes)
periodic.NEEDED["notifications.send_changes"] = lambda: feed.waiting("status")


# Open, held and dead ones stay until a person has decided, snoozed ones until they have come again. Their number stays.
_WHERE = """
d.outcome <> 'open' AND d.advance_at IS NULL AND coalesce(d.snoozed_until, d.created_at) < %(since)s
AND NOT EXISTS (SELECT FROM notifications_delivery delivery
                 WHERE delivery.notification_id = d.id
                   AND (delivery.state NOT IN ('delivered', 'cancelled', 'expired')
                        OR delivery.settled_at >= %(since)s))
"""
_ALSO = """
, deliveries AS (
    DELETE FROM notifications_delivery delivery USING old WHERE delivery.notification_id = old.id
    RETURNING delivery.id, delivery.notification_id, delivery.provider, delivery.state, delivery.settled_at
), attempts AS (
    DELETE FROM notifications_attempt attempt USING deliveries WHERE attempt.delivery_id = deliveries.id
), totals AS (
    INSERT INTO notifications_dailytotal AS total (user_id, day, provider, state, count)
    SELECT n.user_id, (settled_at AT TIME ZONE 'UTC')::date AS day, provider, state, count(*)
      FROM deliveries JOIN notifications_notification n ON n.id = deliveries.notification_id
     WHERE n.origin NOT IN ('test', 'code')
     GROUP BY n.user_id, day, provider, state ORDER BY n.user_id, day, provider, state
    ON CONFLICT (user_id, day, provider, state) DO UPDATE SET count = total.count + excluded.count
)
"""
NOTIFICATIONS = Retention("notifications", "HISTORY_KEPT_DAYS", "notifications_notification", _WHERE, _ALSO)


@shared_task(name="notifications.prune_history", ignore_result=True)
def prune_history() -> int:
    return NOTIFICATIONS.prune()


@shared_task(name="notifications.prune_changes")
def prune_changes() -> int:
    fallback.cancel_left()  # an hour late is soon enough: nobody waits for these
    return feed.prune()
