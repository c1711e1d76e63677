"""A publisher finds out what RabbitMQ has said meanwhile, and writes nothing while it takes no messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from work.broker import rabbitmq


class Connection(rabbitmq.Connection):
    """Without a server: `news` is what it has sent and nobody has read."""

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
    monkeypatch.setattr(channel, "_basic_publish", sent.append)

    def publish(message: str) -> list[Any]:
        channel.basic_publish(message)
        return sent

    return publish


def test_nothing_is_published_while_it_is_blocked(connection: Connection, published: Any) -> None:
    connection._on_blocked("low on memory")
    with pytest.raises(rabbitmq.Blocked, match="low on memory"):
        published("one")
    assert connection.blocked == "low on memory"


def test_all_news_are_read_before_it_is_refused(connection: Connection, published: Any) -> None:
    connection._on_blocked()
    connection.news = [lambda: connection._on_blocked("low on disk"), connection._on_unblocked]
    assert published("one") == ["one"]
