"""A provider that hangs, leaks or exits, in a worker with threads: it costs this process's leases at most."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from demo.child import Child, worker_command
from demo.receivers import HTTPReceiver, Reply
from notifications.deliveries import outbox
from notifications.models import Channel, Delivery
from tests.make import make_channel, make_delivery, make_user
from tests.process.notifications.test_limits import environment
from work.broker import wakes
from work.engine import rescue

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]


def slowly(_: object) -> Reply:
    time.sleep(0.5)
    return Reply(200)


@pytest.fixture
def channel() -> Iterator[Channel]:
    with HTTPReceiver(slowly) as receiver:
        yield make_channel(make_user(), "webhook", address={"url": f"{receiver.origin}/hook"}, on_unknown="retry")


@pytest.fixture
def start_worker() -> Iterator[Callable[..., Child]]:
    started: list[Child] = []

    def start(*options: str) -> Child:
        command = [*worker_command("watched", "ERROR"), "-I", "tests.process.config.misbehaving", *options]
        worker = Child("watched", command, environment=environment(WEBHOOKS_PER_SECOND="1000"))
        worker.start()
        started.append(worker)
        return worker

    yield start
    for worker in started:
        worker.stop(10.0)


def publish(channel: Channel, *subjects: str) -> list[Delivery]:
    made = [make_delivery(channel, subject=subject) for subject in subjects]
    wakes.publish(wakes.Wake(outbox.DELIVER, delivery.id) for delivery in made)
    return made


def delivered() -> int:
    return Delivery.objects.filter(state="delivered", tries=1).count()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, list(Delivery.objects.values_list("state", "tries"))
        time.sleep(0.05)


def test_a_task_that_hangs_ends_its_process_once_all_others_have_finished(
    channel: Channel, start_worker: Callable[..., Child]
) -> None:
    [hung, *_] = publish(channel, "hang", *["ok"] * 10)
    worker = start_worker("--time-limit", "8")
    wait_for(lambda: delivered() == 10)
    wait_for(lambda: worker.exit_status() == os.EX_TEMPFAIL)
    hung.refresh_from_db()
    assert (hung.state, hung.tries) == ("sending", 1)
    # Its lease expires, as under a killed process.
    Delivery.objects.filter(id=hung.id).update(lease_until=timezone.now() - timedelta(seconds=1))
    rescue.rescue()
    hung.refresh_from_db()
    assert hung.state == "pending"


def test_a_task_that_holds_the_interpreter_ends_its_process(
    channel: Channel, start_worker: Callable[..., Child]
) -> None:
    [hung] = publish(channel, "hang in C")
    worker = start_worker("--time-limit", "2")
    wait_for(lambda: worker.exit_status() == 1)
    hung.refresh_from_db()
    assert (hung.state, hung.tries) == ("sending", 1)


def test_a_worker_over_its_memory_limit_finishes_what_it_has_and_exits(
    channel: Channel, start_worker: Callable[..., Child]
) -> None:
    publish(channel, "leak", *["ok"] * 10)
    worker = start_worker("--max-memory-per-child", "300000")
    wait_for(lambda: worker.exit_status() is not None)
    assert worker.exit_status() == os.EX_TEMPFAIL
    assert not Delivery.objects.filter(state="sending").exists()
    publish(channel, *["ok"] * 3)
    start_worker()
    wait_for(lambda: delivered() == 14)


def test_a_provider_that_exits_costs_its_process_only(channel: Channel, start_worker: Callable[..., Child]) -> None:
    publish(channel, "exit")
    worker, other = start_worker(), start_worker("-n", "other@%h")
    wait_for(lambda: 3 in (worker.exit_status(), other.exit_status()))
    publish(channel, *["ok"] * 10)
    wait_for(lambda: delivered() == 10)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGQUIT])
@pytest.mark.parametrize("pool", [[], ["--pool", "prefork"]], ids=["threads", "prefork"])
def test_a_worker_that_is_asked_to_stop_finishes_its_sends_and_leaves_the_rest_in_the_queue(
    how: signal.Signals, pool: list[str], channel: Channel, start_worker: Callable[..., Child]
) -> None:
    deliveries = publish(channel, *["ok"] * 40)  # five seconds' work
    worker = start_worker("--concurrency", "4", *pool, "--", "worker.soft_shutdown_timeout=2")
    wait_for(lambda: Delivery.objects.filter(state="sending").exists())
    os.kill(worker.pid, how)
    wait_for(lambda: worker.exit_status() is not None)
    assert not Delivery.objects.filter(state="sending").exists()
    finished = delivered()
    assert 1 <= finished < len(deliveries)
    start_worker()  # nothing is published again: the rest is in the queue
    wait_for(lambda: delivered() == len(deliveries))


def test_a_worker_with_threads_is_the_default() -> None:
    from config.processes.commands import threads_of

    celery = [sys.prefix + "/bin/celery", "-A", "config"]
    assert threads_of([*celery, "worker", "-Q", "deliveries"])
    assert threads_of([*celery, "worker", "--pool=threads"])
    for options in (["-P", "prefork"], ["--pool", "prefork"], ["--pool=prefork"], ["-Psolo"]):
        assert not threads_of([*celery, "worker", *options])
    assert not threads_of([*celery, "beat"])
    assert not threads_of(["manage.py", "worker"])
