"""Our transport, through kombu and a real Redis, with the settings of production."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from celery import current_app
from kombu import Connection, Consumer, Queue
from kombu.transport import redis as kombu_redis

from work.broker import load, transport

LEFT, RIGHT = Queue("left"), Queue("right")


class Taker:
    """A consumer of both queues that keeps what it gets."""

    def __init__(self, prefetch: int) -> None:
        self.connection: Connection = current_app.connection_for_read()
        self.taken: list[Any] = []
        channel = self.connection.default_channel
        self.consumer = Consumer(channel, [LEFT, RIGHT], on_message=self.taken.append, prefetch_count=prefetch)
        self.consumer.consume()

    def fetch(self) -> list[str]:
        """The messages that one answer of Redis brings."""
        before = len(self.taken)
        self.connection.drain_events(timeout=5)
        return [message.payload for message in self.taken[before:]]


@pytest.fixture
def make_taker(broker: redis.Redis) -> Iterator[Any]:
    takers: list[Taker] = []

    def make(prefetch: int) -> Taker:
        takers.append(Taker(prefetch))
        return takers[-1]

    yield make
    for taker in takers:
        taker.connection.close()


def publish(queue: Queue, count: int) -> list[str]:
    texts = [f"{queue.name} {number}" for number in range(count)]
    with current_app.connection_for_write() as connection:
        producer = connection.Producer()
        for text in texts:
            producer.publish(text, routing_key=queue.name, exchange="")
    return texts


def waiting(broker: redis.Redis, queue: Queue) -> int:
    return int(broker.llen(f"carillon:{queue.name}"))


def test_one_fetch_brings_several_messages_in_their_order(make_taker: Any) -> None:
    texts = publish(LEFT, transport.MOST + 5)
    taker = make_taker(100)
    assert taker.fetch() == texts[: transport.MOST + 1]
    assert taker.fetch() == texts[transport.MOST + 1 :]


@pytest.mark.parametrize("prefetch", [1, 2, 7])
def test_a_worker_never_takes_more_than_it_may_hold(prefetch: int, broker: redis.Redis, make_taker: Any) -> None:
    texts = publish(LEFT, 10)
    taker = make_taker(prefetch)
    assert taker.fetch() == texts[:prefetch]
    taker.taken[0].ack()
    assert taker.fetch() == [texts[prefetch]]
    assert waiting(broker, LEFT) == 10 - prefetch - 1


def test_queues_take_turns(make_taker: Any) -> None:
    publish(LEFT, 40)
    publish(RIGHT, 40)
    taker = make_taker(100)
    turns = [{text.split()[0] for text in taker.fetch()} for _ in range(4)]
    assert all(len(turn) == 1 for turn in turns)
    assert turns[0] == turns[2] != turns[1] == turns[3]


def test_redis_keeps_nothing_of_what_a_worker_holds(broker: redis.Redis, make_taker: Any) -> None:
    publish(LEFT, 3)
    taker = make_taker(3)
    taker.fetch()
    assert [key for key in broker.scan_iter() if b"_kombu" not in key and b"test-stock" not in key] == []


def test_a_queue_for_which_there_is_no_room_is_asked_for_again_soon(
    make_taker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel, timeouts = make_taker(100).connection.default_channel, []
    monkeypatch.setattr(kombu_redis.Channel, "_brpop_start", lambda _, timeout=None: timeouts.append(timeout))
    channel._brpop_start()
    monkeypatch.setattr(load, "_limits", {"left": load._Limit("work", 0, 1, 0)})
    channel._brpop_start()
    assert timeouts == [None, transport._EVERY]  # None: the second that kombu waits


def test_a_queue_with_room_again_is_taken_from_before_redis_answers(
    make_taker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, taker = publish(LEFT, 3), make_taker(100)
    channel = taker.connection.default_channel
    monkeypatch.setattr(load, "_limits", {"left": load._Limit("left", 0, 1, 0)})
    with pytest.raises(TimeoutError):
        taker.connection.drain_events(timeout=0.01)
    assert (channel._left_out, channel._take_left_out(), taker.taken) == (["left"], True, [])
    monkeypatch.setattr(load, "_limits", {})
    assert channel._take_left_out()
    assert [message.payload for message in taker.taken] == texts
    assert not channel._take_left_out()  # it is empty
    publish(LEFT, 1)
    channel.qos.prefetch_count = 3  # as many as it holds
    assert not channel._take_left_out()


class Loop:
    """An event loop without a clock: the calls that are to come, and their waits."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.waits: list[float] = []

    def call_later(self, wait: float, call: Any) -> None:
        self.waits.append(wait)
        self.calls.append(call)

    def run(self) -> list[float]:
        """Run what is to come. Returns the waits of what follows."""
        calls, self.calls, self.waits = self.calls, [], []
        for call in calls:
            call()
        return self.waits


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    made = Loop()
    monkeypatch.setattr(transport, "get_event_loop", lambda: made)
    return made


