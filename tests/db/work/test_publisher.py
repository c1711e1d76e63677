"""The publisher's messages are those that Celery itself would have sent."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from celery import Celery, signals

from common.uuid7 import uuid7
from config.celery import app
from notifications import tasks
from notifications.deliveries import outbox
from work.broker import publisher, wakes
from work.broker.wakes import Wake


@pytest.fixture(autouse=True)
def empty_queue() -> None:
    heard()
    heard("bulk")


def heard(name: str = "deliveries") -> list[Any]:
    """The messages that wait for a worker, oldest first; they are taken out."""
    with app.connection_for_read() as broker:
        queue = app.amqp.queues[name](broker.default_channel)
        queue.declare()
        messages = []
        while (message := queue.get(no_ack=True)) is not None:
            messages.append(message)
        return messages


def test_a_message_differs_from_celerys_own_in_its_id_alone() -> None:
    assert tasks.deliver.name == outbox.DELIVER  # registered: Celery takes its time limits from there
    delivery_id = uuid7()
    app.send_task(outbox.DELIVER, args=[str(delivery_id)], ignore_result=True)
    publisher.publish(app, outbox.DELIVER, [(delivery_id, 0.0)])
    theirs, ours = heard()
    assert ours.payload == theirs.payload
    assert ours.headers["id"] == ours.properties["correlation_id"] != theirs.headers["id"]
    ids = {"id": None, "root_id": None}
    assert ours.headers | ids == theirs.headers | ids
    assert (ours.content_type, ours.content_encoding) == (theirs.content_type, theirs.content_encoding)
    own = ("correlation_id", "delivery_tag", "reply_to")  # nobody replies to a task whose result is ignored
    assert {name: value for name, value in ours.properties.items() if name not in own} == {
        name: value for name, value in theirs.properties.items() if name not in own
    }


def test_receivers_of_celerys_signals_see_each_message_and_may_add_headers() -> None:
    seen: list[tuple[str, Any]] = []
    bodies: list[Any] = []

    def before(sender: str, headers: dict[str, Any], body: Any, **_: Any) -> None:
        headers["traceparent"] = f"trace of {body[0][0]}"
        seen.append(("before", headers["id"]))
        bodies.append([*body])

    def after(sender: str, headers: dict[str, Any], **_: Any) -> None:
        seen.append(("after", headers["id"]))

    signals.before_task_publish.connect(before)
    signals.after_task_publish.connect(after)
    try:
        ids = [uuid7(), uuid7()]
        publisher.publish(app, outbox.DELIVER, [(delivery_id, 0.0) for delivery_id in ids], "bulk")
    finally:
        signals.before_task_publish.disconnect(before)
        signals.after_task_publish.disconnect(after)
    messages = heard("bulk")
    assert [message.headers["traceparent"] for message in messages] == [f"trace of {number}" for number in ids]
    assert bodies == [message.payload for message in messages]
    assert seen == [(when, message.headers["id"]) for message in messages for when in ("before", "after")]


def test_an_event_of_celery_names_each_message_where_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, ...]] = []
    dispatcher = SimpleNamespace(
        publish=lambda name, event, *_, **__: seen.append((name, event["uuid"], event["queue"]))
    )
    monkeypatch.setitem(app.conf, "task_send_sent_event", True)
    monkeypatch.setattr(app.events, "Dispatcher", lambda **_: dispatcher)
    publisher.publish(app, outbox.DELIVER, [(uuid7(), 0.0), (uuid7(), 60.0)])
    assert seen == [("task-sent", message.headers["id"], "deliveries") for message in heard()]


def test_every_call_has_its_own_message_in_order_and_with_its_own_time() -> None:
    first, later = uuid7(), uuid7()
    publisher.publish(app, outbox.DELIVER, [(first, 0.0), (later, 60.0)])
    messages = heard()
    assert [UUID(message.payload[0][0]) for message in messages] == [first, later]
    assert len({message.headers["id"] for message in messages}) == 2
    assert messages[0].headers["eta"] is None
    wait = datetime.fromisoformat(messages[1].headers["eta"]) - datetime.now(UTC)
    assert timedelta(seconds=55) < wait <= timedelta(seconds=60)


def test_messages_that_wait_equally_long_are_due_in_their_order() -> None:
    ids = [uuid7() for _ in range(100)]
    publisher.publish(app, outbox.DELIVER, [(key, 5.0) for key in ids])
    times = [datetime.fromisoformat(message.headers["eta"]) for message in heard()]
    assert times == sorted(set(times))
    assert times[-1] - times[0] < timedelta(milliseconds=10)


def test_threads_that_publish_at_one_moment_share_a_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    real, gate, batches = publisher.publish, threading.Event(), []

    def publish(app: Celery, task: str, calls: Any, *more: Any) -> None:
        batches.append(len(calls))
        assert gate.wait(60)
        real(app, task, calls, *more)

    monkeypatch.setattr(publisher, "publish", publish)
    monkeypatch.setattr(wakes, "has_threads", lambda: True)
    ids = [uuid7() for _ in range(10)]
    with ThreadPoolExecutor(10) as pool:
        publishing = [pool.submit(wakes.publish, [Wake(outbox.DELIVER, key)]) for key in ids]
        deadline = time.monotonic() + 60
        while len(wakes._together._waiting) < 9 and time.monotonic() < deadline:
            time.sleep(0.01)
        gate.set()
        assert all(one.result(60) for one in publishing)
    assert batches == [1, 9]
    assert {UUID(message.payload[0][0]) for message in heard()} == set(ids)


def test_a_broker_that_is_away_is_said_at_once() -> None:
    nowhere = Celery("nowhere", broker="redis://127.0.0.1:1/0", set_as_current=False)
    started = datetime.now(UTC)
    with pytest.raises(publisher.Unreachable):
        publisher.publish(nowhere, outbox.DELIVER, [(uuid7(), 0.0)])
    assert datetime.now(UTC) - started < timedelta(seconds=2)
