"""A worker is killed in the middle of telling thousands: the next one goes on, and everybody is told once."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
import redis
from django.db import connection
from django.db.models import Count
from django.db.models.functions import Now

from demo.child import Child
from jobs.batches.kind import PART
from jobs.models import Batch
from notifications.models import Delivery, Notification
from tests.db.jobs.test_batches import make_topic, publish
from tests.make import make_user
from tests.process.conftest import wait_until
from tests.process.notifications.conftest import environment
from work.engine import rescue

pytestmark = pytest.mark.django_db(transaction=True)

PEOPLE = PART + 500

_PEOPLE = """
WITH person AS (
    INSERT INTO people_user (password, is_superuser, email, name, time_zone, is_staff, is_active, date_joined)
    SELECT '!', false, 'reader' || n || '@example.org', '', '', false, true, now()
      FROM generate_series(1, %(people)s) n RETURNING id
), inbox AS (
    INSERT INTO notifications_channel (id, user_id, provider, label, address, sealed_secrets, on_unknown, verified_at)
    SELECT gen_random_uuid(), id, 'inbox', 'Inbox', '{}', '', '', now() FROM person
)
INSERT INTO events_subscription (id, topic_id, user_id, address) SELECT gen_random_uuid(), %(topic)s, id, '' FROM person
"""


@contextmanager
def worker(name: str, fault_points: Path) -> Iterator[Child]:
    celery = [sys.executable, "-m", "celery", "-A", "config", "worker", "--concurrency", "8", "--loglevel", "WARNING"]
    celery += ["-Q", "deliveries,events,jobs,bulk,maintenance", "--without-mingle", "--without-gossip"]
    celery += ["-n", f"{name}@%h"]
    surroundings = environment(CARILLON_FAULT_POINTS=str(fault_points))
    child = Child(name, celery, ready_sign=".> maintenance", environment=surroundings)
    child.start()
    try:
        yield child
    finally:
        child.stop(10.0)


@pytest.mark.usefixtures("broker")
def test_a_killed_worker_leaves_nobody_out_and_tells_nobody_twice(broker: redis.Redis, tmp_path: Path) -> None:
    topic = make_topic(make_user())
    with connection.cursor() as cursor:
        cursor.execute(_PEOPLE, {"people": PEOPLE, "topic": topic.id})
    (tmp_path / "chunk-told").write_text("kill-group")
    with worker("killed", tmp_path) as killed:
        publish(topic)
        wait_until(lambda: killed.exit_status() is not None)
    batch = Batch.objects.get()
    assert (batch.state, batch.told, Notification.objects.count()) == ("telling", PART, PART)
    Batch.objects.update(lease_until=Now() - timedelta(seconds=1))

    def is_over() -> bool:
        rescue.rescue()
        time.sleep(0.5)
        return not Delivery.objects.exclude(state="delivered").exists() and Batch.objects.get().state == "told"

    with worker("second", tmp_path):
        wait_until(is_over, within=600.0)
    batch.refresh_from_db()
    assert (batch.size, batch.told, batch.reached) == (PEOPLE, PEOPLE, PEOPLE)
    each = Notification.objects.values("user").annotate(said=Count("id"), sent=Count("deliveries"))
    assert {(one["said"], one["sent"]) for one in each} == {(1, 1)}
    assert len(each) == PEOPLE
    # On a slow machine it is given back between portions, and goes on behind what was told.
    assert set(batch.history.values_list("outcome", flat=True)) - {"released"} == {"lost", "told"}
