"""What the clock's benches fire: people, channels and schedules, written in bulk."""

from __future__ import annotations

from datetime import datetime

from django.db import connection, transaction

from schedules import mirror


def clear() -> None:
    """Remove everything of the clock's and of what it caused: for a bench's own database only."""
    with connection.cursor() as cursor:
        cursor.execute(
            "TRUNCATE schedules_schedule, schedules_occurrence, notifications_notification, notifications_delivery,"
            " notifications_channel, django_celery_beat_periodictask, django_celery_beat_crontabschedule,"
            " django_celery_beat_intervalschedule, django_celery_beat_clockedschedule, people_user CASCADE"
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
