"""A real worker for checks alone, at a slow source."""

from __future__ import annotations

import sys
import time

import pytest
import redis

from demo.child import Child
from demo.receivers import HTTPReceiver, Received, Reply
from jobs.checks.recording import CHECK
from jobs.models import Job
from schedules.firing import fire
from tests.make import NINE, make_job_schedule, make_user
from tests.process.conftest import wait_until
from tests.process.notifications.conftest import environment
from work.broker import wakes

pytestmark = pytest.mark.django_db(transaction=True)


def answer(_: Received) -> Reply:
    time.sleep(0.3)
    return Reply(body=b'{"price": 200}')


def test_a_worker_takes_a_check_whenever_a_thread_is_free_and_defers_none(broker: redis.Redis) -> None:
    celery = [sys.executable, "-m", "celery", "-A", "config", "worker", "-Q", "jobs", "--pool", "threads"]
    celery += ["--concurrency", "4", "--loglevel", "WARNING", "--without-mingle", "--without-gossip"]
    with HTTPReceiver(answer) as source:
        question = {"url": source.url, "how": "json", "expression": "price", "condition": "below", "limit": "100"}
        for number in range(12):
            make_job_schedule(make_user(), "web_value", question | {"url": f"{source.url}?{number}"})
        fire.fire_due(NINE)
        worker = Child("checks", celery, ready_sign=".> jobs", environment=environment())
        worker.start()
        try:
            wakes.publish([wakes.Wake(CHECK, job.id, 0.0, job.user_id) for job in Job.objects.all()])
            wait_until(lambda: not Job.objects.exclude(state="decided").exists())
        finally:
            worker.stop(10.0)
    assert {job.history.count() for job in Job.objects.all()} == {1}
