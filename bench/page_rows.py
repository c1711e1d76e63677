"""The rows behind `script/bench pages` and `history`, filled by SQL in sets. Import it once Django is set up."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from bench.rows import make_channel, make_schedules
from common.database import encryption, postgres
from events.models import InboundAddress, Topic
from jobs.models import Connection
from people.models import User
from work import totals
from work.kinds import KINDS

UNREAD = 5_000
_EVENTS = 20_000
_MILLION = 1_000_000

# A delivery every 35 s backwards from now, so that a million are 405 days, and more are closer together. Changes are of
# the last 7 days, checks of the last 90, a tenth of the deliveries. Of 200, one failed, one is unknown, two were
# cancelled and one expired; 20 wait. Two thirds went to the inbox, and those to a removed channel are old.
_SENT = """
CREATE TEMPORARY TABLE sent ON COMMIT DROP AS
SELECT n, now() - n * %(apart)s * interval '35 seconds' AS at,
       uuidv7(n * %(apart)s * interval '-35 seconds') AS id, uuidv7(n * %(apart)s * interval '-35 seconds') AS batch,
       s.id AS schedule, c.id AS channel, c.provider,
       CASE WHEN n <= 20 THEN 'pending' WHEN n %% 200 = 0 THEN 'dead' WHEN n %% 200 = 1 THEN 'unknown'
            WHEN n %% 100 = 3 THEN 'cancelled' WHEN n %% 200 = 5 THEN 'expired' ELSE 'delivered' END AS state,
       CASE WHEN n %% 10000 = 7 THEN 'test' WHEN n %% 10000 = 8 THEN 'code' WHEN n %% 50 = 9 THEN 'api'
            ELSE 'schedule' END AS origin
  FROM generate_series(%(first)s, %(last)s) n
  JOIN (SELECT row_number() OVER (ORDER BY id) - 1 AS number, id FROM schedules_schedule) s
    ON s.number = n %% (SELECT count(*) FROM schedules_schedule)
  JOIN notifications_channel c
    ON c.user_id = %(owner)s
   AND c.label = CASE WHEN n %% 3 > 0 THEN 'Inbox' WHEN n > %(deliveries)s * 0.8 AND n %% 4 = 0 THEN 'Old phone'
                      WHEN n %% 2 = 0 THEN 'Mail' ELSE 'Pager' END;
ANALYZE sent;
INSERT INTO schedules_occurrence (id, schedule_id, scheduled_for, outcome, reason, version, fired_at)
SELECT batch, schedule, at, 'fired', '', 1, at FROM sent ORDER BY at;
INSERT INTO notifications_notification (id, batch_id, user_id, origin, origin_id, slot, subject, body, outcome,
                                        created_at)
SELECT id, batch, %(owner)s, origin, CASE WHEN origin = 'schedule' THEN schedule END, at, 'Water the plants ' || n,
       'All of them, and the ferns in the hall twice.',
       CASE state WHEN 'pending' THEN 'open' WHEN 'delivered' THEN 'full' WHEN 'dead' THEN 'failed'
                  WHEN 'unknown' THEN 'failed' ELSE 'dropped' END, at
  FROM sent ORDER BY at;
INSERT INTO notifications_delivery (id, notification_id, channel_id, provider, state, available_at, wake_at, wakes,
                                    tries, replays, cause, reason_code, created_at, settled_at, read_at)
SELECT id, id, channel, provider, state, at, at + interval '1 year' * (state = 'pending')::int, 0, 1, 0,
       CASE WHEN state IN ('dead', 'unknown') THEN provider || '-refused' ELSE '' END, '', at,
       CASE WHEN state <> 'pending' THEN at + interval '1 second' END,
       CASE WHEN n > (3 * %(unread)s) / 2 THEN at + interval '1 hour' END
  FROM sent ORDER BY at;
INSERT INTO notifications_attempt (delivery_id, replay, number, token, worker, started_at, finished_at, outcome)
SELECT id, 0, 1, batch, 'bench:1', at, at + interval '1 second',
       CASE state WHEN 'delivered' THEN 'delivered' WHEN 'unknown' THEN 'ambiguous' ELSE 'rejected' END
  FROM sent WHERE state IN ('delivered', 'dead', 'unknown') ORDER BY at;
INSERT INTO notifications_change (xact, id, user_id, type, at, data)
SELECT 1, uuidv7(at - now()), %(owner)s, type, at, jsonb_build_object('id', id)
  FROM sent, unnest(ARRAY['delivery.delivered', 'notification.full']) AS type
 WHERE at > now() - interval '7 days' AND state = 'delivered' ORDER BY at;
INSERT INTO jobs_job (id, user_id, kind, payload, batch_id, origin_id, slot, message, on_error, errors_allowed, state,
                      available_at, wakes, is_bulk, tries, replays, reason_code, reason_params, created_at, settled_at)
SELECT id, %(owner)s, 'github_streak', '{}', batch, schedule, at, '{}', 'daily', 3, 'decided', at, 0, false, 1, 0,
       'silent', '{}', at, at + interval '1 second'
  FROM sent WHERE at > now() - interval '90 days' AND n %% 10 = 4 ORDER BY at;
