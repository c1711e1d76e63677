"""Bodies that arrive slowly, and many at the same time, fill no disk."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from config.web import body_limit
from config.web.body_limit import BodyLimit

KIB = 1024
SCOPE = {"type": "http", "method": "POST", "headers": [(b"host", b"testserver")]}


async def read_whole(scope: Any, receive: Any, send: Any) -> None:
    """Django's part: read a body, and answer it."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        if not message.get("more_body", False):
            await send({"type": "http.response.start", "status": 200, "headers": []})
            return


async def status_of(limit: BodyLimit, pieces: Iterator[bytes], then: asyncio.Event) -> int:
    """The status that a client gets who sends `pieces`, and the end of its body once `then` is set."""
    answers: list[Any] = []

    async def receive() -> Any:
        if (piece := next(pieces, None)) is not None:
            return {"type": "http.request", "body": piece, "more_body": True}
        await then.wait()
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        answers.append(message)

    await limit(SCOPE, receive, send)
    return int(answers[0]["status"])


def test_a_body_that_does_not_arrive_in_time_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_limit, "_ARRIVES_WITHIN", 0.01)
    assert asyncio.run(status_of(BodyLimit(read_whole), iter([b"x"]), asyncio.Event())) == 408


def test_large_bodies_that_arrive_at_the_same_time_are_bounded_and_small_ones_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(body_limit, "_MOST_AT_ONCE", 300 * KIB)

    async def arrive() -> tuple[list[int], int]:
        limit, then = BodyLimit(read_whole), asyncio.Event()
        held = [asyncio.ensure_future(status_of(limit, iter([b"x" * 100 * KIB]), then)) for _ in range(3)]
        await asyncio.sleep(0)
        at_once = [await status_of(limit, iter([b"x" * 100 * KIB]), then)]
        small = asyncio.ensure_future(status_of(limit, iter([b"x" * 10 * KIB]), then))
        then.set()
        at_once += [await small, *[await one for one in held]]
        return at_once, await status_of(limit, iter([b"x" * 100 * KIB]), then)

    assert asyncio.run(arrive()) == ([503, 200, 200, 200, 200], 200)
