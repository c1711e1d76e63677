"""A window never lets too many pass; who comes too soon gets a place, one behind the other, and nobody stands behind
another person's line. Windows are long enough for no test to see one end, or are waited for."""

from __future__ import annotations

import heapq
import random
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from uuid import uuid4

import pytest
import redis
from limits import RateLimitItemPerSecond
from limits.storage import RedisStorage
from limits.strategies import MovingWindowRateLimiter
from pytest_django import Settings

from common.redis import client as redis_client, rate_limiter, request_limiter
from common.redis.client import Call
from common.redis.rate_limiter import Ended, Reservation, Slots, Window, end, take
from common.redis.request_limiter import Verdict


@pytest.fixture(autouse=True)
def answering() -> Iterator[None]:
    yield
    redis_client._ask_again_at.clear()


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
    assert (place.limit, wait(place)) == (window, 100)


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
        assert place.limit == narrow
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


def test_whatever_passes_here_the_moving_window_of_limits_lets_pass_too(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, rate, chance = make_window(amount=7, seconds=1.0), RateLimitItemPerSecond(7), random.Random(1)
    reference = MovingWindowRateLimiter(RedisStorage(settings.REDIS_URL))
    passed, until = 0, time.monotonic() + 1.5
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        while passed <= 7 or time.monotonic() < until:
            if take([window], "ada", chance.choice((0, 1, 2))) is None:
                passed += 1
                at = float(client.lindex(rate_limiter._keys(window, "")[0], 0))  # both count it at the same instant
                monkeypatch.setattr("limits.storage.redis.time", SimpleNamespace(time=lambda at=at: at))
                assert reference.hit(rate, window.key)
            time.sleep(chance.expovariate(40.0))


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
    window, here, away = make_window(), settings.CACHES["default"]["LOCATION"], "redis://127.0.0.1:1/0"
    settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": away}}
    assert [take([window], "ada", 0) for _ in range(3)] == [None] * 3
    redis_client._ask_again_at[away] = 0.0  # the pause is over
    assert take([window], "ada", 0) is None
    assert request_limiter.check("token") == Verdict(True, 60, 60, 0)
    assert len(caplog.records) == 1
    assert "limits are off" in caplog.text
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


def make_slots(**overrides: object) -> Slots:
    fields: dict[str, object] = {"key": uuid4().hex, "amount": 1, "seconds": 100.0}
    return Slots(**fields | overrides)  # type: ignore[arg-type]


def finish(slots: Slots, token: str, seconds: float = 0.0, answered: bool | None = True) -> None:
    end([slots], Ended(token, seconds, answered))


def test_as_many_run_at_the_same_time_as_there_are_slots() -> None:
    slots = make_slots(amount=2)
    assert [take([slots], "ada", 0, token=token) for token in "ab"] == [None, None]
    full = take([slots], "bob", 0, token="c")
    assert full is not None
    assert (full.limit, full.resting) == (slots, False)
    finish(slots, "a")
    assert take([slots], "bob", 1, token="c") is None
    assert take([slots], "ada", 1, token="d") is not None


def test_a_slot_that_nobody_frees_is_free_after_its_time() -> None:
    slots = make_slots(seconds=0.2)
    assert take([slots], "ada", 0, token="killed") is None
    deadline = time.monotonic() + 60
    while take([slots], "ada", 0, token="next", patience=10.0) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_reserved_times_for_slots_follow_from_how_long_requests_take() -> None:
    slots = make_slots(amount=2)
    take([slots], "ada", 0, token="a")
    finish(slots, "a", seconds=80.0)
    assert [take([slots], "ada", 0, token=token) for token in "bc"] == [None, None]
    waits = [wait(take([slots], "ada", 0, token=token)) for token in "defg"]
    assert waits == [80, 120, 170, 210]


def test_the_slots_of_a_dead_worker_do_not_spread_the_reserved_times(settings: Settings) -> None:
    slots = make_slots(amount=1, seconds=25.0)
    assert take([slots], "ada", 0, token="first") is None
    finish(slots, "first", 0.02)
    assert take([slots], "ada", 0, token="dead") is None
    key = rate_limiter._keys(slots, "ada")[0]
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.zincrby(key, -20.0, "dead")
    waits = [wait(take([slots], "ada", 0, token=str(number))) for number in range(40)]
    assert waits[-1] - waits[0] < 40 * 0.3


def test_a_short_wait_for_a_slot_reserves_no_time() -> None:
    slots = make_slots()
    take([slots], "ada", 0, token="a")
    finish(slots, "a", seconds=10.0)
    take([slots], "ada", 0, token="b")
    assert [wait(take([slots], "ada", 0, token="c", patience=15.0)) for _ in range(3)] == [10] * 3
    assert [wait(take([slots], "ada", 0, token="c")) for _ in range(3)] == [10, 20, 30]


def test_a_free_slot_is_used_before_a_reserved_time_comes() -> None:
    slots = make_slots()
    take([slots], "ada", 0, token="a")
    for _ in range(5):
        assert take([slots], "ada", 0, token="b") is not None
    finish(slots, "a")
    assert take([slots], "ada", 0, token="c") is None


def test_a_request_that_came_back_in_vain_goes_before_new_ones() -> None:
    slots = make_slots()
    take([slots], "ada", 0, token="a")
    assert take([slots], "ada", 1, token="back") is not None
    finish(slots, "a")
    assert take([slots], "ada", 0, token="new") is not None
    assert take([slots], "ada", 2, token="back") is None


def test_a_slot_is_passed_on_in_the_request_for_the_next_one() -> None:
    slots = make_slots()
    take([slots], "ada", 0, token="a")
    assert take([slots], "ada", 0, token="b", ended=Ended("a", 0.0, True)) is None
    assert take([slots], "ada", 0, token="c") is not None


def test_a_full_window_holds_no_slot_and_full_slots_count_in_no_window() -> None:
    slots, window = make_slots(), make_window(amount=2)
    assert take([window, slots], "ada", 0, token="a") is None
    assert take([window, slots], "ada", 0, token="b") is not None
    finish(slots, "a")
    assert take([window, slots], "ada", 1, token="b") is None
    finish(slots, "b")
    full = take([window, slots], "ada", 0, token="c")
    assert full is not None
    assert full.limit == window
    assert take([slots], "ada", 0, token="d") is None


def time_out(slots: Slots, times: int) -> None:
    for _ in range(times):
        assert take([slots], "ada", 0, token="slow") is None
        finish(slots, "slow", answered=False)


def test_after_five_timeouts_in_a_row_slots_rest_and_the_first_to_come_back_goes_alone() -> None:
    slots = make_slots(amount=8, rests=True)
    time_out(slots, 4)
    assert take([slots], "ada", 0, token="quick") is None
    finish(slots, "quick")
    time_out(slots, 5)
    found = [take([slots], "ada", 0, token="next") for _ in range(2)]
    assert [wait(one) for one in found] == [30, 130]  # the second one after the first may have timed out
    assert all(one.resting for one in found if one)


def test_one_request_after_the_rest_decides_whether_it_goes_on(settings: Settings) -> None:
    slots = make_slots(amount=8, rests=True)
    time_out(slots, 5)
    for further, following in ((1, 60), (1, 120), (3, 900), (9, 900)):
        for _ in range(further):
            end_rest(settings, slots)
            assert take([slots], "ada", 3, token="probe") is None
            waiting = take([slots], "bob", 0, token="other")
            assert waiting is not None
            assert waiting.resting
            finish(slots, "probe", answered=False)
        assert wait(take([slots], uuid4().hex, 0, token="other")) == following
    end_rest(settings, slots)
    assert take([slots], "ada", 3, token="probe") is None
    finish(slots, "probe")
    assert [take([slots], uuid4().hex, 0, token=token) for token in "abcd"] == [None] * 4


def end_rest(settings: Settings, slots: Slots) -> None:
    client = redis.Redis.from_url(settings.REDIS_URL)
    [state] = client.scan_iter(f"*{slots.key}:state")
    client.hset(state, "rests", time.time() - 0.001)
    client.close()


def test_requests_from_before_the_rest_do_not_make_it_longer() -> None:
    slots = make_slots(amount=8, rests=True)
    for token in "abcdefgh":
        assert take([slots], "ada", 0, token=token) is None
    for token in "abcdefgh":
        finish(slots, token, seconds=20.0, answered=False)
    assert wait(take([slots], "ada", 0, token="next")) == 30


def test_what_says_nothing_about_the_receiver_neither_rests_nor_ends_a_row() -> None:
    slots = make_slots(amount=8, rests=True)
    time_out(slots, 4)
    take([slots], "ada", 0, token="fault")
    finish(slots, "fault", answered=None)
    time_out(slots, 1)
    assert wait(take([slots], "ada", 0, token="next")) == 30


def test_who_can_wait_for_a_slot_does_not_stand_behind_those_who_come_back_later() -> None:
    slots = make_slots()
    take([slots], "ada", 0, token="a")
    finish(slots, "a", seconds=10.0)
    take([slots], "ada", 0, token="b")
    for _ in range(9):
        take([slots], "ada", 0, token="later")
    assert wait(take([slots], "ada", 0, token="c", patience=15.0)) == 10


def test_requests_of_one_round_trip_count_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    window, slots, other = make_window(amount=2), make_slots(amount=1), make_window()
    take([slots], "ada", 0, token="first")
    requests: list[tuple[Call, ...]] = []

    def note(*calls: Call) -> list[None]:
        requests.append(calls)
        return [None]

    monkeypatch.setattr(rate_limiter.calls, "ask", note)
    monkeypatch.setattr(rate_limiter.calls, "leave", note)
    take([window, other], "ada", 0)  # passes
    take([window, other], "ada", 0)  # the other window is full, so it counts in neither
    take([window], "eve", 0)  # passes: the second in its window
    take([window], "eve", 0)
    take([slots], "eve", 0, token="second")
    end([slots], Ended("first", 1.0, True))
    take([slots], "eve", 1, token="second")  # the slot is free since the request before it
    full = [bool(answer and answer[0]) for [answer] in rate_limiter.calls.execute(requests)]
    assert full == [False, True, False, True, True, False, False]


@pytest.fixture
def server(settings: Settings) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        yield client


def exact(reservation: Reservation | None) -> float:
    assert reservation is not None
    return reservation.wait


def test_a_rest_lasts_30_seconds_at_first_and_15_minutes_at_most(server: redis.Redis) -> None:
    slots = make_slots(amount=8, rests=True)
    time_out(slots, 5)
    assert exact(take([slots], "ada", 0, token="next")) == pytest.approx(30.0, abs=0.5)
    state = rate_limiter._keys(slots, "")[2]
    server.hset(state, mapping={"timeouts": 20, "rests": time.time() - 0.001})
    time_out(slots, 1)
    assert exact(take([slots], "bob", 0, token="next")) == pytest.approx(900.0, abs=0.5)
    assert 86_390_000 < server.pttl(state) <= 86_400_000


def test_slots_that_are_not_to_rest_never_do() -> None:
    slots = make_slots(amount=8)
    time_out(slots, 9)
    assert take([slots], "ada", 0, token="next") is None


def aged(server: redis.Redis, slots: Slots, token: str, seconds: float) -> None:
    """Have a request run for so long already."""
    server.zincrby(rate_limiter._keys(slots, "")[0], -seconds, token)


def test_the_gaps_of_slots_follow_from_what_runs_longer_than_was_known(server: redis.Redis) -> None:
    slots = make_slots()
    take([slots], "ada", 0, token="first")
    finish(slots, "first", seconds=1.0)
    take([slots], "ada", 0, token="slow")
    aged(server, slots, "slow", 20.0)
    waits = [exact(take([slots], "ada", 0, token=token)) for token in "ab"]
    assert waits[0] == pytest.approx(10.0, abs=0.5)  # half as long again as it has run
    assert waits[1] - waits[0] == pytest.approx(4 * 1.0 * 1.1, abs=0.3)


def test_how_long_requests_take_is_a_moving_mean(server: redis.Redis) -> None:
    slots = make_slots()
    for token, seconds in (("a", 10.0), ("b", 20.0)):
        take([slots], "ada", 0, token=token)
        finish(slots, token, seconds=seconds)
    took = server.hget(rate_limiter._keys(slots, "")[2], "took")
    assert float(took or 0) == pytest.approx(12.0)
    assert 86_390_000 < server.pttl(rate_limiter._keys(slots, "")[2]) <= 86_400_000


def test_without_patience_a_short_wait_reserves_a_time() -> None:
    slots = make_slots()
    take([slots], "ada", 0, token="a")
    waits = [exact(take([slots], "ada", 0, token=token)) for token in "bc"]
    assert waits[0] + 0.05 < waits[1] < 1.0


def test_a_clock_that_is_set_back_holds_nobody_up(server: redis.Redis) -> None:
    window = make_window()
    counter, queue, _ = rate_limiter._keys(window, "ada")
    server.rpush(counter, time.time() + 3_600)  # an hour ago, by the clock of then
    server.hset(queue, mapping={"1": time.time() + 3_700, "seen": time.time() + 3_700})
    assert [wait(take([window], "ada", 0)) for _ in range(2)] == [0, 100]


def test_a_counter_lives_as_long_as_its_window(server: redis.Redis) -> None:
    window, slots = make_window(seconds=50.0), make_slots(seconds=50.0)
    take([window, slots], "ada", 0, token="a")
    assert 49_000 < server.pttl(rate_limiter._keys(window, "")[0]) <= 50_100
    assert 49_000 < server.pttl(rate_limiter._keys(slots, "")[0]) <= 50_000


def test_what_is_only_counted_reserves_nothing(server: redis.Redis) -> None:
    window = make_window()
    assert [rate_limiter.allows(window.key, window.amount, window.seconds) for _ in range(3)] == [True, False, False]
    assert [key.decode() for key in server.scan_iter(f"*{window.key}*")] == [rate_limiter._keys(window, "")[0]]


def test_what_another_threads_request_broke_is_asked_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    real, broken = redis_client.script, []

    def script(*given: str) -> object:
        if not broken:
            broken.append(given)
            raise ValueError
        return real(*given)

    monkeypatch.setattr(redis_client, "script", script)
    window = make_window()
    assert take([window], "ada", 0) is None
    assert wait(take([window], "ada", 0)) == 100
