"""A reminder of Carillon's own, due every minute: it shows that beat fires, a worker takes, and a message arrives.

An operator's address elsewhere (CANARY_PING_URL) is requested while it does, so that silence is noticed there.
"""

import logging

from django.conf import settings
from django_celery_beat.models import PeriodicTask

from common.database.postgres import change, query
from notifications.channels.changes import add_inbox
from notifications.models import Channel
from notifications.net import http
from people.account import deletion
from people.models import User
from people.user_lock import lock_user
from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Schedule

log = logging.getLogger(__name__)

ADDRESS = "canary@carillon.invalid"  # no mail leads there
ENTRY = "canary"  # of CELERY_BEAT_SCHEDULE
LATE = 120.0  # seconds since the slot of the last one that arrived: the next one is a minute late
_DEADLINE = 10.0  # seconds

_AGE = """
SELECT extract(epoch FROM now() - coalesce(max(slot.scheduled_for), s.created_at))::float AS seconds
  FROM people_user u JOIN schedules_schedule s ON s.user_id = u.id
  LEFT JOIN (schedules_occurrence slot
             JOIN notifications_notification n ON n.batch_id = slot.id
             JOIN notifications_delivery d ON d.notification_id = n.id AND d.state = 'delivered')
         ON slot.schedule_id = s.id
 WHERE u.email = %s GROUP BY s.created_at ORDER BY 1 LIMIT 1
"""
# The newest slot stays: it says until when slots are settled.
_PRUNE = """
WITH old AS (
    DELETE FROM notifications_notification n USING people_user u
     WHERE u.email = %s AND n.user_id = u.id AND n.created_at < now() - interval '1 hour' RETURNING n.id, n.batch_id
), slots AS (
    DELETE FROM schedules_occurrence slot USING old WHERE slot.id = old.batch_id
), deliveries AS (
    DELETE FROM notifications_delivery d USING old WHERE d.notification_id = old.id RETURNING d.id
)
DELETE FROM notifications_attempt a USING deliveries WHERE a.delivery_id = deliveries.id
"""


def age() -> float | None:
    """Seconds since the slot of the last canary that arrived, at first since it was made; None if there is none."""
    rows = query(_AGE, [ADDRESS])
    return rows[0].seconds if rows else None


def run() -> None:
    """Keep the canary and delete what it left an hour ago; ping while it arrives. If it is off, remove it."""
    if not settings.CANARY:
        PeriodicTask.objects.filter(name=ENTRY).delete()
        for user in User.objects.filter(email=ADDRESS, is_active=True):
            deletion.request(user)
        return
    _keep()
    change(_PRUNE, [ADDRESS])
    if settings.CANARY_PING_URL and (seconds := age()) is not None and seconds < LATE:
        _ping(settings.CANARY_PING_URL)


def _keep() -> None:
    user = User.objects.filter(email=ADDRESS).first() or User.objects.create_user(
        ADDRESS, name="Canary", time_zone="UTC"
    )
    with lock_user(user):
        if Schedule.objects.filter(user=user, state=Schedule.State.ACTIVE, deleted_at=None).exists():
            return
        inbox = Channel.objects.filter(user=user, provider="inbox", removed_at=None).first() or add_inbox(user)
        now = fire.read_clock().now
        rule = {"every": 1, "unit": "minutes", "anchor": now.isoformat()}
        editing.create(Schedule(user=user, title="Canary", kind="interval", rule=rule, time_zone="UTC"), [inbox], now)


def _ping(url: str) -> None:
    try:
        status = http.request("GET", url, body=b"", headers={}, deadline=_DEADLINE).status
    except http.RequestFailed as failure:
        log.warning("CANARY_PING_URL was not reached: %s", failure.reason)
    else:
        if status >= 400:
            log.warning("CANARY_PING_URL answered with status %s", status)
