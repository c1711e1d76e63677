"""People, channels, schedules and deliveries for benches. Import it once Django is set up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import connection, transaction
from django.utils import timezone

from common.uuid7 import uuid7
from notifications.deliveries import outbox
from notifications.messages.message import Destination
from notifications.models import Channel, Notification
from people.models import User
from schedules.changes import editing
from schedules.models import Schedule
from schedules.parts import mirror

# A schedule in UTC that fires every missed slot, however late.
_FIELDS: dict[str, Any] = {
    "title": "Water the plants",
    "body": "All of them.",
    "time_zone": "UTC",
    "misfire": Schedule.Misfire.ALL,
    "grace": 10**8,
}
WEBHOOK_SECRET = "whsec_" + "c2VjcmV0" * 4


def make_user() -> User:
    return User.objects.create_user(email=f"{uuid4().hex}@example.org", name="Ada", time_zone="Europe/Berlin")


def make_channel(
    user: User,
    provider: str = "inbox",
    address: dict[str, str] | None = None,
    secrets: dict[str, str] | None = None,
    **fields: Any,
) -> Channel:
    """A verified channel, written without its provider's form."""
    channel = Channel(
        **{"user": user, "provider": provider, "label": "Bench", "verified_at": user.date_joined, **fields}
    )
    channel.hold(Destination(address or {}, secrets or {}))
    channel.save()
    return channel


def make_schedule(
    user: User, channels: Sequence[Channel], kind: str, rule: dict[str, object], now: datetime
) -> Schedule:
    return editing.create(Schedule(user=user, kind=kind, rule=rule, **_FIELDS), channels, now)


def make_watches(count: int, **fields: Any) -> None:
    """Watches of one person that are up, and expect a ping every ten days."""
    from watches.models import Watch

    ahead = {"state": "up", "deadline": timezone.now() + timedelta(days=10), "period": 864_000, "grace": 300}
    first = Watch.objects.create(user=make_user(), name="Backup", kind="since", **(ahead | fields))
    copied = ", ".join(one.column or "" for one in Watch._meta.concrete_fields if one.name not in ("id", "token"))
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO watches_watch (id, token, {copied}) SELECT gen_random_uuid(), gen_random_uuid(), {copied}"  # noqa: S608 - names of columns
            " FROM watches_watch, generate_series(2, %s) WHERE id = %s",
            [count, first.id],
        )


