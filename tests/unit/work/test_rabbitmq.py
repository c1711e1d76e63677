"""A publisher finds out what RabbitMQ has said meanwhile, and writes nothing while it takes no messages."""

from __future__ import annotations

from collections.abc import Callable
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

    def drain_events(self, timeout: float | None = None) -> None:
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
    assert not transport.verify_connection(connection)
