"""Tell a topic's subscribers of an event, in chunks: one transaction each, which moves the cursor in the event's row.

A worker that dies leaves the cursor behind the last chunk, and the next one goes on there. Nobody is told twice: a
batch has one notification for each person.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from functools import partial
from typing import Any
from uuid import UUID, uuid5

from common import fault_points, postgres, uuid7
from common.postgres import persist
from events import handling
from events.envelope import as_sent
from events.handling import Claim
from events.models import Topic
from events.reasons import Code
from notifications.deliveries import outbox
from notifications.deliveries.outbox import DELIVER, INSERT_DELIVERIES
from notifications.deliveries.pull_signal import wake_pullers_after_commit
from notifications.models import Notification
from work import wakes
from work.answers import Defer
from work.reasons import Reason
from work.wakes import Wake

log = logging.getLogger(__name__)

CHUNK = 2_000
# Seconds after which the event is given back, so that another one has its turn; far below the lease.
PORTION = 5.0
# An audience up to here is published at once; the deliveries of a larger one are bulk work.
FEW = 200
# Larger data stays with the event: a million subscribers would each have a copy.
LARGEST_DATA = 4_096
# Each holds a connection and a thread of this process.
_large_ones = threading.BoundedSemaphore(2)

_COUNT = """
WITH counted AS (
    SELECT count(*) AS audience, count(*) FILTER (WHERE s.user_id IS NULL) AS nobody
      FROM events_event e JOIN events_subscription s ON s.topic_id = e.topic_id
     WHERE e.id = %(id)s AND e.audience IS NULL AND s.left_at IS NULL AND s.joined_at <= e.created_at
)
UPDATE events_event e SET audience = coalesce(e.audience, counted.audience), told = told + nobody
  FROM counted WHERE id = %(id)s AND state = 'handling' AND lease_token = %(token)s
RETURNING e.audience
"""

# In the order of the people, in which the tables and indexes of users, channels and notifications are, too. The cursor
# is in subqueries, so that the plan walks along the index for one chunk only. Progress makes this claim the first of
# its tries again: an event ends as dead when workers die over and over without getting on.
_TELL = f"""
WITH held AS MATERIALIZED (
    SELECT id, topic_id, created_at, told_up_to FROM events_event
     WHERE id = %(id)s AND state = 'handling' AND lease_token = %(token)s FOR NO KEY UPDATE
), people AS MATERIALIZED (
    SELECT s.id, s.user_id, s.channel_ids
      FROM events_subscription s
     WHERE s.topic_id = (SELECT topic_id FROM held) AND s.user_id > (SELECT told_up_to FROM held)
       AND s.left_at IS NULL AND s.joined_at <= (SELECT created_at FROM held)
     ORDER BY s.user_id LIMIT %(chunk)s
), usable AS MATERIALIZED (
    SELECT p.id AS subscription_id, p.user_id, c.id AS channel_id, c.provider,
           p.channel_ids = '{{}}' OR c.id = ANY(p.channel_ids) AS is_chosen
      FROM people p
      JOIN people_user u ON u.id = p.user_id AND u.is_active
      JOIN notifications_channel c ON c.user_id = p.user_id AND c.removed_at IS NULL AND c.disabled_at IS NULL
                                  AND c.verified_at IS NOT NULL AND c.provider <> 'status'
), chosen AS MATERIALIZED (
    SELECT * FROM usable WHERE is_chosen
     UNION ALL
    SELECT * FROM usable
     WHERE provider = 'inbox' AND user_id NOT IN (SELECT user_id FROM usable WHERE is_chosen)
), recorded AS (
    INSERT INTO notifications_notification (id, batch_id, correlation_id, user_id, origin, origin_id, subject, body,
                                            category, data)
    SELECT {uuid7.SQL}, %(batch)s, %(correlation)s, user_id, '{Notification.Origin.TOPIC}', subscription_id,
           %(subject)s, %(body)s, %(category)s, %(data)s::jsonb
      FROM (SELECT DISTINCT user_id, subscription_id FROM chosen ORDER BY user_id) reached
    ON CONFLICT (batch_id, user_id) DO NOTHING
    RETURNING id, user_id
), new AS (
    SELECT {uuid7.SQL} AS id, recorded.id AS notification_id, channel_id, provider, now() AS available_at,
           NULL::timestamptz AS expires_at, '' AS reason_code, '{{}}' AS reason_params, '' AS because_code,
           '{{}}' AS because_params
      FROM recorded JOIN chosen USING (user_id)
), delivered AS ({INSERT_DELIVERIES}), moved AS (
    UPDATE events_event
       SET told = told + (SELECT count(*) FROM people), reached = reached + (SELECT count(*) FROM recorded),
           told_up_to = coalesce((SELECT max(user_id) FROM people), told_up_to),
           released = released + tries - 1, tries = 1
     WHERE id = (SELECT id FROM held)
    RETURNING told, audience, reached
)
SELECT told, audience, reached, (SELECT count(*) FROM people) AS passed,
       CASE WHEN NOT %(is_bulk)s THEN (SELECT jsonb_object_agg(delivered.id, user_id)
              FROM delivered JOIN recorded ON recorded.id = notification_id WHERE NOT is_pulled) END AS deliveries,
       (SELECT array_agg(DISTINCT channel_id) FROM delivered WHERE is_pulled) AS pulled
  FROM moved
