"""Group commit: who executes for whom, and what each caller gets."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from common.database.group_commit import Alone, Combiner


class Gate:
    """An `execute` whose first batch waits until the test has let all others arrive; it answers with ten times each."""

    def __init__(self, answer: Callable[[Sequence[int]], Sequence[Any]] | None = None) -> None:
        self.entered, self.opened = threading.Event(), threading.Event()
        self.batches: list[list[int]] = []
        self._answer = answer or (lambda requests: [10 * request for request in requests])
        self._running = threading.Lock()

    def __call__(self, requests: Sequence[int]) -> Sequence[Any]:
        assert self._running.acquire(blocking=False), "two batches at once"
        try:
            self.batches.append(list(requests))
            self.entered.set()
            assert self.opened.wait(60)
            return self._answer(requests)
        finally:
            self._running.release()


def run(gate: Gate, count: int, most: int = 64) -> list[Future[Any]]:
    """Call with 0, then with 1 to `count` while 0 is being executed, in this order; then let all go on."""
    combiner: Combiner[int, Any] = Combiner(gate, most)
    with ThreadPoolExecutor(count + 1) as threads:
        calls = [threads.submit(combiner, 0)]
        assert gate.entered.wait(60)
        for number in range(1, count + 1):
            calls.append(threads.submit(combiner, number))
            wait_for(lambda waiting=number: len(combiner._waiting) == waiting)  # type: ignore[misc]
        gate.opened.set()
    return calls


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.0005)


def test_a_lone_call_is_executed_by_itself_in_its_own_thread() -> None:
    seen: list[tuple[int, list[int]]] = []

    def execute(requests: Sequence[int]) -> Sequence[int]:
        seen.append((threading.get_ident(), list(requests)))
        return requests

    combiner = Combiner(execute)
    assert [combiner(1), combiner(2)] == [1, 2]
    assert seen == [(threading.get_ident(), [1]), (threading.get_ident(), [2])]


def test_a_caller_may_have_to_lead_before_it_begins_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate()
    combiner: Combiner[int, int] = Combiner(gate)

    class Lock:
        """Lets the first batch end when the second caller is listed and does not wait yet."""

        def __init__(self) -> None:
            self.lock = threading.Lock()

        def __enter__(self) -> None:
            self.lock.acquire()

        def __exit__(self, *error: object) -> None:
            is_listed = bool(combiner._waiting)
            self.lock.release()
            if is_listed and not gate.opened.is_set():
                gate.opened.set()
                first.result(60)

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(combiner, 0)
        assert gate.entered.wait(60)
        monkeypatch.setattr(combiner, "_lock", Lock())
        assert threads.submit(combiner, 1).result(60) == 10
    assert gate.batches == [[0], [1]]


def test_calls_that_arrive_while_one_is_executed_make_the_next_batch() -> None:
    gate = Gate()
    assert [call.result() for call in run(gate, 5)] == [0, 10, 20, 30, 40, 50]
    assert gate.batches == [[0], [1, 2, 3, 4, 5]]


def test_no_batch_is_larger_than_the_limit() -> None:
    gate = Gate()
    assert [call.result() for call in run(gate, 5, most=2)] == [0, 10, 20, 30, 40, 50]
    assert gate.batches == [[0], [1, 2], [3, 4], [5]]


def test_without_a_limit_of_its_own_a_batch_has_64_at_most() -> None:
    gate = Gate()
    combiner: Combiner[int, int] = Combiner(gate)
    with ThreadPoolExecutor(66) as threads:
        calls = [threads.submit(combiner, number) for number in range(66)]
        wait_for(lambda: len(combiner._waiting) == 65)
        gate.opened.set()
    assert sorted(call.result() for call in calls) == list(range(0, 660, 10))
    assert [len(batch) for batch in gate.batches] == [1, 64, 1]


def test_what_was_not_executed_says_whether_that_is_certain() -> None:
    assert (str(Alone()), Alone().uncertain) == ("not executed", False)
    assert (str(Alone(uncertain=True)), Alone(uncertain=True).uncertain) == ("uncertain", True)


def test_an_exception_as_a_result_is_raised_in_its_caller_only() -> None:
    gate = Gate(lambda requests: [Alone() if request == 2 else request for request in requests])
    calls = run(gate, 3)
    error = calls.pop(2).exception()
    assert isinstance(error, Alone)
    assert not error.uncertain
    assert [call.result() for call in calls] == [0, 1, 3]


def broken(requests: Sequence[int]) -> Sequence[int]:
    if len(requests) > 1:
        raise OSError("lost")
    return requests


def too_few(requests: Sequence[int]) -> Sequence[int]:
    return requests[:1]


@pytest.mark.parametrize("execute, cause", [(broken, OSError), (too_few, ValueError)])
def test_each_caller_of_a_batch_that_fails_is_told_to_try_alone(execute: Any, cause: type[Exception]) -> None:
    gate = Gate(execute)
    first, *others = run(gate, 3)
    assert first.result() == 0
    errors = [call.exception() for call in others]
    assert all(isinstance(error, Alone) and error.uncertain for error in errors)
    assert all(isinstance(error.__cause__, cause) for error in errors if error)
    assert len({id(error) for error in errors}) == 3
    assert gate.batches == [[0], [1, 2, 3]]


def test_a_lone_call_that_fails_is_told_too_and_the_next_one_works() -> None:
    answers: list[Any] = [OSError("lost"), [7]]

    def execute(requests: Sequence[int]) -> Sequence[int]:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    combiner = Combiner(execute)
    with pytest.raises(Alone) as told:
        combiner(1)
    assert told.value.uncertain
    assert combiner(1) == 7


def test_a_leader_that_is_ended_leaves_nobody_waiting() -> None:
    def leave(requests: Sequence[int]) -> Sequence[int]:
        if 1 in requests:
            raise SystemExit
        return requests

    first, leader, *others = run(Gate(leave), 5, most=3)
    assert first.result() == 0
    assert isinstance(leader.exception(), SystemExit)
    assert [type(call.exception()) for call in others[:2]] == [Alone, Alone]
    assert [call.result() for call in others[2:]] == [4, 5]


class Interrupted(BaseException):
    pass


@pytest.mark.parametrize("appointed", [False, True])
def test_a_waiting_caller_that_a_signal_interrupts_holds_up_nobody(appointed: bool) -> None:
    gate = Gate()
    combiner: Combiner[int, int] = Combiner(gate)

    def interrupt(*_: Any) -> None:
        if appointed:  # at this very moment
            gate.opened.set()
            first.result(60)
        raise Interrupted

    before = signal.signal(signal.SIGUSR1, interrupt)
    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(combiner, 0)
        assert gate.entered.wait(60)

        def disturb() -> int:
            wait_for(lambda: len(combiner._waiting) == 1)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
            wait_for(lambda: len(combiner._waiting) == 0)
            gate.opened.set()
            return combiner(2)

        last = threads.submit(disturb)
        try:
            with pytest.raises(Interrupted):
                combiner(1)
        finally:
            signal.signal(signal.SIGUSR1, before)
        assert [first.result(60), last.result(60)] == [0, 20]


def test_what_is_left_is_executed_first_and_nobody_waits_for_it() -> None:
    gate = Gate()
    combiner: Combiner[int, int] = Combiner(gate)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(combiner, 0)
        assert gate.entered.wait(60)
        second = threads.submit(combiner, 1)
        wait_for(lambda: len(combiner._waiting) == 1)
        combiner.leave(2)
        gate.opened.set()
        assert [first.result(60), second.result(60)] == [0, 10]
    assert gate.batches == [[0], [2, 1]]


def test_a_leader_executes_what_is_left_where_nobody_waits() -> None:
    gate = Gate()
    combiner: Combiner[int, int] = Combiner(gate)
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(combiner, 0)
        assert gate.entered.wait(60)
        combiner.leave(1)
        gate.opened.set()
        assert first.result(60) == 0
    assert gate.batches == [[0], [1]]
    combiner.leave(2)
    assert gate.batches[2:] == [[2]]


def test_what_is_left_is_executed_alone_where_its_batch_fails() -> None:
    seen: list[list[int]] = []

    def execute(requests: Sequence[int]) -> Sequence[int]:
        seen.append(list(requests))
        if 0 in requests and len(seen) == 1:
            combiner.leave(1)
            combiner.leave(2)
        return broken(requests)

    combiner = Combiner(execute)
    assert combiner(0) == 0
    assert seen == [[0], [1, 2], [1], [2]]


def test_what_is_left_alone_and_fails_is_not_executed_again() -> None:
    seen: list[Sequence[int]] = []

    def execute(requests: Sequence[int]) -> Sequence[int]:
        seen.append(requests)
        raise OSError("lost")

    Combiner(execute).leave(1)
    assert seen == [[1]]


def test_no_batch_is_larger_than_the_limit_where_much_is_left() -> None:
    gate = Gate()
    combiner: Combiner[int, int] = Combiner(gate, 3)
    with ThreadPoolExecutor(2) as threads:
        threads.submit(combiner, 0)
        assert gate.entered.wait(60)
        for number in range(1, 5):
            combiner.leave(number)
        last = threads.submit(combiner, 5)
        wait_for(lambda: len(combiner._waiting) == 1)
        gate.opened.set()
        assert last.result(60) == 50
    assert gate.batches == [[0], [1, 2, 5], [3, 4]]


def test_what_is_left_waits_for_the_next_leader_if_this_one_is_ended() -> None:
    seen: list[list[int]] = []

    def execute(requests: Sequence[int]) -> Sequence[int]:
        seen.append(list(requests))
        if len(seen) == 1:
            combiner.leave(1)
            raise SystemExit
        return requests

    combiner = Combiner(execute)
    with pytest.raises(SystemExit):
        combiner(0)
    assert combiner(2) == 2
    assert seen == [[0], [1, 2]]


def test_a_forked_child_begins_afresh() -> None:
    gate = Gate()
    combiner: Combiner[int, int] = Combiner(gate)
    with ThreadPoolExecutor(2) as threads:
        threads.submit(combiner, 0)
        assert gate.entered.wait(60)
        child = os.fork()
        if child == 0:
            signal.alarm(10)
            try:
                gate._running, gate.opened = threading.Lock(), threading.Event()
                gate.opened.set()
                os._exit(0 if combiner(4) == 40 else 1)
            finally:
                os._exit(2)
        gate.opened.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_many_threads_each_get_their_own_result() -> None:
    sizes: list[int] = []

    def execute(requests: Sequence[int]) -> Sequence[int]:
        sizes.append(len(requests))
        time.sleep(0)  # lets the others arrive
        return [-request for request in requests]

    combiner = Combiner(execute, most=8)
    with ThreadPoolExecutor(32) as threads:
        assert list(threads.map(combiner, range(5000))) == [-number for number in range(5000)]
    assert sum(sizes) == 5000
    assert max(sizes) <= 8
