"""Check now over a real web process: it asks no stranger itself, and a real worker answers."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from demo.child import Child
from demo.receivers import HTTPReceiver, Reply
from jobs.models import Job
from people import tokens
from tests.make import make_user
from tests.process.conftest import wait_until
from tests.process.notifications.conftest import environment
from tests.process.web import Answer, Web

pytestmark = pytest.mark.django_db(transaction=True)


def test_checks_of_a_slow_host_wait_for_a_worker_and_hold_up_no_page(broker: redis.Redis) -> None:
    people = [tokens.create(make_user(), "Test", ["read", "schedules"], None)[1] for _ in range(8)]
    with (
        HTTPReceiver(lambda _: Reply(body=b'{"price": 200}')) as source,
        Web(REDIS_URL=environment()["REDIS_URL"], API_REQUESTS_PER_MINUTE="0") as web,
    ):
        watch = {"url": source.url, "how": "json", "expression": "price", "condition": "above", "limit": "100"}
        job = {"job": {"kind": "web_value", "payload": watch}, "title": "It is {value}"}

        def ask(method: str, path: str, token: str, body: object = None) -> Answer:
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            return web.ask(method, f"/api/v1{path}", body and json.dumps(body), **headers)

        with ThreadPoolExecutor(80) as pool:
            asked = [pool.submit(ask, "POST", "/schedules/check", token, job) for token in people * 10]
            assert web.ask("GET", "/healthz").status == 200
            statuses = {one.result().status for one in asked}
        assert 202 in statuses and statuses <= {202, 409, 429, 503}  # 409: two of a person at a time
        assert source.requests == []

        Job.objects.all().delete()
        celery = [sys.executable, "-m", "celery", "-A", "config", "worker", "-Q", "jobs", "--pool", "threads"]
        celery += ["--concurrency", "4", "--loglevel", "WARNING", "--without-mingle", "--without-gossip"]
        worker = Child("checks", celery, ready_sign=".> jobs", environment=environment())
        worker.start()
        try:
            token = tokens.create(make_user(), "Test", ["read", "schedules"], None)[1]
            found = json.loads(ask("POST", "/schedules/check", token, job).text)
            wait_until(lambda: json.loads(ask("GET", f"/checks/{found['id']}", token).text)["outcome"] != "checking")
            found = json.loads(ask("GET", f"/checks/{found['id']}", token).text)
        finally:
            worker.stop(10.0)
    assert (found["outcome"], found["title"], len(source.requests)) == ("spoke", "It is 200", 1)
