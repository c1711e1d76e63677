"""Operators hear of what goes wrong from the processes that are left, and through what still works."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pytest_django import Settings

from common.redis import served_queues
from config.processes.commands import web_command
from demo.child import Child
from demo.ports import free_port
from demo.receivers.http import HTTPReceiver, Reply
from events.models import FlowSettings, OpenAlert, Run
from notifications.models import Delivery
from people.models import User
from schedules.models import Heartbeat
from tests.db.events.test_operator_alerts import dead_letters_of_each_kind
from tests.make import make_channel, make_delivery, make_user
from tests.process.conftest import wait_until
from tests.process.notifications.conftest import environment
from tests.process.notifications.test_pools import command
from work import dead_letters
from work.dead_letters import Which, Who
from work.kinds import KINDS

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]

# The same processes, but for the times after which something counts as stopped: 30 and 45 s, looked at every 10 s.
_SOON = """
import sys
program, sys.argv = sys.argv[1], sys.argv[2:]
sys.argv[0] = f"{program}/__main__.py"
import django
django.setup()
from config import operator_alerts
from schedules.beat import problems as clock
from work.operators import problems
operator_alerts.EVERY, operator_alerts.FIRST, clock.STOPPED, problems.UNSERVED = 1.0, 0.0, 12.0, 15
import runpy
runpy.run_module(program, run_name="__main__", alter_sys=True)
"""


class Services(HTTPReceiver):
    """A webhook and an ntfy server. `/refuse` answers 500."""

    def __init__(self) -> None:
        super().__init__(lambda request: Reply(500 if request.path == "/refuse" else 200, body=b"{}"))

    def got(self, path: str = "/hook") -> list[dict[str, str]]:
        sent = [json.loads(request.body) for request in self.requests if request.path == path]
        return [one.get("data", one) for one in sent]

    def subjects(self) -> list[str]:
        return [sent["subject"] for sent in self.got()]


@pytest.fixture
def services(settings: Settings) -> Iterator[Services]:
    settings.CACHES = {"default": settings.CACHES["default"] | {"KEY_PREFIX": "carillon-cache"}}
    with Services() as receiver:
        yield receiver


@pytest.fixture
def boss(services: Services) -> User:
    user = make_user(is_staff=True)
    hook = make_channel(user, "webhook", address={"url": f"{services.origin}/hook"})
    phone = make_channel(user, "ntfy", address={"url": services.origin}, secrets={"topic": "boss"})
    chosen = {"channels": [str(hook.id), str(phone.id)], "installation": True}
    FlowSettings.objects.create(user=user, flow="incident", settings=chosen)
    return user


@contextmanager
def running(*commands: list[str]) -> Iterator[list[Child]]:
    """A beat has been seen before the next starts, which would tell that none is running."""
    children = []
    try:
        for number, [_python, _m, *given] in enumerate(commands):
            soon = [sys.executable, "-c", _SOON, given[0], *given]
            surroundings = {**environment(), "DATABASE_POOL": "off" if "beat" in given else "on"}
            child = Child(f"child {number}", soon, environment=surroundings)
            child.start()
            children.append(child)
            if "beat" in given:
                wait_until(Heartbeat.objects.exists)
        yield children
    finally:
        for child in children:
            child.stop(5.0)


def beat() -> list[str]:
    return [sys.executable, "-m", "celery", "-A", "config", "beat", "--pidfile=", "--loglevel", "ERROR"]


def test_a_beat_that_is_killed_and_a_dead_letter_of_each_kind_are_told_once_and_once_when_they_are_over(
    boss: User, services: Services
) -> None:
    with running(beat(), command("threads", 4)) as [clock, _worker]:
        wait_until(lambda: not served_queues.unserved())
        made = dead_letters_of_each_kind(make_user())
        wait_until(lambda: len(services.got()) >= len(made), within=180)
        bodies = [sent["body"] for sent in services.got()]
        assert all(sum(str(row.id) in body for body in bodies) == 1 for row in made.values())
        for name in made:
            dead_letters.discard(Which(KINDS[name]).rows(), "all", Who(boss.pk, boss.email), "Not needed.")
        wait_until(lambda: len(services.got()) >= 2 * len(made), within=180)
        services.requests.clear()

        killed = time.monotonic()
        os.killpg(clock.pid, signal.SIGKILL)
        wait_until(services.subjects, within=180)
        took = time.monotonic() - killed
        time.sleep(5)  # five more looks
        assert services.subjects() == ["No beat is running"]
        assert took < 90, took  # within a minute with 30 s instead of 12
        with running(beat()):
            wait_until(lambda: len(services.subjects()) > 1, within=180)
            time.sleep(3)
    assert services.subjects() == ["No beat is running", "Over: No beat is running"]
    assert not OpenAlert.objects.exists()


def test_a_provider_that_refuses_everybody_is_told_through_another_one(boss: User, services: Services) -> None:
    with running(beat(), command("threads", 4)):
        wait_until(lambda: not served_queues.unserved())
        for _ in range(3):
            channel = make_channel(make_user(), "webhook", address={"url": f"{services.origin}/refuse"})
            make_delivery(channel)
        wait_until(lambda: services.got("/"), within=180)
        assert [sent["title"] for sent in services.got("/")] == ["Webhook refuses everybody"]
        assert services.got() == []


def test_without_workers_the_web_process_tells_and_a_worker_tells_the_end(boss: User, services: Services) -> None:
    with running(beat()), running(web_command("127.0.0.1", free_port())):
        wait_until(services.subjects, within=180)
        time.sleep(3)
        [subject] = services.subjects()
        assert "deliveries" in services.got()[0]["body"]
        with running(command("threads", 4)):
            wait_until(lambda: len(services.subjects()) > 1, within=180)
            wait_until(lambda: Delivery.objects.filter(state="delivered").exists())
            time.sleep(3)
    assert services.subjects() == [subject, f"Over: {subject}"]
    assert Run.objects.get().state["phase"] == "resolved"
