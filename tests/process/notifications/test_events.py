"""Celery's events, as Flower reads them: what happens to a delivery's task is seen."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from celery import current_app

from demo.child import Child, worker_command
from demo.receivers import HTTPReceiver, Reply
from notifications.deliveries import outbox
from tests.make import make_channel, make_delivery, make_user
from tests.process.notifications.test_limits import environment
from work.broker import wakes

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]


class Watcher(threading.Thread):
    """Collects the types of events by the argument of their task, until the test ends."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seen: dict[str, list[str]] = defaultdict(list)
        self.changed = threading.Condition()
        self._shown: dict[str, str] = {}
        self._connection = current_app.connection_for_read()
        self.receiver = current_app.events.Receiver(self._connection, handlers={"*": self.take})
        listens = threading.Event()
        self.receiver.on_consume_ready = lambda *_, **__: listens.set()
        self.start()
        assert listens.wait(60)

    def run(self) -> None:
        with self._connection:
            self.receiver.capture(limit=None, timeout=None, wakeup=False)

    def take(self, event: dict[str, Any]) -> None:
        if not event["type"].startswith("task-"):
            return
        with self.changed:
            self._shown.setdefault(event["uuid"], event.get("args", ""))
            self.seen[self._shown[event["uuid"]]].append(event["type"])
            self.changed.notify()

    def wait_for(self, argument: str, *types: str) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: set(types) <= set(self.of(argument)), 120), self.seen

    def of(self, argument: str) -> list[str]:
        return [kind for shown, kinds in self.seen.items() if argument in shown for kind in kinds]


@pytest.fixture
def watcher() -> Iterator[Watcher]:
    watcher = Watcher()
    yield watcher
    watcher.receiver.should_stop = True
    watcher.join(10)


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_flower_sees_each_task_sent_received_started_and_succeeded_or_retried(
    pool: str, watcher: Watcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(current_app.conf, "task_send_sent_event", True)
    command = [*worker_command("seen", "ERROR"), "--pool", pool, "--concurrency", "2"]
    with HTTPReceiver() as healthy, HTTPReceiver(lambda _: Reply(503, headers={"Retry-After": "600"})) as busy:
        arrives, waits = [
            make_delivery(make_channel(make_user(), "webhook", address={"url": f"{receiver.origin}/hook"}))
            for receiver in (healthy, busy)
        ]
        worker = Child("worker", command, environment=environment(TASK_EVENTS="on"))
        worker.start()
        try:
            wakes.publish(wakes.Wake(outbox.DELIVER, delivery.id) for delivery in (arrives, waits))
            watcher.wait_for(str(arrives.id), "task-sent", "task-received", "task-started", "task-succeeded")
            watcher.wait_for(str(waits.id), "task-sent", "task-received", "task-started", "task-retried")
        finally:
            worker.stop(10.0)
    assert "task-failed" not in watcher.of(str(waits.id))
