"""The SQL that tells an audience: one statement a part, with `$people` of its `Audience`."""

# ruff: noqa: S608 - constants only

from datetime import datetime

from common import uuid7
from common.database.rows import Rows
from common.uuid7 import child_sql
from notifications.deliveries.outbox import insert_deliveries
from notifications.messages import text
from notifications.models.channel import USABLE_SQL
from people.models import DISPLAY_NAME_SQL
from work.broker import wakes

LOCK = "SELECT id FROM jobs_batch WHERE id = %(id)s FOR NO KEY UPDATE"
_HELD = """
WITH held AS MATERIALIZED (
    SELECT * FROM jobs_batch
     WHERE id = %(id)s AND state = 'telling' AND lease_token = %(token)s AND cancelled_at IS NULL FOR NO KEY UPDATE
)"""
SIZE = f"""{_HELD}, counted AS (
    SELECT (SELECT count(*) FROM ($people) a) AS people, ($nobody) AS nobody FROM held WHERE size IS NULL
)
UPDATE jobs_batch b
   SET size = coalesce(b.size, (SELECT people + nobody FROM counted)), ended_at = NULL,
       told = b.told + coalesce((SELECT nobody FROM counted), 0)
  FROM held WHERE b.id = held.id
RETURNING b.size, b.told
"""
# In the order of the people, in which the tables and indexes of users, channels and notifications are, too. The cursor
# is in subqueries, so that the plan walks along the index for one part only. Progress makes this claim the first of its
# tries again: a batch ends as dead when workers die over and over without getting on.
CLOCKS = Rows("clock", zone=str, slot=datetime, subject=str, body=str)
_PEOPLE = f"""{_HELD}, people AS MATERIALIZED (
    SELECT * FROM ($people) a WHERE user_id > (SELECT told_up_to FROM held) ORDER BY user_id LIMIT %(part)s
), clock AS (
    SELECT * FROM {CLOCKS.sql}
), readers AS MATERIALIZED (
    SELECT p.*, {DISPLAY_NAME_SQL} AS name, u.time_zone, coalesce(z.slot, any_zone.slot) AS slot,
           coalesce(z.subject, any_zone.subject) AS subject, coalesce(z.body, any_zone.body) AS body
      FROM people p JOIN people_user u ON u.id = p.user_id AND u.is_active
      JOIN clock any_zone ON any_zone.zone = '' LEFT JOIN clock z ON z.zone = u.time_zone
)"""
_MOVED = """, part AS (
    INSERT INTO jobs_part (batch_id, first, last, pending)
    SELECT (SELECT id FROM held), min(user_id), max(user_id), (SELECT count(*) FROM made) FROM people
    HAVING count(*) > 0
), moved AS (
    UPDATE jobs_batch
       SET told = told + (SELECT count(*) FROM people), reached = reached + (SELECT count(*) FROM recorded),
           told_up_to = coalesce((SELECT max(user_id) FROM people), told_up_to),
           released = released + tries - 1, tries = 1
     WHERE id = (SELECT id FROM held)
    RETURNING told, size, reached
)
SELECT told, size, reached, (SELECT count(*) FROM people) AS passed,"""
SAY = f"""{_PEOPLE}, usable AS MATERIALIZED (
    SELECT r.user_id, c.id AS channel_id, c.provider,
           r.channel_ids = '{{}}' AND c.provider <> ALL(%(pulled)s::text[]) OR c.id = ANY(r.channel_ids) AS is_chosen
      FROM readers r
      JOIN notifications_channel c ON c.user_id = r.user_id AND {USABLE_SQL}
), chosen AS MATERIALIZED (
    SELECT * FROM usable WHERE is_chosen
     UNION ALL
    SELECT * FROM usable
     WHERE provider = 'inbox' AND user_id NOT IN (SELECT user_id FROM usable WHERE is_chosen)
), recorded AS (
    INSERT INTO notifications_notification (id, batch_id, correlation_id, correlation, hops, user_id, origin, origin_id,
                                            slot, subject, body, urgent, category, data)
    SELECT {child_sql("held.id", "r.user_id")}, held.id, held.correlation_id, held.correlation, %(hops)s,
           r.user_id, held.origin, coalesce(r.own_id, held.origin_id), r.slot,
           coalesce(nullif(left(replace(r.subject, %(marker)s, r.name), {text.MAX_SUBJECT}), ''), 'Message'),
           left(replace(r.body, %(marker)s, r.name), {text.MAX_BODY}), %(urgent)s, %(category)s, %(data)s::jsonb
      FROM held, readers r WHERE r.user_id IN (SELECT user_id FROM chosen) ORDER BY r.user_id
    ON CONFLICT (batch_id, user_id) DO NOTHING
    RETURNING id, user_id, slot
), new AS (
    SELECT {child_sql("recorded.id", "channel_id")} AS id, recorded.id AS notification_id, channel_id, provider,
           coalesce(recorded.slot, now()) AS available_at,
           recorded.slot + (SELECT stale_after FROM held) * interval '1 second' AS expires_at
      FROM recorded JOIN chosen USING (user_id)
), made AS ({insert_deliveries()}){_MOVED}
       CASE WHEN NOT %(is_bulk)s THEN (SELECT jsonb_agg(jsonb_build_array(made.id, user_id, made.wait))
              FROM made JOIN recorded ON recorded.id = notification_id WHERE NOT is_pulled) END AS work,
       ARRAY(SELECT DISTINCT channel_id FROM made WHERE is_pulled) AS pulled
  FROM moved
"""
CHECK = f"""{_PEOPLE}, recorded AS (
    INSERT INTO jobs_job (id, user_id, kind, queue, payload, connection_id, batch_id, correlation_id, correlation,
                          origin_id, slot, message, on_error, errors_allowed, state, available_at, wake_at,
                          expires_at, wakes, is_bulk, tries, replays)
    SELECT {uuid7.SQL}, r.user_id, held.job_kind, %(queue)s, held.job_payload,
           (SELECT c.id FROM jobs_connection c
             WHERE c.user_id = r.user_id AND c.kind = %(connection)s AND c.removed_at IS NULL AND c.disabled_at IS NULL
             ORDER BY c.id LIMIT 1),
           held.id, held.correlation_id, held.correlation, held.origin_id, r.slot,
           held.message || jsonb_build_object('name', r.name, 'time_zone', r.time_zone), held.on_error,
           held.errors_allowed, 'pending', greatest(r.slot, now()),
           {wakes.wake_at("extract(epoch FROM greatest(r.slot, now()) - now())::float")},
           r.slot + held.stale_after * interval '1 second', 0, %(is_bulk)s, 0, 0
      FROM held, readers r ORDER BY r.user_id
    ON CONFLICT (batch_id, user_id) DO NOTHING
    RETURNING id, user_id, extract(epoch FROM available_at - now())::float AS wait
), made AS (SELECT * FROM recorded){_MOVED}
       CASE WHEN NOT %(is_bulk)s THEN (SELECT jsonb_agg(jsonb_build_array(id, user_id, wait)) FROM made) END AS work,
       '{{}}'::uuid[] AS pulled
  FROM moved
"""
# Workers keep the plans of their statements. Those made for a nearly empty table read all of it, which a large audience
# has filled within seconds; autovacuum comes after a minute.
ANALYZED = "SELECT reltuples AS rows FROM pg_class WHERE oid = 'notifications_delivery'::regclass"
ANALYZE = "ANALYZE notifications_notification, notifications_delivery, jobs_job"
