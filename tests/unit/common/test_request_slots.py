"""Requests of one person that wait for others of theirs, in one process."""

from __future__ import annotations

import asyncio

from django.http import HttpRequest, HttpResponse

from common.redis import request_slots
from common.redis.request_slots import AT_ONCE, Kind

PATIENT = Kind("read", 600.0, 600.0)
"""Who is not woken asks again after ten minutes."""


def enter() -> tuple[HttpRequest, HttpResponse | None]:
    request = HttpRequest()
    request.can_wait = True  # type: ignore[attr-defined]
    return request, request_slots.enter(request, PATIENT, "somebody", HttpResponse)


def test_two_that_end_at_one_moment_wake_two() -> None:
    async def run() -> None:
        in_work = [enter()[0] for _ in range(AT_ONCE)]
        waiting = [asyncio.ensure_future(response.wait()) for _, response in (enter(), enter(), enter()) if response]
        await asyncio.sleep(0)  # they begin to wait
        for request in in_work:
            request_slots.leave(request)
        done, pending = await asyncio.wait(waiting, timeout=60.0, return_when=asyncio.FIRST_COMPLETED)
        while len(done) < AT_ONCE:
            more, pending = await asyncio.wait(pending, timeout=60.0, return_when=asyncio.FIRST_COMPLETED)
            assert more, "Somebody was not woken."
            done |= more
        assert done == {*waiting[:AT_ONCE]}
        assert [one.exception() for one in done] == [None] * AT_ONCE
        waiting[AT_ONCE].cancel()
        await asyncio.wait(waiting)
        assert not request_slots._waiting

    asyncio.run(run())