def test_one_timer_asks_often_for_a_queue_that_was_left_out_and_oftener_once_it_has_messages(
    make_taker: Any, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    taker = make_taker(100)
    channel = taker.connection.default_channel
    monkeypatch.setattr(kombu_redis.Channel, "_brpop_start", lambda *_: None)
    monkeypatch.setattr(load, "_limits", {"left": load._Limit("work", 0, 1, 0)})
    for _ in range(2):
        channel._brpop_start()
    assert (loop.waits, loop.run()) == ([transport._SOON], [transport._SOON])
    monkeypatch.setattr(load, "_limits", {})
    assert loop.run() == [transport._EVERY]  # it is empty
    texts = publish(LEFT, 1)
    assert loop.run() == [transport._SOON]
    assert [message.payload for message in taker.taken] == texts
    channel._brpop_start()
    assert loop.run() == []  # no queue is left out any more


def test_a_timer_asks_a_busy_worker_until_it_has_room(make_taker: Any, loop: Loop) -> None:
    texts, taker = publish(LEFT, 2), make_taker(1)
    assert taker.fetch() == texts[:1]
    assert loop.waits == loop.run() == [transport._EVERY]
    taker.taken[0].ack()
    assert loop.run() == []
    assert taker.fetch() == texts[1:]
    taker.connection.close()
    assert loop.run() == []


@pytest.mark.parametrize("cancelled", [True, False])
def test_a_message_that_arrives_while_a_worker_stops_goes_back(
    cancelled: bool, broker: redis.Redis, make_taker: Any
) -> None:
    taker = make_taker(100)
    with pytest.raises(TimeoutError):
        taker.connection.drain_events(timeout=0.05)  # Redis now owes an answer
    if cancelled:
        taker.consumer.cancel()
    publish(LEFT, 3)
    taker.connection.close()
    assert waiting(broker, LEFT) == 3
    assert len(taker.taken) == (0 if cancelled else 1)


def test_a_worker_that_stops_puts_back_what_it_has_not_finished(broker: redis.Redis, make_taker: Any) -> None:
    texts = publish(LEFT, 5)
    taker = make_taker(4)
    taker.fetch()
    finished, refused, rejected, _ = taker.taken
    finished.ack()
    refused.reject(requeue=True)
    rejected.reject(requeue=False)
    assert waiting(broker, LEFT) == 2
    taker.connection.close()
    assert waiting(broker, LEFT) == 3
    again = make_taker(10)
    assert sorted(again.fetch()) == sorted([texts[1], texts[3], texts[4]])


def test_a_message_that_is_given_back_says_so_and_is_the_next(make_taker: Any) -> None:
    texts = publish(LEFT, 3)
    taker = make_taker(1)
    assert taker.fetch() == texts[:1]
    assert not taker.taken[0].delivery_info.get("redelivered")
    taker.taken[0].reject(requeue=True)
    assert taker.fetch() == texts[:1]
    assert taker.taken[1].delivery_info["redelivered"] and taker.taken[1].headers["redelivered"]
    taker.taken[1].ack()
    assert taker.fetch() == [texts[1]]
    assert not taker.taken[2].delivery_info.get("redelivered")


def test_what_a_worker_puts_back_comes_first_and_in_its_order(make_taker: Any) -> None:
    texts = publish(LEFT, 6)
    taker = make_taker(3)
    assert taker.fetch() == texts[:3]
    taker.connection.close()
    again = make_taker(10)
    assert again.fetch() == texts
    assert [bool(message.delivery_info.get("redelivered")) for message in again.taken] == [True] * 3 + [False] * 3


def test_any_answer_of_redis_that_is_an_error_is_an_outage() -> None:
    """Celery takes up a worker again after these; others end it."""
    with current_app.connection_for_read() as connection:
        for error in (redis.exceptions.ReadOnlyError, redis.exceptions.MasterDownError, redis.ResponseError):
            assert issubclass(error, connection.recoverable_connection_errors)


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The tasks that run, in a worker that takes no more of them than four that are busy."""
    monkeypatch.setattr(transport.QoS, "most_busy", 4)
    running: list[Any] = []
    monkeypatch.setattr(load.state, "reserved_requests", running)
    yield running


def test_a_busy_worker_takes_no_more_than_keep_it_busy(tasks: list[Any], make_taker: Any) -> None:
    texts = publish(LEFT, 10)
    taker = make_taker(100)
    assert taker.fetch() == texts[:5]  # nothing runs yet: the one that was waited for, and as many as may be busy
    tasks.extend(taker.taken)
    qos = taker.connection.default_channel.qos
    assert (qos.can_consume(), qos.can_consume_max_estimate()) == (False, 0)
    del tasks[2:]
    assert (qos.can_consume(), qos.can_consume_max_estimate()) == (True, 2)


def test_a_call_counts_as_busy_until_it_is_slow(tasks: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    tasks.extend(range(3))
    now = time.monotonic()
    with load.calling():
        monkeypatch.setattr(time, "monotonic", lambda: now + load.SLOW / 2)
        assert load.busy() == 3
        monkeypatch.setattr(time, "monotonic", lambda: now + 2 * load.SLOW)
        assert load.busy() == 2
    assert load.busy() == 3


def test_a_task_that_ends_while_the_tasks_of_a_queue_are_counted_ends_no_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Changing(list[Any]):
        changes = 3

        def __iter__(self) -> Iterator[Any]:
            for one in super().__iter__():
                yield one
                if self.changes:
                    self.changes -= 1
                    raise RuntimeError("Set changed size during iteration")

    held = Changing(SimpleNamespace(name="left") for _ in range(2))
    monkeypatch.setattr(load.state, "reserved_requests", held)
    monkeypatch.setattr(load, "_limits", {"left": load._Limit("left", 3, 1, 3)})
    assert load.room("left", 16) == 1
    assert not held.changes


def test_a_worker_without_room_for_a_queue_leaves_it_to_others_and_takes_from_the_rest(
    broker: redis.Redis, make_taker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, right = publish(LEFT, 5), publish(RIGHT, 3)
    taker = make_taker(prefetch=100)

    def texts() -> list[str]:
        return [message.payload for message in taker.taken]

    class Held:
        def __len__(self) -> int:
            return len(taker.taken)

        def __iter__(self) -> Iterator[Any]:
            return iter(SimpleNamespace(name=text.split()[0]) for text in texts())

    monkeypatch.setattr(load.state, "reserved_requests", Held())
    monkeypatch.setattr(load, "_limits", {"left": load._Limit("left", 2, 1, 2)})
    while len(taker.taken) < 5:
        taker.fetch()
    assert sorted(texts()) == sorted([*left[:2], *right])
    assert waiting(broker, LEFT) == 3
    monkeypatch.setattr(load, "_limits", {"left": load._Limit("left", 5, 1, 5)})
    while len(taker.taken) < 8:
        taker.fetch()
    assert waiting(broker, LEFT) == 0
