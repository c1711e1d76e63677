"""Threads wait for a moment for permits of a host, in order, and a send that ends passes its slot on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from uuid import UUID, uuid4

import pytest

from common.redis.rate_limiter import Ended
from notifications.deliveries import permits

LONG = 30.0


@pytest.fixture(autouse=True)
def afresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(permits, "lend_connection", lambda: None)
    permits._hosts.clear()
    yield
    permits._hosts.clear()


def ended(token: UUID) -> Ended:
    return Ended(str(token), 0.001, True)


class Waiting(threading.Thread):
    """A thread that asks for a permit of the host "a"."""

    def __init__(self, timeout: float = LONG) -> None:
        super().__init__(daemon=True)
        self.token, self.timeout = uuid4(), timeout
        self.got: tuple[bool, Ended | None] | None = None
        before = len(permits._hosts["a"].waiting)
        self.start()
        while len(permits._hosts["a"].waiting) == before and self.is_alive():
            time.sleep(0.001)

    def run(self) -> None:
        self.got = permits.acquire("a", 1, self.token, self.timeout)


def test_as_many_get_a_permit_as_the_host_gets_sends() -> None:
    assert [permits.acquire("a", 2, uuid4(), 0.0) for _ in range(3)] == [(True, None)] * 2 + [(False, None)]
    assert permits.acquire("b", 2, uuid4(), 0.0) == (True, None)


def test_the_slot_of_a_send_that_ends_goes_to_the_one_that_waits_longest() -> None:
    first = uuid4()
    permits.acquire("a", 1, first, LONG)
    one, two = Waiting(), Waiting()
    assert permits.release("a", first, ended(first))
    one.join(LONG)
    assert (one.got, two.got) == ((True, ended(first)), None)
    assert permits.release("a", one.token, None)
    two.join(LONG)
    assert two.got == (True, None)
    assert not permits.release("a", two.token, ended(two.token))
    assert permits._hosts == {}


def test_one_that_waited_in_vain_leaves_the_line() -> None:
    first = uuid4()
    permits.acquire("a", 1, first, LONG)
    late = Waiting(timeout=0.05)
    late.join(LONG)
    assert late.got == (False, None)
    assert not permits.release("a", first, ended(first))


def test_nobody_waits_for_a_host_that_is_slower_than_the_wait() -> None:
    first, began = uuid4(), time.monotonic()
    permits.acquire("a", 1, first, LONG)
    permits._hosts["a"].holders[first] -= 2 * LONG
    assert permits.acquire("a", 1, uuid4(), LONG) == (False, None)
    assert time.monotonic() - began < LONG


@pytest.mark.parametrize(
    ("ahead", "ages", "waits"),
    [(0, (9.0, 0.0), True), (1, (9.0, 0.0), True), (2, (9.0, 0.0), False), (0, (9.0, 9.0), False)],
)
def test_who_would_get_a_permit_in_time_waits_by_the_length_of_most_sends(
    ahead: int, ages: tuple[float, float], waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent: list[bool] = []
    monkeypatch.setattr(permits, "lend_connection", lambda: lent.append(True))
    monkeypatch.setattr(permits, "time", SimpleNamespace(monotonic=lambda: 100.0))
    host = permits._hosts["a"] = permits._Host({uuid4(): 100.0 - age for age in ages}, permit_seconds=0.03125)
    host.waiting.extend(permits._Waiting(uuid4()) for _ in range(ahead))
    assert permits.acquire("a", 2, uuid4(), 0.03125) == (False, None)
    assert (bool(lent), len(host.waiting)) == (waits, ahead)


def test_how_long_sends_take_follows_the_latest_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(permits, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    permits.acquire("a", 2, uuid4(), 0.0)
    for held in (10.0, 5.0):
        token = uuid4()
        permits.acquire("a", 2, token, 0.0)
        clock[0] += held
        permits.release("a", token, None)
    assert permits._hosts["a"].permit_seconds == pytest.approx(0.8 * 2.0 + 0.2 * 5.0)


def test_a_permit_that_nobody_holds_passes_nothing_on() -> None:
    assert not permits.release("a", uuid4(), None)
