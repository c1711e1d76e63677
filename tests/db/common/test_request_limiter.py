"""Requests within a moving window, and requests in work, as Redis counts them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
import redis
from pytest_django import Settings

from common.redis import client as redis_client, request_limiter
from common.redis.client import Call
from common.redis.request_limiter import LEAST_COST, MESSAGE, Verdict, calls, check, messages_of


@pytest.fixture
def server(settings: Settings) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(settings.CACHES["default"]["LOCATION"]) as client:
        yield client


@pytest.fixture
def key() -> str:
    return uuid4().hex


def count(key: str, limit: int) -> tuple[int, int, int]:
    """The answer to one more request: allowed, how many more, whole seconds until more may."""
    [(allowed, remaining, reset)] = calls.ask(Call("count", [key], (limit, 100.0)))
    return allowed, remaining, round(float(reset), -1)


def counted(server: redis.Redis, key: str, *ages: float) -> None:
    """Requests of so many seconds ago, newest first."""
    now = time.time()
    server.rpush(key, *[f"{now - age:.6f}" for age in ages])


def test_as_many_pass_as_the_limit_says_and_the_answer_says_how_many_more(server: redis.Redis, key: str) -> None:
    assert [count(key, 3) for _ in range(4)] == [(1, 2, 100), (1, 1, 100), (1, 0, 100), (0, 0, 100)]
    assert server.llen(key) == 3  # what was refused does not count
    assert 90_000 < server.pttl(key) <= 100_000


@pytest.mark.parametrize(("limit", "answer"), [(1, (0, 0, 100)), (2, (0, 0, 50)), (3, (0, 0, 10)), (4, (1, 0, 10))])
def test_more_may_pass_when_enough_have_left_the_window(
    server: redis.Redis, key: str, limit: int, answer: tuple[int, int, int]
) -> None:
    counted(server, key, 0, 50, 90)
    assert count(key, limit) == answer


def test_what_has_left_the_window_is_forgotten(server: redis.Redis, key: str) -> None:
    counted(server, key, 50, 101, 102)
    assert (count(key, 3), server.llen(key)) == ((1, 1, 50), 2)


def test_a_clock_that_is_set_back_holds_nobody_up(server: redis.Redis, key: str) -> None:
    counted(server, key, -3_600, -3_590)  # an hour ago, by the clock of then
    assert count(key, 2) == (1, 1, 100)
    spent = f"{key}:messages"
    server.set(spent, f"{time.time() + 3_630} {time.time() + 3_600}")
    assert [calls.ask(Call("spend", [spent], (10, 60.0, 20)))[0][0] for _ in range(2)] == [1, 0]


def test_so_many_are_in_work_until_one_leaves_or_its_time_is_over(server: redis.Redis, key: str) -> None:
    def take(name: str) -> Any:
        return calls.ask(Call("take", [key], (2, 50.0, name)))[0]

    assert [take("a"), take("b"), take("c")] == [1, 1, 0]
    assert 40_000 < server.pttl(key) <= 50_000
    assert calls.ask(
        Call("leave", [key], ("a",)), Call("leave", [key], ("a",)), Call("take", [key], (2, 50.0, "c"))
    ) == [1, 0, 1]
    request_limiter.calls.leave(Call("leave", [key], ("c",)))
    server.zadd(key, {"killed": time.time() - 1.0})
    assert [take("d"), take("e")] == [1, 0]


def test_a_minute_takes_what_the_setting_says(settings: Settings, key: str) -> None:
    settings.API_REQUESTS_PER_MINUTE = 2
    assert [check(key) for _ in range(3)] == [
        Verdict(True, 2, 1, 60),
        Verdict(True, 2, 0, 60),
        Verdict(False, 2, 0, 60),
    ]
    assert check(uuid4().hex).allowed
    settings.API_REQUESTS_PER_MINUTE = 0
    assert (calls.ask(), check(key)) == ([], Verdict(True, 0, 0, 0))


def test_messages_are_paid_for_by_number_or_size_and_nothing_is_paid_back(
    settings: Settings, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.API_MESSAGES_PER_MINUTE = 100
    monkeypatch.setattr(request_limiter, "WINDOW", 1e7)  # of which nothing passes meanwhile
    limit = messages_of(key)

    def begin() -> Verdict:
        return limit.verdict(*calls.ask(*limit.calls()))

    left = [begin().remaining]
    for messages, size in ((0, 0), (LEAST_COST, 1), (15, 0), (1, 30 * MESSAGE)):
        limit.spend(messages, size)
        left.append(begin().remaining)
    assert left == [90, 80, 70, 55, 25]
    for _ in range(2):  # they have been moved, so they count beyond the limit
        limit.spend(1_000, 0)
    assert (begin().allowed, begin().reset > 1.5e8) == (False, True)


def test_while_redis_is_away_everything_passes(settings: Settings, key: str) -> None:
    settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": "redis://127.0.0.1:1/0"}}
    try:
        assert calls.ask(Call("take", [key], (0, 1.0, "a")), Call("take", [key], (0, 1.0, "b"))) == [None, None]
        assert check(key) == Verdict(True, 60, 60, 0)
    finally:
        redis_client._ask_again_at.clear()


def test_the_headers_say_when_to_come_again() -> None:
    limits = {"RateLimit-Limit": "9", "RateLimit-Remaining": "0", "RateLimit-Reset": "7"}
    assert Verdict(True, 9, 0, 7).headers == limits
    assert Verdict(False, 9, 0, 7).headers == limits | {"Retry-After": "7"}
    assert Verdict(False, 9, 0, 0).headers["Retry-After"] == "1"
    assert Verdict(True, 0, 0, 0).headers == {}
