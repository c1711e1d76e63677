"""Real workers, and the children in which they parse."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
import redis

from demo.child import Child
from demo.receivers import HTTPReceiver, Reply
from jobs.checks.recording import CHECK
from jobs.models import Job
from schedules.firing import fire
from tests.make import NINE, make_job_schedule, make_user
from tests.process.conftest import wait_until
from tests.process.notifications.conftest import environment
from work.broker import wakes

pytestmark = pytest.mark.django_db(transaction=True)


def parsers(parent: int) -> set[int]:
    """The processes below this one that parse."""
    below, found = {parent}, set()
    for process in sorted(int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()):
        try:
            state, its_parent = (Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split())[:2]
            command = Path(f"/proc/{process}/cmdline").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(its_parent) in below and state != "Z":
            below.add(process)
            if "common.parsing.child" in command:
                found.add(process)
    return found


def is_alive(process: int) -> bool:
    try:
        return "common.parsing.child" in Path(f"/proc/{process}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("pool", ["threads", "prefork"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_worker_parses_in_children_and_leaves_none_behind(broker: redis.Redis, pool: str, number: int) -> None:
    celery = [sys.executable, "-m", "celery", "-A", "config", "worker", "-Q", "jobs", "--pool", pool]
    celery += ["--concurrency", "2", "--loglevel", "WARNING", "--without-mingle", "--without-gossip"]
    with HTTPReceiver(lambda _: Reply(body=b'{"price": 200}')) as source:
        question = {"url": source.url, "how": "json", "expression": "price", "condition": "below", "limit": "100"}
        make_job_schedule(make_user(), "web_value", question)
        fire.fire_due(NINE)
        worker = Child("checks", celery, ready_sign=".> jobs", environment=environment())
        worker.start()
        try:
            wakes.publish([wakes.Wake(CHECK, job.id, 0.0, job.user_id) for job in Job.objects.all()])
            wait_until(lambda: not Job.objects.exclude(state="decided").exists())
            children = parsers(worker.pid)
            os.kill(worker.pid, number)
            wait_until(lambda: not any(map(is_alive, children)))
        finally:
            worker.stop(10.0)
    assert len(children) == 1
