"""The limits of a worker with threads, without its clock and its end."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from work.broker import watchdog
from work.broker.watchdog import Watchdog


class Ended(Exception):
    """Instead of the end of the process."""


@pytest.fixture(autouse=True)
def steps(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What a watchdog does, in order: its pauses, the limits of the interpreter, and the status of its end."""
    done: list[object] = []

    def end(status: int) -> None:
        done.append(("exit", status, watchdog.state.should_stop))
        raise Ended

    monkeypatch.setattr(Watchdog, "start", lambda self: done.append(("start", self.daemon)))
    # Only its own modules: threads of other tests sleep, too.
    monkeypatch.setattr(watchdog, "time", SimpleNamespace(sleep=done.append, time=time.time))
    monkeypatch.setattr(watchdog, "os", SimpleNamespace(_exit=end, EX_TEMPFAIL=os.EX_TEMPFAIL))
    monkeypatch.setattr(
        watchdog.faulthandler, "dump_traceback_later", lambda *given, **named: done.append((*given, named))
    )
    monkeypatch.setattr(watchdog.state, "should_stop", None)
    return done


def running(monkeypatch: pytest.MonkeyPatch, *rounds: dict[str, float]) -> None:
    given: Any = iter(rounds)
    monkeypatch.setattr(watchdog, "_running", lambda: [*next(given).items()])


def test_one_past_its_time_ends_the_worker_once_the_others_have_ended(
    monkeypatch: pytest.MonkeyPatch, steps: list[object]
) -> None:
    running(monkeypatch, {"a": 60.0}, {"a": 62.0, "b": 1.0}, {"a": 62.0, "b": 1.0}, {"a": 64.0})
    with pytest.raises(Ended):
        Watchdog(60.0, None).run()
    assert steps == [("start", True), (120.0, {"exit": True}), 2.0, 2.0, 3.0, ("exit", os.EX_TEMPFAIL, os.EX_TEMPFAIL)]


def test_too_much_memory_ends_it_once_all_have_ended(monkeypatch: pytest.MonkeyPatch, steps: list[object]) -> None:
    used = iter([1_000, 1_001])
    monkeypatch.setattr(watchdog, "_memory", lambda: next(used))
    running(monkeypatch, {"a": 1e9}, {"a": 1e9}, {"a": 1e9}, {})
    with pytest.raises(Ended):
        Watchdog(None, 1_000).run()
    assert not [*used]  # the limit itself is not too much
    assert steps == [("start", True), 2.0, 2.0, 3.0, ("exit", os.EX_TEMPFAIL, os.EX_TEMPFAIL)]


def test_it_reads_what_runs_and_what_the_process_has(monkeypatch: pytest.MonkeyPatch) -> None:
    began = SimpleNamespace(id="a", time_start=time.time() - 600.0)
    monkeypatch.setattr(watchdog.state, "active_requests", {began.id: began}.values())
    assert watchdog._running() == [("a", pytest.approx(600.0, abs=60.0))]
    if (status := Path("/proc/self/status")).exists():
        [resident] = re.findall(r"VmRSS:\s+(\d+)", status.read_text())
        assert watchdog._memory() == pytest.approx(int(resident), rel=0.1)
        monkeypatch.setattr(watchdog, "open", lambda _: os.open("/nowhere", os.O_RDONLY), raising=False)  # no Linux
        assert watchdog._memory() >= 0.9 * int(resident)
