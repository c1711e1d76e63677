"""`script/bench fanout [--people 100000] [--seconds 20] [--seed 1] [--json]`: one POST to a topic of so many people.

A whole installation: web, one worker, beat with rescue every 5 s. Meanwhile others have single messages, five a second,
and a reminder every second. "Expanded" is from the POST until all notifications and deliveries are recorded; then the
others are measured for so many `seconds` more, while the people's deliveries are sent. The peer in the same run is a
loop that does the same by the book: `bulk_create` of both rows for 1,000 people at a time, and `apply_async` for each.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

from bench.environment import arguments, report
from demo.installation import Installation, wait_until

PEER_CHUNK = 1_000
_MOST_OF_PEER = 5_000  # it costs the same from the first to the last

_PEOPLE = """
WITH person AS (
    INSERT INTO people_user (password, is_superuser, email, name, time_zone, is_staff, is_active, date_joined)
    SELECT '!', false, 'person' || n || '@example.org', 'Ada', 'Europe/Berlin', false, true, now()
      FROM generate_series(%(first)s, %(last)s) n RETURNING id
), inbox AS (
    INSERT INTO notifications_channel (id, user_id, provider, label, address, sealed_secrets, on_unknown, verified_at)
    SELECT gen_random_uuid(), id, 'inbox', 'Inbox', '{}', '', '', now() FROM person
)
INSERT INTO events_subscription (id, topic_id, user_id, address) SELECT gen_random_uuid(), %(topic)s, id, '' FROM person
"""
# What an installation has sent before: planners see tables that are not empty.
_PAST = """
WITH past AS (
    INSERT INTO notifications_notification (id, batch_id, user_id, origin, subject, body, outcome)
    SELECT gen_random_uuid(), gen_random_uuid(), c.user_id, 'api', 'Past', '', 'full'
      FROM notifications_channel c, generate_series(1, 20000) WHERE c.id = %(inbox)s RETURNING id
), sent AS (
    INSERT INTO notifications_delivery (id, notification_id, channel_id, provider, state, wakes, tries, replays,
                                        settled_at)
    SELECT gen_random_uuid(), id, %(inbox)s, 'inbox', 'delivered', 0, 1, 0, now() FROM past RETURNING id
)
INSERT INTO notifications_attempt (delivery_id, replay, number, token, worker, started_at, finished_at, outcome)
SELECT id, 0, 1, gen_random_uuid(), '', now(), now(), 'delivered' FROM sent
"""
_LATE = """
SELECT o.scheduled_for AS at, extract(epoch FROM o.fired_at - o.scheduled_for)::float AS late
  FROM schedules_occurrence o
"""
_SINGLES = """
SELECT n.created_at AS at, extract(epoch FROM d.settled_at - n.created_at)::float AS late
  FROM notifications_notification n JOIN notifications_delivery d ON d.notification_id = n.id
 WHERE n.subject = 'Single' AND d.settled_at IS NOT NULL
"""
_EXPANDED = """
SELECT e.created_at, b.settled_at, b.reached, b.size AS audience
  FROM jobs_batch b JOIN events_event e ON e.batch_id = b.id WHERE b.state = 'told'
