from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from common.parsing import pool as parsing
from common.parsing.budget import OverBudget
from common.parsing.pool import ParsingEnded, ParsingUnavailable, parsed

from . import parsing_tasks as tasks

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[parsing._Pool]:
    pool = parsing._Pool()
    monkeypatch.setattr(parsing, "_POOL", pool)
    monkeypatch.setattr(parsing, "SECONDS", 0.5)
    yield pool
    pool.close()


def ended(function: Callable[..., Any], *args: Any) -> ParsingEnded:
    with pytest.raises(ParsingEnded) as refusal:
        parsed(function, *args, person=1)
    return refusal.value


def attempt(function: Callable[..., Any], person: int) -> None:
    with suppress(ParsingEnded, ParsingUnavailable):
        parsed(function, person=person)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def await_(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_a_child_is_used_again_and_is_another_process() -> None:
    assert parsed(tasks.double, "ab") == "abab"
    first = parsed(tasks.pid)
    assert first == parsed(tasks.pid) != os.getpid()


def test_a_child_of_a_large_process_is_used_again() -> None:
    hoard = b"x" * (300 * 1024 * 1024)
    first = parsed(tasks.pid)
    assert first == parsed(tasks.pid)
    del hoard


def test_a_child_has_neither_django_nor_the_environments_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "s3cret")
    assert not parsed(tasks.loaded, "django")
    assert "SECRET_KEY" not in parsed(tasks.environment)


@pytest.mark.parametrize("function", [tasks.never_ends, tasks.never_ends_in_c])
def test_what_takes_too_long_is_ended_and_the_limit_named(function: Callable[[], None]) -> None:
    before = parsed(tasks.pid)
    refusal = ended(function)
    assert (refusal.what, refusal.most) == ("seconds", 0.5)
    await_(lambda: not is_alive(before))
    assert parsed(tasks.pid) != before


def test_a_child_that_sleeps_is_ended_too() -> None:
    assert ended(tasks.sleeps, 60.0).what == "seconds"


@pytest.mark.parametrize("function", [tasks.grows, tasks.grows_in_small_steps])
def test_what_needs_too_much_memory_is_ended_and_the_limit_named(
    function: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parsing, "SECONDS", 30)
    refusal = ended(function)
    assert (refusal.what, refusal.most) == ("megabytes", 600)
    assert parsed(tasks.double, "a") == "aa"


def test_an_answer_beyond_its_size_is_refused() -> None:
    assert ended(tasks.answers_much).what == "megabytes"


def test_a_parser_that_breaks_down_is_the_inputs_fault() -> None:
    assert ended(tasks.breaks_down).what == "crash"


def test_a_child_that_somebody_else_ends_says_nothing_of_the_input() -> None:
    with pytest.raises(ParsingUnavailable):
        parsed(tasks.is_killed)


def test_an_idle_child_that_has_died_is_replaced_without_a_word() -> None:
    first = parsed(tasks.pid)
    os.kill(first, signal.SIGKILL)
    await_(lambda: not is_alive(first))
    assert parsed(tasks.pid) != first


def test_refusals_come_back_as_they_are() -> None:
    with pytest.raises(OverBudget) as refusal:
        parsed(tasks.overspends)
    assert (refusal.value.what, refusal.value.most) == ("items", 3)
    assert ended(tasks.recurses).what == "depth"


def test_a_bug_ends_it_and_is_logged_by_its_place_without_what_was_parsed(caplog: pytest.LogCaptureFixture) -> None:
    assert ended(tasks.has_a_bug, "s3cret").what == "crash"
    assert "KeyError at" in caplog.text and "parsing_tasks.py" in caplog.text
    assert "s3cret" not in caplog.text


def test_no_code_comes_back_from_a_child() -> None:
    with pytest.raises(Exception, match="is not a value"):
        parsed(tasks.answers_code)


def test_one_person_occupies_one_child_and_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = [threading.Thread(target=ended, args=[tasks.never_ends]) for _ in range(2)]
    for thread in hostile:
        thread.start()
    calls = 0
    while any(thread.is_alive() for thread in hostile):
        parsed(tasks.double, "a", person=2)
        calls += 1
        time.sleep(0.01)
    assert calls > 20


def test_all_whose_work_takes_long_occupy_one_child_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "SECONDS", 1.5)
    monkeypatch.setattr(parsing, "_LONG", 0.5)
    hostile = [threading.Thread(target=attempt, args=[tasks.never_ends, person]) for person in range(4)]
    for thread in hostile:
        thread.start()
    calls = 0
    while any(thread.is_alive() for thread in hostile):
        with suppress(ParsingUnavailable):  # half a second is long on a busy machine
            parsed(tasks.double, "a", person=f"honest {calls}")
            calls += 1
        time.sleep(0.01)
    assert calls > 20


def test_work_that_is_nobodys_may_take_long_too() -> None:
    parsed(tasks.sleeps, 1.2)
    parsed(tasks.sleeps, 1.2)


def test_whoever_has_waited_longest_is_served_first() -> None:
    order: list[int] = []

    def call(number: int) -> None:
        with slots.one(60.0):
            order.append(number)

    slots = parsing._Slots(1)
    threads = [threading.Thread(target=call, args=[number]) for number in range(5)]
    with slots.one(60.0):
        for number, thread in enumerate(threads, 1):
            thread.start()
            await_(lambda number=number: len(slots._waiting) == number)
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4]


def test_calls_from_many_threads_get_their_own_answers() -> None:
    found: dict[str, str] = {}

    def call(text: str) -> None:
        for _ in range(20):
            found[text] = parsed(tasks.double, text, person=text)

    threads = [threading.Thread(target=call, args=[str(number)]) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {str(number): str(number) * 2 for number in range(20)}


def test_children_end_when_nothing_is_parsed(monkeypatch: pytest.MonkeyPatch, pool: parsing._Pool) -> None:
    monkeypatch.setattr(parsing, "_IDLE", 0.1)
    first = parsed(tasks.pid)
    await_(lambda: not is_alive(first) and not pool._tidies)
    second = parsed(tasks.pid)
    assert second != first
    await_(lambda: not is_alive(second))


_PARENT = """
import sys, threading
from common.parsing import pool as parsing
from tests.unit.common import parsing_tasks as tasks
print(parsing.parsed(tasks.pid), flush=True)
if sys.argv[1] == "working":
    threading.Thread(target=parsing.parsed, args=[tasks.never_ends], daemon=True).start()
sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["idle", "working"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_parent_that_is_killed_leaves_no_child(how: str, number: int) -> None:
    command = [sys.executable, "-c", _PARENT, how]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        os.kill(parent.pid, number)
        parent.wait()
    await_(lambda: not is_alive(child))


def test_a_forked_process_has_children_of_its_own() -> None:
    mine = parsed(tasks.pid)
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, str(parsed(tasks.pid)).encode())
        os._exit(0)
    assert int(os.read(read, 20)) != mine
    assert parsed(tasks.pid) == mine
    os.wait()
