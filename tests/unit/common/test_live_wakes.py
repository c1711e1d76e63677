"""Wakes of open pages: each person once, in few messages, and on after a message was lost."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from types import SimpleNamespace

import pytest
from redis.exceptions import RedisError

from common.redis import client, live_wakes


def test_each_person_is_woken_once_also_after_a_message_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    published: SimpleQueue[tuple[str, str]] = SimpleQueue()
    pauses: SimpleQueue[float] = SimpleQueue()
    dead, threads = threading.Thread(), set()  # as in the child of a fork

    def publish(channel: str, ids: str) -> None:
        published.put((channel, ids))
        if ids == "4":
            raise RedisError

    monkeypatch.setattr(live_wakes, "_waiting", set())  # without those of other tests
    monkeypatch.setattr(live_wakes, "_MOST", 2)
    monkeypatch.setattr(live_wakes, "_thread", dead)
    monkeypatch.setattr(live_wakes, "time", SimpleNamespace(sleep=pauses.put))
    monkeypatch.setattr(client, "client", lambda _: SimpleNamespace(publish=publish))
    for ids, messages in (((3, 1, 2), ["1,2", "3"]), ((4,), ["4"]), ((5,), ["5"])):
        live_wakes.wake(*ids)
        assert [published.get(timeout=60) for _ in messages] == [(client.key("live"), one) for one in messages]
        assert pauses.get(timeout=60) == 0.02
        threads.add(live_wakes._thread)
    assert published.empty()
    [thread] = threads
    assert thread is not dead and thread is not None and thread.daemon and thread.is_alive()
