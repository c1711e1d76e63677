"""Nobody waits for a Redis that does not answer, and operators read why it does not."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
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


def _refuse() -> None:
    raise Refused


@pytest.mark.parametrize("options", [sentinels.options, sentinels.async_options])
def test_only_an_address_with_sentinels_asks_them_for_the_primary(options: Any) -> None:
    assert options("redis://localhost:6379/0") == {}
    kind = options("redis://mymaster/0?sentinels=localhost:1,localhost:2")["connection_class"]
    assert (kind.primary, kind.sentinels) == ("mymaster", [("localhost", "1"), ("localhost", "2")])
