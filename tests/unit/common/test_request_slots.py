"""Requests of one person that wait for others of theirs, in one process."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse

from common.redis import live_wakes, request_limiter, request_slots
from common.redis.client import Call
from common.redis.request_limiter import Limit
from common.redis.request_slots import AT_ONCE, CHANGE, READ, Kind, _wait

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


class Server:
    """A clock, and a Redis that lets everything pass while `is_free`. Keeps what it is asked and who is woken."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.is_free, self.asked, self.woken = 100.0, 1, [], []  # type: float, int, list[str], list[int]
        monkeypatch.setattr(request_slots, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(request_limiter, "calls", SimpleNamespace(ask=self.ask, leave=self.ask))
        monkeypatch.setattr(live_wakes, "wake", self.woken.append)
        monkeypatch.setattr(request_slots, "_wait", lambda request, key, until: until - self.now)

    def ask(self, *calls: Call) -> list[Any]:
        self.asked += [call.verb for call in calls]
        return [(1, 5, "0") if call.verb == "count" else self.is_free for call in calls]

    def enter(self, request: HttpRequest, kind: Kind, who: int | str = 7, counted: Limit | None = None) -> float | None:
        """The seconds after which it asks again; 0 where it is refused, None where it may go on."""
        response: Any = request_slots.enter(request, kind, who, lambda: HttpResponse(status=409), counted)
        if response is None:
            return None
        if hasattr(response, "wait"):
            assert response.status_code == 204
            return float(response.wait())
        assert (response.status_code, response["Retry-After"]) == (409, "1")
        return 0.0


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    return Server(monkeypatch)


def patient() -> HttpRequest:
    request = HttpRequest()
    request.can_wait = True  # type: ignore[attr-defined]
    return request


@pytest.mark.parametrize(("kind", "patience", "pause"), [(CHANGE, 1.0, 1.0), (READ, 10.0, 2.5)])
def test_a_third_request_asks_again_until_its_patience_is_over(
    server: Server, kind: Kind, patience: float, pause: float
) -> None:
    in_work = [patient() for _ in range(AT_ONCE)]
    assert [server.enter(one, kind) for one in in_work] == [None, None]
    assert server.enter(HttpRequest(), kind) == 0.0  # it cannot wait
    third = patient()
    assert server.enter(third, kind) == pause
    server.now += patience - 0.5
    assert server.enter(third, kind) == 0.5
    server.now += 0.5
    assert server.enter(third, kind) == 0.0
    request_slots.leave(in_work.pop())
    assert server.enter(third, kind) is None
    request_slots.leave(third)
    other = patient()
    assert [server.enter(one, kind) for one in (other, third)] == [None, pause]  # it waits anew
    for one in (other, *in_work):
        for _ in range(2):  # it leaves once
            request_slots.leave(one)
    assert not request_slots._in_work


def test_only_changes_are_counted_for_all_processes_and_wake_those_who_wait_there(server: Server) -> None:
    for kind, who, asked, woken in (
        (CHANGE, 7, ["take", "leave"], [7]),
        (CHANGE, "address:192.0.2.7", ["take", "leave"], []),
        (READ, 7, [], []),
    ):
        request = HttpRequest()
        assert server.enter(request, kind, who) is None
        request_slots.leave(request)
        assert (server.asked, server.woken) == (asked, woken)
        server.asked, server.woken[:] = [], []


def test_one_that_waits_for_other_processes_asks_again_soon_and_counts_once(server: Server) -> None:
    server.is_free, request, limit = 0, patient(), Limit("requests", 6)
    assert server.enter(request, CHANGE, counted=limit) == 0.25
    assert (server.asked, request.verdict.remaining) == (["count", "take"], 5)  # type: ignore[attr-defined]
    assert not request_slots._in_work
    server.is_free = 1
    assert server.enter(request, CHANGE, counted=limit) is None
    assert server.asked == ["count", "take", "take"]
    request_slots.leave(request)


def test_of_many_that_wait_in_one_process_the_last_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_slots, "_MOST_WAITING", 1)

    async def run() -> None:
        in_work = [patient() for _ in range(AT_ONCE)]
        first, last = patient(), patient()
        assert [server.enter(one, PATIENT) for one in (*in_work, first, last)] == [None, None, 600.0, 600.0]
        key, until = (PATIENT, 7), server.now + 600.0
        waiting = asyncio.ensure_future(_wait(first, key, until))
        await asyncio.sleep(0)
        await asyncio.wait_for(_wait(last, key, until), 60)
        assert [server.enter(one, PATIENT) for one in (first, last)] == [600.0, 0.0]
        await _wait(patient(), (PATIENT, 8), server.now - 1.0)  # another person's, whose time is over
        for one in in_work:
            request_slots.leave(one)
        await asyncio.wait_for(waiting, 60)
        assert not request_slots._in_work and not request_slots._waiting

    asyncio.run(run())
