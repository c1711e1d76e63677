"""A publisher finds out what RabbitMQ has said meanwhile, and writes nothing while it takes no messages."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import kombu
import pytest
from kombu.transport import pyamqp

from work.broker import rabbitmq


class Connection(rabbitmq.Connection):
    """Without a server: `news` is what it has sent and nobody has read."""

    connected = False

    def __init__(self) -> None:
        super().__init__()
        self.news: list[Callable[[], None]] = []
        self.is_collected = False

    def collect(self) -> None:
        self.is_collected = True

    def drain_events(self, timeout: float | None = None) -> None:
        assert timeout == 0
        if not self.news:
            raise TimeoutError
        self.news.pop(0)()


@pytest.fixture
def connection() -> Connection:
    return Connection()


@pytest.fixture
def published(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[Any]]:
    channel, sent = rabbitmq.Channel(connection), list[Any]()
    monkeypatch.setattr(pyamqp.Channel, "basic_publish", lambda _, message: sent.append(message))

    def publish(message: str) -> list[Any]:
        channel.basic_publish(message)
        return sent

    return publish


def block(connection: Connection, reason: str = "") -> None:
    payload = bytes([0, 10, 0, 60, len(reason), *reason.encode()])
    connection.dispatch_method(pyamqp.amqp.spec.Connection.Blocked, payload, None)


def test_nothing_is_published_while_it_is_blocked(connection: Connection, published: Any) -> None:
    block(connection, "low on memory")
    with pytest.raises(rabbitmq.Blocked, match="low on memory"):
        published("one")
    assert connection.blocked == "low on memory"


def test_all_news_are_read_before_it_is_refused(connection: Connection, published: Any) -> None:
    block(connection)
    unblocked = pyamqp.amqp.spec.Connection.Unblocked
    connection.news = [
        lambda: block(connection, "low on disk"),
        lambda: connection.dispatch_method(unblocked, bytes(4), None),
    ]
    assert published("one") == ["one"]


def test_a_connection_is_used_again_until_the_server_has_ended_it(connection: Connection) -> None:
    transport = rabbitmq.Transport(kombu.Connection())
    connection.connected = True
    assert transport.verify_connection(connection)
    connection.news = [lambda: setattr(connection, "connected", False)]
    connection.channels[1] = SimpleNamespace(callbacks={"tag": print})  # its consumer reads the news
    assert transport.verify_connection(connection) and not connection.is_collected
    del connection.channels[1]
    assert not transport.verify_connection(connection) and connection.is_collected


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What py-amqp's channel does."""
    calls: list[Any] = []
    monkeypatch.setattr(pyamqp.Channel, "basic_ack", lambda _, tag: calls.append(tag))
    monkeypatch.setattr(pyamqp.Channel, "close", lambda _: calls.append("closed"))
    return calls


def test_a_message_is_acknowledged_only_over_the_connection_that_brought_it(
    connection: Connection, done: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = rabbitmq.Channel(connection)
    channel.basic_ack(1)
    connection.connected = True
    channel.basic_ack(2)

    def lost(*_: Any) -> None:
        raise OSError

    monkeypatch.setattr(pyamqp.Channel, "basic_ack", lost)
    channel.basic_ack(3)
    channel.connection = None
    channel.basic_ack(4)
    assert done == [2]


def test_a_channel_is_closed_without_an_answer_where_none_would_come(connection: Connection, done: list[Any]) -> None:
    channel = rabbitmq.Channel(connection)
    channel.close()
    block(connection)
    channel.close()
    assert (done, connection.is_collected) == (["closed"], True)
    channel.connection = None
    channel.close()
    assert done == ["closed"] * 2


def test_a_check_raises_what_the_server_says_to_its_message(connection: Connection) -> None:
    published: list[Any] = []
    broker: Any = SimpleNamespace(
        default_channel=rabbitmq.Channel(connection),
        Producer=lambda: SimpleNamespace(publish=lambda body, **options: published.append(options)),
        channel=nullcontext,
    )
    rabbitmq.check(broker)
    assert published == [{"exchange": "", "routing_key": "nowhere"}]
    broker.channel = lambda: block(connection, "low on disk")
    with pytest.raises(rabbitmq.Blocked, match="low on disk"):
        rabbitmq.check(broker)
    assert connection.on_blocked is None
    broker.default_channel = object()  # of another broker
    rabbitmq.check(broker)
    assert len(published) == 2
