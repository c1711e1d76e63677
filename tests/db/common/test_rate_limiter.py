"""A window never lets too many pass; who comes too soon gets a place, one behind the other, and nobody stands behind
another person's line. Windows are long enough for no test to see one end, or are waited for."""

from __future__ import annotations

import heapq
import random
import threading
import time
from collections.abc import Iterator
from uuid import uuid4

import pytest
import redis
from limits import RateLimitItemPerSecond
from limits.storage import RedisStorage
from limits.strategies import MovingWindowRateLimiter
from pytest_django import Settings

from common import rate_limiter
from common.rate_limiter import Reservation, Window, take


@pytest.fixture(autouse=True)
def answering() -> Iterator[None]:
    rate_limiter._Outage.until = 0.0
    yield
    rate_limiter._Outage.until = 0.0


def make_window(**overrides: object) -> Window:
    fields: dict[str, object] = {"key": uuid4().hex, "amount": 1, "seconds": 100.0}
    return Window(**fields | overrides)  # type: ignore[arg-type]


def wait(place: Reservation | None) -> float:
    """To ten seconds, so that the time that a test takes is not seen."""
    return 0.0 if place is None else round(place.wait, -1)


def test_as_many_pass_as_the_window_takes_and_the_next_gets_a_place() -> None:
    window = make_window(amount=3)
    assert [take([window], "ada", 0) for _ in range(3)] == [None] * 3
    place = take([window], "ada", 0)
    assert place is not None
    assert (place.window, wait(place)) == (window, 100)


def test_places_lie_one_behind_the_other_and_further_apart_than_need_be() -> None:
    window = make_window(amount=2)
    waits = [wait(take([window], "ada", 0)) for _ in range(6)]
    assert waits == [0, 0, 100, 160, 210, 270]


def test_who_comes_fresh_does_not_overtake_who_waits() -> None:
    window = make_window(seconds=0.2)
    take([window], "ada", 0)
    first = take([window], "ada", 0)
    assert first is not None
    time.sleep(first.wait)
    assert take([window], "ada", 0) is not None  # the window is free, and another one's turn
    assert take([window], "ada", 1) is None


def test_nobody_stands_in_the_line_of_another_person() -> None:
    window = make_window()
    ada = [wait(take([window], "ada", 0)) for _ in range(50)]
    assert ada[-1] > 5_000
    assert wait(take([window], "bob", 0)) == 100


def test_who_came_back_in_vain_waits_less_than_the_line() -> None:
    window = make_window()
    for _ in range(50):
        take([window], "ada", 0)
    assert [wait(take([window], "ada", 1)) for _ in range(3)] == [100, 210, 320]
    assert wait(take([window], "ada", 2)) == 430
    assert wait(take([window], "ada", 7)) == 540


def test_what_one_window_holds_up_takes_nothing_from_the_others() -> None:
    narrow, wide = make_window(), make_window(amount=2)
    assert take([wide, narrow], "ada", 0) is None
    for _ in range(10):
        place = take([wide, narrow], "ada", 0)
        assert place is not None
        assert place.window == narrow
    assert take([wide], "ada", 0) is None  # one of its two is still free, and nobody waits for it
    assert take([wide], "ada", 0) is not None


def test_one_persons_many_at_a_window_for_all_cost_another_ones_few_a_turn_or_two() -> None:
    window = make_window(seconds=0.1)
    start = time.monotonic()
    coming = [(start, 0, "ada") for _ in range(12)] + [(start + lag, 0, "bob") for lag in (0.3, 0.9, 1.5)]
    claims: dict[str, list[int]] = {"ada": [], "bob": []}
    heapq.heapify(coming)
    while coming:
        at, waited, whose = heapq.heappop(coming)
        time.sleep(max(0.0, at - time.monotonic()))
        place = take([window], whose, waited)
        if place is None:
            claims[whose].append(waited + 1)
        else:
            heapq.heappush(coming, (time.monotonic() + place.wait, waited + 1, whose))
    assert max(claims["bob"]) <= 4
    assert sum(claims["ada"]) <= 4 * len(claims["ada"])