"""  # noqa: S608 - constants only


# Workers keep the plans of their statements. Those made for a nearly empty table read all of it, which a large audience
# has filled within seconds; autovacuum comes after a minute.
_KNOWN = "SELECT reltuples AS rows FROM pg_class WHERE oid = 'notifications_delivery'::regclass"
_ANALYZE = "ANALYZE notifications_notification, notifications_delivery"


def tell(event: Claim, topic_id: UUID) -> Defer | None:
    """Tell those who have not been told. None once it is over; else when to go on."""
    topic = Topic.objects.filter(id=topic_id).first()
    if topic is None:
        return None
    [counted] = postgres.query(_COUNT, {"id": event.id, "token": event.token}) or [None]
    if counted is None:
        return _more(0, 0)  # another worker has taken over
    is_bulk = counted.audience > FEW
    if is_bulk and not _large_ones.acquire(blocking=False):
        return Defer(1.0, Reason(Code.OTHERS_FIRST))
    try:
        return _tell(event, _values(event, topic, is_bulk))
    finally:
        if is_bulk:
            _large_ones.release()


def _tell(event: Claim, values: dict[str, Any]) -> Defer | None:
    until = time.monotonic() + PORTION
    looked = not values["is_bulk"]
    while True:
        found = persist(partial(postgres.query, _TELL, values))
        fault_points.reach("chunk-told")
        if not found:
            return _more(0, 0)  # another worker has taken over
        [row] = found
        wake_pullers_after_commit(set(row.pulled or ()))
        if row.deliveries:
            wakes.publish(Wake(DELIVER, UUID(key), 0.0, user) for key, user in json.loads(row.deliveries).items())
        if row.passed < CHUNK:
            log.info("Event %s: %s of %s subscribers were reached", event.id, row.reached, row.audience)
            return None
        if not looked and postgres.query(_KNOWN, [])[0].rows < row.audience:
            postgres.change(_ANALYZE, [])
        looked = True
        if time.monotonic() > until:
            return _more(row.told, row.audience)


def _more(told: int, audience: int) -> Defer:
    return Defer(0.0, Reason(Code.MORE_TO_TELL, told=told, audience=audience))


def batch_of(event_id: UUID, topic_id: UUID) -> UUID:
    """The id of all that the event tells the topic's subscribers."""
    return uuid5(event_id, str(topic_id))


def _values(event: Claim, topic: Topic, is_bulk: bool) -> dict[str, Any]:
    envelope = as_sent(event)
    said = handling.compose(topic.title, topic.body, envelope)
    data = json.dumps(envelope)
    return {
        "id": event.id,
        "token": event.token,
        "chunk": CHUNK,
        "batch": batch_of(event.id, topic.id),
        "correlation": event.correlation_id,
        "subject": said.subject,
        "body": said.body,
        "category": topic.slug,
        "data": data if len(data) <= LARGEST_DATA else json.dumps(envelope | {"data": None}),
        **outbox.parameters(is_bulk),
    }
