"""How busy a worker's threads are, and how many messages of a queue it has room for."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pytest

from work.broker import load


@pytest.fixture(autouse=True)
def running(monkeypatch: pytest.MonkeyPatch) -> list[SimpleNamespace]:
    """The tasks that this worker has taken."""
    tasks: list[SimpleNamespace] = []
    monkeypatch.setattr(load.state, "reserved_requests", tasks)
    monkeypatch.setattr(load, "_limits", {})
    return tasks


def test_a_task_in_a_slow_call_keeps_no_thread_busy(
    running: list[SimpleNamespace], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.monotonic()
    monkeypatch.setattr(load, "time", SimpleNamespace(monotonic=lambda: now))
    running += [SimpleNamespace(name="deliver")] * 3
    assert load.busy() == 3
    with load.calling(7):
        assert (load.person.get(), load.busy()) == (7, 3)
        now += load.SLOW - 0.01
        assert load.busy() == 3
        now += 0.02
        assert load.busy() == 2
    assert (load.person.get(), load.busy()) == (None, 3)
    with pytest.raises(ValueError), load.calling():
        raise ValueError
    assert load.busy() == 3


def test_each_thread_calls_for_a_person_of_its_own() -> None:
    seen: list[int | None] = []
    with load.calling(7):
        other = threading.Thread(target=lambda: seen.append(load.person.get()))
        other.start()
        other.join()
    assert seen == [None]


def test_a_queue_has_room_for_as_many_of_its_tasks_as_it_has_threads(running: list[SimpleNamespace]) -> None:
    load.limit("events", "handle", 4)
    running += [SimpleNamespace(name="handle")] * 3 + [SimpleNamespace(name="deliver")] * 5
    assert [load.room("events", wanted) for wanted in (1, 2, 16)] == [1, 1, 1]
    assert load.room("deliveries", 16) == 16
    running[:3] = []
    assert [load.room("events", wanted) for wanted in (0, 3, 16)] == [0, 3, 4]
    running[:] = [SimpleNamespace(name="handle")] * 6
    assert load.room("events", 1) == 0


def test_a_queue_has_room_for_few_tasks_that_cost_much_and_for_more_that_cost_little(
    running: list[SimpleNamespace],
) -> None:
    def task(**headers: int) -> SimpleNamespace:
        return SimpleNamespace(name="handle", request_dict=headers)

    load.limit("events", "handle", 12, each=10, most=40)
    assert load.room("events", 16) == 4  # each may cost the most
    running += [task(cost=10)] * 3
    assert load.room("events", 16) == 1
    running += [task(cost=99)]
    assert load.room("events", 16) == 0
    running[:] = [task(), task(cost=1)] * 5
    assert load.room("events", 16) == 2
    running += [task(), task()]
    assert load.room("events", 16) == 0


def test_tasks_that_change_while_they_are_counted_are_counted_again() -> None:
    class Changing:
        rounds = 0

        def __iter__(self):  # type: ignore[no-untyped-def]
            self.rounds += 1
            yield 1
            if self.rounds == 1:
                raise RuntimeError("Set changed size during iteration")

    assert load.copied(Changing()) == [1]
