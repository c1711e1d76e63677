"""A queue that no worker serves is noticed."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest
import redis
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from common.redis import served_queues
from demo.child import Child
from tests.process.notifications.test_limits import environment
from tests.process.notifications.test_pools import command

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]


@pytest.mark.parametrize(("pool", "shared"), [("threads", "on"), ("prefork", "off")])
def test_a_worker_says_which_queues_it_serves_for_as_long_as_it_runs(
    pool: str, shared: str, broker: redis.Redis, settings: Settings
) -> None:
    settings.CACHES = {"default": settings.CACHES["default"] | {"KEY_PREFIX": "carillon-cache"}}
    celery = command(pool, 1)
    celery[celery.index("-Q") + 1] = "deliveries,events,jobs,maintenance"
    variables: Mapping[str, str] = environment(DATABASE_POOL=shared)
    assert served_queues.unserved() == ["deliveries", "events", "jobs", "bulk", "maintenance"]
    worker = Child("worker", celery, environment=variables)
    worker.start()
    try:
        deadline = time.monotonic() + 120
        while served_queues.unserved() != ["bulk"]:
            assert time.monotonic() < deadline, served_queues.unserved()
            time.sleep(0.05)
        answer = Client().get("/healthz/queues")
        assert answer.status_code == 503
        assert "-Q bulk" in answer.content.decode()
        # Told again every ten seconds, so that it outlives a Redis that was emptied.
        cache.delete("served-queue:deliveries")
        deadline = time.monotonic() + 120
        while served_queues.unserved() != ["bulk"]:
            assert time.monotonic() < deadline, served_queues.unserved()
            time.sleep(0.05)
    finally:
        worker.stop(10.0)
    [key] = broker.keys("*served-queue:deliveries")
    assert 0 < broker.ttl(key) <= served_queues.REMEMBERED
