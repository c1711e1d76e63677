"""A worker of processes and one of threads, each with the database connections that fit it."""

from __future__ import annotations

import re
import shlex
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.db import connection

from demo.child import Child
from demo.receivers import HTTPReceiver, Reply
from notifications.deliveries import outbox
from notifications.models import Delivery
from tests.make import make_channel, make_delivery, make_user
from tests.process.conftest import wait_until
from tests.process.notifications.conftest import environment, run
from work.broker import transport, wakes

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]


def slowly(_: object) -> Reply:
    time.sleep(0.5)
    return Reply(200)


@pytest.fixture
def receiver() -> Iterator[HTTPReceiver]:
    with HTTPReceiver(slowly) as receiver:
        yield receiver


def command(pool: str, concurrency: int) -> list[str]:
    celery = [sys.executable, "-m", "celery", "-A", "config", "worker", "-Q", "deliveries,events,jobs,bulk,maintenance"]
    quiet = ["--loglevel", "ERROR", "--without-mingle", "--without-gossip"]
    return [*celery, "--pool", pool, "--concurrency", str(concurrency), *quiet]


def connections_of_others() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        return int(cursor.fetchone()[0])


@pytest.mark.parametrize(("pool", "concurrency", "most"), [("prefork", 3, 4), ("threads", 40, 16)])
def test_a_worker_holds_no_more_connections_than_fit_its_pool(
    receiver: HTTPReceiver, pool: str, concurrency: int, most: int
) -> None:
    channel = make_channel(make_user(), "webhook", address={"url": f"{receiver.origin}/hook"})
    letters = [make_delivery(channel) for _ in range(2 * concurrency)]
    surroundings = environment(WEBHOOKS_PER_SECOND="1000")
    worker = Child("worker", command(pool, concurrency), environment=surroundings)
    worker.start()
    seen, deadline = 0, time.monotonic() + 120
    try:
        wakes.publish(wakes.Wake(outbox.DELIVER, letter.id) for letter in letters)
        while Delivery.objects.exclude(state="delivered").exists():
            assert time.monotonic() < deadline, list(Delivery.objects.values_list("state", "reason_code"))
            seen = max(seen, connections_of_others())
            time.sleep(0.05)
    finally:
        worker.stop(10.0)
    assert 1 <= seen <= most
    assert set(Delivery.objects.values_list("tries", flat=True)) == {1}


def test_a_worker_as_the_documentation_starts_it_writes_a_line_for_each_try() -> None:
    delivery, lines = make_delivery(make_channel(make_user())), list[str]()
    page = (settings.BASE_DIR / "docs/configuration.md").read_text()
    [documented] = re.findall(r"^(celery -A config --quiet worker .*?)\s+#", page, re.MULTILINE)
    worker = Child(
        "worker",
        [sys.executable, "-m", *shlex.split(documented)],
        environment=environment(LOG_LEVEL=""),
        on_line=lambda line, _: lines.append(line),
    )
    worker.start()
    try:
        wakes.publish([wakes.Wake(outbox.DELIVER, delivery.id)])
        wait_until(lambda: any(str(delivery.id) in line and '"outcome": "delivered"' in line for line in lines))
    finally:
        worker.stop(10.0)


def test_a_worker_with_threads_sends_more_at_once_to_receivers_that_are_slow() -> None:
    at_once, most, lock = 0, 0, threading.Lock()
    full = threading.Event()
    wanted = transport.BUSY + 20

    def when_many(_: object) -> Reply:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
            if at_once >= wanted:
                full.set()
        full.wait(20)
        with lock:
            at_once -= 1
        return Reply(200)

    with HTTPReceiver(when_many) as receiver:
        channel = make_channel(make_user(), "webhook", address={"url": f"{receiver.origin}/hook"})
        letters = [make_delivery(channel) for _ in range(wanted)]
        surroundings = environment(WEBHOOKS_PER_SECOND="1000", SENDS_AT_ONCE="1000")
        worker = Child("worker", command("threads", 512), environment=surroundings)
        worker.start()
        try:
            wakes.publish(wakes.Wake(outbox.DELIVER, letter.id) for letter in letters)
            assert full.wait(120), most
        finally:
            worker.stop(10.0)
    assert most == wanted


@pytest.mark.parametrize(("pool", "shared", "wish"), [("threads", "off", "on"), ("prefork", "on", "off")])
def test_a_worker_whose_connections_do_not_fit_its_pool_says_so_and_ends(pool: str, shared: str, wish: str) -> None:
    ended = run(command(pool, 2), DATABASE_POOL=shared)
    assert ended.returncode == 1
    assert f"DATABASE_POOL={wish}" in ended.stdout