def test_whatever_passes_here_the_moving_window_of_limits_lets_pass_too(settings: Settings) -> None:
    window, rate, chance = make_window(amount=7, seconds=1.0), RateLimitItemPerSecond(7), random.Random(1)
    reference = MovingWindowRateLimiter(RedisStorage(settings.REDIS_URL))
    passed, until = 0, time.monotonic() + 1.5
    while time.monotonic() < until:
        if take([window], "ada", chance.choice((0, 1, 2))) is None:
            passed += 1
            assert reference.hit(rate, window.key)
        time.sleep(chance.expovariate(40.0))
    assert 7 < passed <= 14


def test_eight_at_once_take_no_more_than_there_is() -> None:
    window = make_window(amount=5)
    passed: list[bool] = []
    start = threading.Barrier(8)

    def ask() -> None:
        start.wait()
        passed.extend(take([window], "ada", 0) is None for _ in range(20))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(passed), sum(passed)) == (160, 5)


def test_all_that_is_kept_expires_by_itself(settings: Settings) -> None:
    window = make_window(amount=2, seconds=50.0)
    for waited in (0, 0, 0, 0, 1, 1):
        take([window], "ada", waited)
    client = redis.Redis.from_url(settings.REDIS_URL)
    kept = {key: client.pttl(key) for key in client.scan_iter(f"*{window.key}*")}
    client.close()
    assert len(kept) == 2  # the window and this person's lines
    assert all(0 < left <= 250_000 for left in kept.values())


def test_a_redis_that_is_away_holds_nobody_up_and_is_told_once(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    window, here = make_window(), settings.CACHES["default"]["LOCATION"]
    settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": "redis://127.0.0.1:1/0"}}
    assert [take([window], "ada", 0) for _ in range(3)] == [None] * 3
    rate_limiter._Outage.until = 0.001  # the pause is over
    assert take([window], "ada", 0) is None
    assert len(caplog.records) == 1
    assert "rate limits are off" in caplog.text
    rate_limiter._Outage.until = 0.001
    settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": here}}
    assert take([window], "ada", 0) is None
    assert wait(take([window], "ada", 0)) == 100
    assert len(caplog.records) == 1


def test_a_line_to_which_nobody_comes_back_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limiter, "_IDLE", 0.2)
    window = make_window(seconds=0.05)
    for _ in range(50):  # cancelled at once, all but the first
        take([window], "ada", 0)
    place = take([window], "ada", 0)
    assert place is not None
    assert place.wait > 5
    time.sleep(1.2)
    assert take([window], "ada", 0) is None
    again = take([window], "ada", 0)
    assert again is not None
    assert again.wait < 1


def test_a_line_to_which_somebody_comes_back_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limiter, "_IDLE", 0.2)
    window = make_window(seconds=0.05)
    for _ in range(50):
        take([window], "ada", 0)
    for _ in range(7):
        time.sleep(0.17)
        assert take([window], "ada", 1) is None
    place = take([window], "ada", 0)
    assert place is not None
    assert place.wait > 5


def test_who_must_go_out_before_its_place_leaves_it_to_others() -> None:
    window = make_window()
    take([window], "ada", 0)
    assert [wait(take([window], "ada", 0, 150.0)) for _ in range(5)] == [100, 210, 210, 210, 210]
    assert wait(take([window], "ada", 0)) == 210
    assert wait(take([window], "ada", 0)) == 320


def test_losing_the_lines_costs_their_spacing_only(settings: Settings) -> None:
    window = make_window()
    for _ in range(5):
        take([window], "ada", 0)
    client = redis.Redis.from_url(settings.REDIS_URL)
    for key in client.scan_iter(f"*{window.key}:ada"):
        client.delete(key)
    client.close()
    assert wait(take([window], "ada", 0)) == 100
