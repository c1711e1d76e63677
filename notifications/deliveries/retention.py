"""Retention of notifications, with their deliveries and attempts. Their number stays.

Open, held and dead ones stay until a person has decided, snoozed ones until they have come again.
"""

from work.retention import Retention

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
