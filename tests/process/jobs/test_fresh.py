"""Many people look at one page, by a real worker with many threads: one request serves them all."""

from __future__ import annotations

import sys
import time

import pytest
import redis

from demo.child import Child
from demo.receivers import HTTPReceiver, Received, Reply
from jobs.checks.recording import CHECK
from jobs.models import Job
from notifications.models import Notification
from schedules.firing import fire
from tests.make import NINE, make_job_schedule, make_user
from tests.process.conftest import wait_until
from tests.process.notifications.conftest import environment
from work.broker import wakes

pytestmark = pytest.mark.django_db(transaction=True)
PEOPLE = 60


def answer(_: Received) -> Reply:
    time.sleep(1)
    return Reply(body=b'{"price": 90}')


def test_one_request_serves_everybody_who_asks_the_same_at_once(broker: redis.Redis) -> None:
    celery = [sys.executable, "-m", "celery", "-A", "config", "worker", "-Q", "jobs", "--pool", "threads"]
    celery += ["--concurrency", "40", "--loglevel", "WARNING", "--without-mingle", "--without-gossip"]
    with HTTPReceiver(answer) as source:
        question = {"url": source.url, "how": "json", "expression": "price", "condition": "below", "limit": "100"}
        for _ in range(PEOPLE):
            make_job_schedule(make_user(), "web_value", question | {"fresh_for": 300})
        fire.fire_due(NINE)
        worker = Child("checks", celery, ready_sign=".> jobs", environment=environment())
        worker.start()
        try:
            wakes.publish([wakes.Wake(CHECK, job.id, 0.0, job.user_id) for job in Job.objects.all()])
            wait_until(lambda: not Job.objects.exclude(state="decided").exists())
        finally:
            worker.stop(10.0)
    assert len(source.requests) == 1
    assert Notification.objects.count() == PEOPLE
    # They waited for it, which counts no try.
    assert {job.tries for job in Job.objects.all()} == {1}
