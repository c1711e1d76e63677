"""Wake-ups of programs that wait for messages of a queue."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from pytest_django import Settings

from common.uuid7 import uuid7
from notifications.deliveries import pull_signal

pytestmark = pytest.mark.django_db


def test_a_program_that_waits_is_woken_by_what_it_has_not_seen(
    broker: redis.Redis, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    monkeypatch.setattr(pull_signal, "_WITHOUT_REDIS", 600.0)  # else it would also return after an error
    queue = uuid7()
    assert pull_signal.last(queue) == "0-0"
    for _ in range(2):
        with django_capture_on_commit_callbacks(execute=True):
            pull_signal.wake_pullers_after_commit({queue})
    key, seen = pull_signal._key(queue), pull_signal.last(queue)
    assert (seen > "0-0", broker.xlen(key), 0 < broker.ttl(key) <= 60) == (True, 1, True)  # type: ignore[operator]
    asyncio.run(asyncio.wait_for(pull_signal.wait(queue, "0-0", 600.0), 60.0))
    began = time.monotonic()
    asyncio.run(asyncio.wait_for(pull_signal.wait(queue, seen, 0.3), 60.0))
    assert time.monotonic() - began >= 0.3


def test_without_redis_a_program_waits_for_a_second_at_most(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(pull_signal, "asyncio", SimpleNamespace(sleep=sleep))
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    for seconds in (0.5, 5.0):
        asyncio.run(pull_signal.wait(uuid7(), "0-0", seconds))
    assert slept == [0.5, 1.0]