def clear() -> None:
    """Remove all people, schedules and deliveries, and what was counted of them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "TRUNCATE schedules_schedule, schedules_occurrence, notifications_notification, notifications_delivery,"
            " notifications_channel, django_celery_beat_periodictask, django_celery_beat_crontabschedule,"
            " django_celery_beat_intervalschedule, django_celery_beat_clockedschedule, people_user,"
            " notifications_change, work_countedattempts, work_rollup, work_total CASCADE"
        )


@transaction.atomic
def make_schedules(count: int, slot: datetime) -> None:
    """`count` active daily schedules whose next slot is `slot`, each with one inbox channel and a `PeriodicTask`."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM people_user")
        [known] = cursor.fetchone()
        cursor.execute(
            """
            WITH person AS (
                INSERT INTO people_user (password, is_superuser, email, name, time_zone, is_staff, is_active,
                                         date_joined)
                SELECT '!', false, 'person' || %(known)s + n || '@example.org', 'Ada', 'Europe/Berlin', false, true,
                       now()
                  FROM generate_series(1, %(people)s) n RETURNING id
            )
            INSERT INTO notifications_channel (id, user_id, provider, label, address, sealed_secrets, on_unknown,
                                               verified_at)
            SELECT gen_random_uuid(), id, 'inbox', 'Inbox', '{}', '', '', now() FROM person
            """,
            {"known": known, "people": 100},
        )
        cursor.execute(
            "INSERT INTO django_celery_beat_crontabschedule"
            " (minute, hour, day_of_month, month_of_year, day_of_week, timezone)"
            " VALUES (%s, %s, '*', '*', '*', 'UTC') RETURNING id",
            [str(slot.minute), str(slot.hour)],
        )
        [crontab] = cursor.fetchone()
        cursor.execute(
            """
            CREATE TEMPORARY TABLE made ON COMMIT DROP AS
            SELECT gen_random_uuid() AS id, n, p.user_id, p.channel_id, 0 AS task_id
              FROM generate_series(1, %(count)s) n
              JOIN (SELECT row_number() OVER (ORDER BY user_id) - 1 AS number, user_id, id AS channel_id
                      FROM notifications_channel) p
                ON p.number = n %% (SELECT count(*) FROM notifications_channel);
            """,
            {"count": count},
        )
        cursor.execute(
            """
            WITH task AS (
                INSERT INTO django_celery_beat_periodictask (name, task, args, kwargs, enabled, one_off, headers,
                                                             total_run_count, date_changed, description, crontab_id)
                SELECT id::text, %(task)s, '["' || id || '"]', '{}', true, false, '{}', 0, now(), '', %(crontab)s
                  FROM made RETURNING id, name
            )
            UPDATE made SET task_id = task.id FROM task WHERE task.name = made.id::text
            """,
            {"task": mirror.FIRE, "crontab": crontab},
        )
        cursor.execute(
            """
            INSERT INTO schedules_schedule (id, user_id, title, body, kind, rule, time_zone, spread, misfire, grace,
                                            state, error, version, next_fire_at, fired_count, periodic_task_id)
            SELECT id, user_id, 'Water the plants ' || n, 'Hello {name}, it is {slot}.', 'daily',
                   jsonb_build_object('time', %(time)s::text), 'UTC', 0, 'latest', 3600, 'active', '', 1, %(slot)s, 0,
                   task_id
              FROM made
            """,
            {"time": f"{slot:%H:%M}", "slot": slot},
        )
        cursor.execute(
            "INSERT INTO schedules_schedule_channels (schedule_id, channel_id) SELECT id, channel_id FROM made"
        )


def make_queues(count: int) -> None:
    """`count` queues of people with 50 each, without messages."""
    users = User.objects.bulk_create(User(email=f"{uuid7().hex}@example.org") for _ in range(math.ceil(count / 50)))
    Channel.objects.bulk_create(
        Channel(user=users[number // 50], provider="queue", label=f"Queue {number}", verified_at=timezone.now())
        for number in range(count)
    )


def make_deliveries(channel: Channel, count: int) -> list[UUID]:
    """`count` deliveries that are due, of which no message was published."""
    made: list[UUID] = []
    for start in range(0, count, 1000):
        notifications = [
            outbox.NewNotification(
                user_id=channel.user_id,
                channels=[(channel.id, channel.provider)],
                subject="Water the plants",
                body="All of them.",
                origin=Notification.Origin.SCHEDULE,
                batch_id=uuid7(),
            )
            for _ in range(min(1000, count - start))
        ]
        made += [wake.id for wake in outbox.record(notifications)]
    return made


def make_waiting(channel: Channel, count: int) -> None:
    """`count` pending deliveries more, in plain SQL: due, published and not yet taken."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # a million foreign keys need no proof here
        cursor.execute(
            """
            WITH n AS (
                INSERT INTO notifications_notification (id, batch_id, user_id, origin, subject, body)
                SELECT gen_random_uuid(), gen_random_uuid(), %s, 'schedule', 'Waits', '' FROM generate_series(1, %s)
                RETURNING id
            )
            INSERT INTO notifications_delivery (id, notification_id, channel_id, provider, state, available_at, wake_at,
                                                wakes, tries, replays)
            SELECT gen_random_uuid(), id, %s, 'webhook', 'pending', now(), now() + interval '1 day', 0, 0, 0 FROM n
            """,
            [channel.user_id, count, channel.id],
        )
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE notifications_delivery, notifications_notification")
