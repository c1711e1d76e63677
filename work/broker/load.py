"""The load of this worker: how many of its threads run a task and do not wait for a slow receiver.

Threads that compute share one interpreter, so more than a few dozen only make each other slower. Threads that wait for
a receiver cost nothing but memory.
"""

import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import get_ident
from typing import Any

from celery.worker import state

# A call that has lasted for so long waits for its receiver, not for the interpreter.
SLOW = 0.1  # seconds

# Since when each thread is in its call, oldest first.
_calls: dict[int, float] = {}
# The task of a queue, and how many of it this worker has threads for. It leaves further messages to other workers.
_limits: dict[str, tuple[str, int]] = {}


# For whom this thread calls: the id of a person, None for nobody.
person: ContextVar[int | None] = ContextVar("person", default=None)


@contextmanager
def calling(person_id: int | None = None) -> Iterator[None]:
    """This thread calls a receiver."""
    thread, before = get_ident(), person.set(person_id)
    _calls[thread] = time.monotonic()
    try:
        yield
    finally:
        del _calls[thread]
        person.reset(before)


def busy() -> int:
    """The tasks that run or are about to, except for those in a call for longer than `SLOW`."""
    starts = list(_calls.values())  # one operation of the interpreter: threads change it meanwhile
    return len(state.reserved_requests) - bisect_left(starts, time.monotonic() - SLOW)


def copied(requests: Iterable[Any]) -> list[Any]:
    """The requests in one of Celery's sets, which other threads change meanwhile."""
    while True:
        try:
            return list(requests)
        except RuntimeError:
            continue


def limit(queue: str, task: str, threads: int) -> None:
    _limits[queue] = task, threads


def room(queue: str, wanted: int) -> int:
    """Return the number of messages of this queue that the worker may take, up to `wanted`."""
    if queue not in _limits:
        return wanted
    task, threads = _limits[queue]
    running = len(state.reserved_requests)
    if running + wanted > threads:  # else there is room whatever they are
        running = sum(request.name == task for request in copied(state.reserved_requests))
    return max(0, min(wanted, threads - running))
