"""What a page asks the database does not grow with what lies behind it: 30 rows or 2,000."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from people.models import User
from schedules.agenda import coming
from schedules.models import Schedule
from tests.make import make_channel, make_rule, make_schedule

# Beside its own: the session and the person; the numbers of unread messages and of reminders that need
# attention; the beat's last sign of life.
PAGES = {
    "/reminders/": 11,
    "/reminders/?q=plants&state=active": 11,
    "/reminders/day/": 13,
    "/reminders/week/": 13,
    "/reminders/month/": 13,
    "/reminders/new/": 8,
    "/reminders/{schedule}/": 17,
    "/reminders/{schedule}/explain/": 17,
    "/rules/": 8,
    "/rules/new/": 7,
    "/rules/{rule}/": 9,
    "/channels/": 7,
    "/connections/": 6,
    "/history/": 9,  # its channels for the filter, and the counts of the chart
    "/history/?state=delivered": 10,
    "/history/?q=plants&state=delivered&channel={channel}&since=2026-01-01": 10,
    "/history/?show=tests": 7,
    "/holidays/": 9,
    "/inbox/": 7,
    "/inbox/?q=plants": 8,
}

ROWS = """
INSERT INTO schedules_schedule (id, user_id, title, body, kind, rule, time_zone, spread, misfire, grace, state, error,
                                version, next_fire_at, fired_count)
SELECT gen_random_uuid(), %(user)s, 'Water the plants', '', 'daily', '{"time": "09:00"}', 'UTC', 0, 'latest', 60,
       'active', '', 1, now() + n * interval '1 minute', 0
  FROM generate_series(1, %(rows)s) n;
INSERT INTO schedules_schedule_channels (schedule_id, channel_id)
SELECT id, %(channel)s FROM schedules_schedule WHERE id <> %(schedule)s;
INSERT INTO schedules_occurrence (id, schedule_id, scheduled_for, outcome, reason, version)
SELECT gen_random_uuid(), %(schedule)s, now() - n * interval '1 minute', 'fired', '', 1
  FROM generate_series(1, %(rows)s) n;
INSERT INTO notifications_notification (id, batch_id, user_id, origin, origin_id, slot, subject, body, outcome)
-- The calendar finds messages by the time in their id; of a random one that is seldom, but sometimes, in its month.
SELECT overlay(gen_random_uuid()::text placing 'f' from 1)::uuid, id, %(user)s, 'schedule', %(schedule)s, scheduled_for,
       'Water the plants', '', 'full'
  FROM schedules_occurrence;
INSERT INTO notifications_delivery (id, notification_id, channel_id, provider, state, wakes, tries, replays, settled_at)
SELECT gen_random_uuid(), id, %(channel)s, 'inbox', 'delivered', 0, 1, 0, now() FROM notifications_notification;
INSERT INTO events_rule (id, user_id, name, type_pattern, source, conditions, title, body, urgent, digest_key, enabled,
                         version)
SELECT gen_random_uuid(), %(user)s, 'Orders', 'order.*', '', '[]', 'Order', '', false, '', true, 1
  FROM generate_series(1, %(rows)s);
INSERT INTO events_event (id, user_id, key, type, source, occurred_at, correlation_id, hops, data, state, available_at,
                          wakes, tries, replays)
SELECT id, %(user)s, id, 'order.paid', '', now(), id, 0, '{}', 'pending', now(), 0, 0, 0 FROM schedules_occurrence;
INSERT INTO events_effect (id, event_id, rule_id, outcome, notification_id)
SELECT gen_random_uuid(), o.id, %(rule)s, 'notified', n.id
  FROM schedules_occurrence o JOIN notifications_notification n ON n.batch_id = o.id;
ANALYZE events_rule, events_event, events_effect;
ANALYZE schedules_schedule, schedules_schedule_channels, schedules_occurrence, notifications_notification,
        notifications_delivery;
"""


def zone_shortly_after_midnight() -> str:
    """Where the calendar's day still has more minutes than it reads reminders, one of which is due each minute."""
    hour = timezone.now().hour
    return f"Etc/GMT+{hour}" if hour <= 12 else f"Etc/GMT-{24 - hour}"


@pytest.mark.parametrize("rows", [30, 2_000])
def test_the_number_of_statements_is_constant(
    browser: Client, ada: User, rows: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    ada.time_zone = zone_shortly_after_midnight()
    ada.save()
    channel = make_channel(ada)
    schedule, rule = make_schedule(ada, [channel]), make_rule(ada, channels=[channel])
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # no triggers, no foreign keys: ten times faster
        given = {"user": ada.id, "rows": rows, "channel": channel.id, "schedule": schedule.id, "rule": rule.id}
        cursor.execute(ROWS, given)
    assert Schedule.objects.count() == rows + 1
    # The calendar counts those that it does not read.
    more = dict.fromkeys(("/reminders/day/", "/reminders/week/", "/reminders/month/"), rows > coming.MOST)
    for path, usual in PAGES.items():
        statements = usual + more.get(path, 0)
        with django_assert_num_queries(statements, info=path):
            assert browser.get(path.format(schedule=schedule.id, rule=rule.id, channel=channel.id)).status_code == 200