"""


def main() -> None:
    parser = arguments("fanout")
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with Installation("bench_fanout", API_REQUESTS_PER_MINUTE="0", SENDS_PER_PERSON_PER_DAY="0") as site:
        os.environ |= site.environment | {"DJANGO_SETTINGS_MODULE": "config.settings", "LOG_LEVEL": "WARNING"}
        import django

        django.setup()
        from django.db import connection

        token = make_people(options.people)
        site.start(site.worker, site.beat, site.web)
        make_reminders(options.people // 4_000 + 3 * int(options.seconds))
        connection.close()
        ours = measure(site, token, options)
        site.stop(site.beat, site.worker, site.web)
        peer = by_the_book(min(options.people, _MOST_OF_PEER))
    ratio = round(ours["people a second"] / peer["people a second"], 1)
    report("fanout", options.seed, ours, {"bulk_create and apply_async": peer}, {"people a second": ratio})


def make_people(count: int) -> str:
    """So many subscribers of one topic; returns a token of its owner, who is also the one with single messages."""
    from django.db import connection, transaction

    from events.models import Topic
    from notifications.channels import changes
    from people import tokens
    from people.models import User

    owner = User.objects.create_user(email="owner@example.org")
    inbox = changes.add_inbox(owner)
    topic = Topic.objects.create(user=owner, slug="news", name="News")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # a million foreign keys need no proof here
        cursor.execute(_PAST, {"inbox": inbox.id})
        for first in range(1, count + 1, 50_000):
            cursor.execute(_PEOPLE, {"topic": topic.id, "first": first, "last": min(count, first + 49_999)})
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    return tokens.create(owner, "Bench", list(tokens.SCOPES), None)[1]


def make_reminders(seconds: int) -> None:
    """One in each second to come, at a random instant in it."""
    from notifications.models import Channel
    from people.models import User
    from schedules.changes import editing
    from schedules.firing import fire
    from schedules.models import Schedule

    owner = User.objects.get(email="owner@example.org")
    now = fire.read_clock().now
    for number in range(3, seconds):
        slot = now.replace(microsecond=0) + timedelta(seconds=number + random.random())
        rule: dict[str, object] = {"at": slot.replace(tzinfo=None).isoformat()}
        channels = list(Channel.objects.filter(user=owner))
        made = Schedule(user=owner, title=f"Reminder {number}", kind="once", rule=rule, time_zone="UTC")
        editing.create(made, channels, now)


def measure(site: Installation, token: str, options: argparse.Namespace) -> dict[str, Any]:
    import requests

    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {token}"
    inbox = session.get(f"{site.url}/api/v1/channels", timeout=10).json()["items"][0]["id"]
    over = threading.Event()
    singles = threading.Thread(target=send_singles, args=(site.url, token, inbox, over, random.Random(options.seed)))
    singles.start()
    try:
        time.sleep(options.seconds)
        took = []
        for topic in (None, "news"):  # the first one only wakes what a first request waits for
            body = {"type": "news.written", "data": {"title": "Rain", "body": "All day."}, "topic": topic}
            started = time.perf_counter()
            session.post(f"{site.url}/api/v1/events", json=body, timeout=30).raise_for_status()
            took.append(time.perf_counter() - started)
        longest = 60 + options.people / 1_000
        event = wait_until(
            lambda: next((row for row in site.rows(_EXPANDED) if row["audience"]), None), "the fan-out", longest
        )
        time.sleep(options.seconds)
    finally:
        over.set()
        singles.join()
    time.sleep(2.0)
    [sent] = site.rows("SELECT count(*) AS n, max(settled_at) AS last FROM notifications_delivery"
                       " WHERE is_bulk AND settled_at IS NOT NULL")  # fmt: skip
    begins, ends = event["created_at"], event["settled_at"]
    seconds = (ends - begins).total_seconds()
    found: dict[str, Any] = {
        "people": event["reached"],
        "POST ms": round(took[1] * 1000, 1),
        "expanded s": round(seconds, 2),
        "people a second": round(event["reached"] / seconds),
        "sent a second": round(sent["n"] / (sent["last"] - begins).total_seconds()) if sent["n"] else 0,
    }
    for name, statement in (("single", _SINGLES), ("beat", _LATE)):
        rows = site.rows(statement)
        phases = {
            "before": [row["late"] for row in rows if row["at"] < begins],
            "expanding": [row["late"] for row in rows if begins <= row["at"] < ends],
            "sending": [row["late"] for row in rows if row["at"] >= ends],
        }
        for phase, late in phases.items():
            found[f"{name} p99 ms, {phase}"] = p99(late)
    return found


def send_singles(url: str, token: str, channel: str, over: threading.Event, chance: random.Random) -> None:
    import requests

    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {token}"
    while not over.wait(chance.expovariate(5.0)):
        body = {"title": "Single", "channel_ids": [channel]}
        session.post(f"{url}/api/v1/notifications", json=body, timeout=30).raise_for_status()


def by_the_book(count: int) -> dict[str, Any]:
    from django.db import transaction

    from config.celery import app
    from events.models import Subscription
    from notifications.models import Channel, Delivery, Notification

    app.loader.import_default_modules()
    task = app.tasks["notifications.deliver"]
    task.apply_async(args=(str(uuid4()),))
    batch, readers = uuid4(), Subscription.objects.order_by("id").values_list("user_id", flat=True)
    started = time.perf_counter()
    for start in range(0, count, PEER_CHUNK):
        people = list(readers[start : start + PEER_CHUNK])
        inboxes = dict(Channel.objects.filter(user__in=people, removed_at=None).values_list("user_id", "id"))
        said = {"batch_id": batch, "origin": "topic", "subject": "Rain", "body": "All day."}
        with transaction.atomic():
            notifications = Notification.objects.bulk_create([Notification(user_id=who, **said) for who in people])
            deliveries = Delivery.objects.bulk_create(
                [Delivery(notification=one, channel_id=inboxes[one.user_id], provider="inbox") for one in notifications]
            )
        for delivery in deliveries:
            task.apply_async(args=(str(delivery.id),))
    seconds = time.perf_counter() - started
    return {"people": count, "expanded s": round(seconds, 2), "people a second": round(count / seconds)}


def p99(late: Sequence[float]) -> float | str:
    ordered = sorted(late)
    return round(ordered[math.ceil(0.99 * len(ordered)) - 1] * 1000, 1) if ordered else "-"


if __name__ == "__main__":
    main()
