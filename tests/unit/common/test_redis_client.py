"""Nobody waits for a Redis that does not answer, and operators read why it does not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from redis import Connection
from redis.asyncio import Connection as AsyncConnection
from redis.exceptions import ConnectionError as Refused, ReadOnlyError, RedisError, ResponseError

from common.redis import client, sentinels

URL = "redis://127.0.0.1:1/0"
DISK = ResponseError("MISCONF Redis is configured to save RDB snapshots")


class Here:
    """A Redis with a clock: it answers 1, or raises `error`; without it the answer is 0."""

    def __init__(self) -> None:
        self.now, self.error, self.questions = 0.5, None, 0  # type: float, RedisError | None, int

    def question(self) -> int:
        self.questions += 1
        if self.error:
            raise self.error
        return 1

    def ask(self) -> int:
        return client.ask(URL, self.question, lambda: 0)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[Here]:
    made = Here()
    monkeypatch.setattr(client, "time", SimpleNamespace(monotonic=lambda: made.now))
    client._ask_again_at.clear()
    yield made
    client._ask_again_at.clear()


def test_one_that_answers_is_asked_each_time(here: Here) -> None:
    assert [here.ask(), here.ask(), here.questions] == [1, 1, 2]


def test_one_that_does_not_answer_is_asked_again_after_five_seconds(here: Here) -> None:
    here.error = Refused()
    assert [here.ask(), here.ask(), here.questions] == [0, 0, 1]
    here.now += 4.9
    assert [here.ask(), here.questions] == [0, 1]
    here.now, here.error = 5.5, None
    assert [here.ask(), here.questions] == [1, 2]


@pytest.mark.parametrize(("error", "words"), [(Refused(), "does not answer"), (DISK, "cannot save to its disk")])
def test_each_outage_is_logged_once(
    here: Here, caplog: pytest.LogCaptureFixture, error: RedisError, words: str
) -> None:
    for outage in (1, 2):
        for _ in range(3):
            here.error = error
            here.ask()
            here.now += 10.0
            assert [words in line for line in caplog.messages] == [True] * outage
        here.error = None
        here.ask()


def test_operators_read_whether_its_disk_is_to_blame() -> None:
    assert "Make room on its disk" in client.problem(DISK)
    assert client.problem(Refused()) == "Redis does not answer. Nothing is lost, but messages are late."


def test_a_redis_that_hangs_costs_a_second_and_one_that_was_demoted_a_connection() -> None:
    connection = client.client(URL).connection_pool.make_connection()
    assert (connection.socket_timeout, connection.socket_connect_timeout) == (1, 1)
    tries: list[int] = []
    with pytest.raises(Refused):
        connection.retry.call_with_retry(lambda: (tries.append(1), _refuse()), lambda _: None)
    assert (len(tries), connection.retry_on_error) == (1, [ReadOnlyError])


def test_one_that_may_take_long_is_connected_to_within_a_second() -> None:
    options = client.async_client(URL, 7.0).connection_pool.connection_kwargs
    assert (options["socket_timeout"], options["socket_connect_timeout"]) == (7.0, 1)
    assert options["retry"].get_retries() == 0


def _refuse() -> None:
    raise Refused


@pytest.mark.parametrize("options", [sentinels.options, sentinels.async_options])
def test_only_an_address_with_sentinels_asks_them_for_the_primary(options: Any) -> None:
    assert options("redis://localhost:6379/0") == {}
    kind = options("redis://mymaster/0?sentinels=localhost:1,localhost:2")["connection_class"]
    assert (kind.primary, kind.sentinels) == ("mymaster", [("localhost", "1"), ("localhost", "2")])


class Sentinels:
    """Two of them, which name `primary`. `closed` counts the connections to them that were closed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, is_async: bool) -> None:
        self.primary, self.closed = ("10.0.0.1", 6379), 0
        self.sentinels = [SimpleNamespace(close=self.close, aclose=self.aclose)] * 2
        self.discover_master = self.discover_async if is_async else self.discover
        for name in ("_sentinel", "_async_sentinel"):
            monkeypatch.setattr(sentinels, name, lambda hosts, **_: self)

    def discover(self, name: str) -> tuple[str, int]:
        assert name == "mymaster"
        return self.primary

    async def discover_async(self, name: str) -> tuple[str, int]:
        return self.discover(name)

    def close(self) -> None:
        self.closed += 1

    async def aclose(self) -> None:
        self.close()


@pytest.mark.parametrize(
    ("base", "options"), [(Connection, sentinels.options), (AsyncConnection, sentinels.async_options)]
)
def test_a_connection_asks_for_the_primary_whenever_it_opens_and_not_while_it_is_open(
    base: Any, options: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_async, opened = base is AsyncConnection, []
    asked = Sentinels(monkeypatch, is_async)

    def connect(self: Any, *given: bool, **named: bool) -> None:
        opened.append((self.host, self.port, given, named))

    async def connect_async(self: Any, *given: bool, **named: bool) -> None:
        connect(self, *given, **named)

    monkeypatch.setattr(base, "connect_check_health", connect_async if is_async else connect)
    made = options("redis://mymaster/0?sentinels=a:1,b:2")["connection_class"](sentinels="a:1,b:2", db=3)
    assert made.db == 3
    for is_connected in (False, True, False):
        monkeypatch.setattr(base, "is_connected", is_connected)
        result = made.connect_check_health(True, retry_socket_connect=False)
        if is_async:
            asyncio.run(result)
        asked.primary = ("10.0.0.2", 6380)
    given = ((True,), {"retry_socket_connect": False})
    assert opened == [("10.0.0.1", 6379, *given)] * 2 + [("10.0.0.2", 6380, *given)]
    assert asked.closed == 4