INSERT INTO jobs_jobattempt (job_id, replay, number, token, worker, started_at, finished_at, outcome, reason_params)
SELECT id, 0, 1, batch, 'bench:1', at, at + interval '1 second', 'decided', '{}'
  FROM sent WHERE at > now() - interval '90 days' AND n %% 10 = 4 ORDER BY at;
"""

_REMINDERS = """
UPDATE schedules_schedule SET user_id = %(owner)s;
UPDATE schedules_schedule s SET state = 'paused', next_fire_at = NULL
  FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM schedules_schedule) r WHERE r.id = s.id AND r.n %% 20 = 0;
UPDATE schedules_schedule s SET next_fire_at = next_fire_at + n * interval '1 minute'
  FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM schedules_schedule) r
 WHERE r.id = s.id AND next_fire_at IS NOT NULL;
DELETE FROM schedules_schedule_channels;
INSERT INTO schedules_schedule_channels (schedule_id, channel_id)
SELECT s.id, c.id FROM schedules_schedule s JOIN notifications_channel c
    ON c.user_id = %(owner)s AND (c.label = 'Inbox' OR c.label = CASE WHEN s.fired_count %% 2 = 0 THEN 'Mail' END);
INSERT INTO schedules_scheduleevent (schedule_id, what, at, version, detail)
SELECT id, 'created', now() - interval '1 year', 1, '{}' FROM schedules_schedule;
"""

_EVENT_ROWS = """
INSERT INTO events_rule (id, user_id, name, type_pattern, source, conditions, title, body, urgent, digest_key, enabled,
                         version)
SELECT uuidv7(), %(owner)s, 'Orders ' || n, 'order.paid', '', '[]', 'Order', '', false, '', true, 1
  FROM generate_series(1, 200) n;
INSERT INTO events_event (id, user_id, key, type, source, occurred_at, correlation_id, hops, data, state, available_at,
                          wakes, tries, replays, created_at, settled_at)
SELECT id, %(owner)s, id, CASE WHEN n %% 3 = 0 THEN 'order.paid' ELSE 'backup.done' END, '', at, id, 0, '{}', 'handled',
       at, 0, 1, 0, at, at
  FROM (SELECT n, now() - n * %(apart)s * interval '30 seconds' AS at,
               uuidv7(n * %(apart)s * interval '-30 seconds') AS id
          FROM generate_series(1, %(events)s) n) e;
INSERT INTO events_effect (id, event_id, rule_id, outcome)
SELECT uuidv7(), e.id, (SELECT id FROM events_rule ORDER BY id LIMIT 1), 'silent' FROM events_event e;
INSERT INTO events_eventattempt (event_id, replay, number, token, worker, started_at, finished_at, outcome,
                                 reason_params)
SELECT id, 0, 1, id, 'bench:1', settled_at, settled_at, 'handled', '{}' FROM events_event;
"""

# Counting all would take minutes.
_COUNT_FROM = """
INSERT INTO work_countedattempts (kind, attempt_id)
SELECT '$name', coalesce(max(id), 0) FROM $attempt WHERE started_at < now() - interval '1 day'
"""


def fill(reminders: int, deliveries: int) -> tuple[Client, Client]:
    """A person with so many reminders and deliveries, and an operator. Returns a client for each, signed in.

    The tries of the last day are counted, as beat does in each minute; older ones never are.
    """
    owner = User.objects.create_user(email="ada@example.org", name="Ada", time_zone="Europe/Berlin")
    make_channel(owner, label="Inbox", use_for_new=True)
    make_channel(owner, "email", {"address": owner.email}, label="Mail")
    make_channel(owner, "webhook", {"url": "https://example.org/hook"}, label="Pager")
    make_channel(owner, "webhook", {"url": "https://example.org/old"}, label="Old phone", removed_at=timezone.now())
    make_schedules(reminders, timezone.now().replace(second=0, microsecond=0) + timedelta(days=1))
    apart = min(1.0, _MILLION / deliveries)
    _write(_REMINDERS, {"owner": owner.pk})
    write_deliveries(owner.pk, 1, deliveries, apart)
    _write(_EVENT_ROWS, {"owner": owner.pk, "events": max(_EVENTS, deliveries // 50), "apart": apart})
    Topic.objects.create(user=owner, slug="news", name="News")
    address = InboundAddress(user=owner, hashed="0" * 64, label="Shop")
    address.sealed_secrets = encryption.seal_secrets({"token": "1" * 48, "secret": ""}, address.id)
    address.save()
    Connection.objects.create(user=owner, kind="github", label="GitHub")
    for kind in KINDS.values():
        postgres.change(kind.sql(_COUNT_FROM), {})
    totals.count()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    staff = User.objects.create_user(email="operator@example.org", name="Op", is_staff=True, is_superuser=True)
    return _signed_in(owner), _signed_in(staff)


def write_deliveries(owner_id: int, first: int, last: int, apart: float = 1.0) -> None:
    """The deliveries with these numbers, `apart` times 35 s each."""
    values = {"owner": owner_id, "deliveries": last, "unread": UNREAD, "apart": apart}
    for begin in range(first, last + 1, _MILLION):
        _write(_SENT, values | {"first": begin, "last": min(last, begin + _MILLION - 1)})


def _write(statements: str, values: dict[str, Any]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # neither triggers nor foreign keys
        cursor.execute(statements, values)


def _signed_in(user: User) -> Any:
    client = Client(HTTP_HOST="localhost")
    client.force_login(user)
    return client
