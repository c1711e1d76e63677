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
from typing import Any, NamedTuple

from celery.worker import state

from common.context import holding

# A call that has lasted for so long waits for its receiver, not for the interpreter.
SLOW = 0.1  # seconds


class _Limit(NamedTuple):
    """At most so many `threads` run the `task`, and what they do costs `most` at most; one costs up to `each`."""

    task: str
    threads: int
    each: int
    most: int


# Since when each thread is in its call, oldest first.
_calls: dict[int, float] = {}
# By queue, what this worker has of its task. It leaves further messages to other workers.
_limits: dict[str, _Limit] = {}


# For whom this thread calls: the id of a person, None for nobody.
person: ContextVar[int | None] = ContextVar("person", default=None)


@contextmanager
def calling(person_id: int | None = None) -> Iterator[None]:
    thread = get_ident()
    _calls[thread] = time.monotonic()
    try:
        with holding(person, person_id):
            yield
    finally:
        del _calls[thread]


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


def limit(queue: str, task: str, threads: int, each: int = 1, most: int | None = None) -> None:
    """Limit a task of this queue. `each` is the most that one costs, `most` what all at once may."""
    _limits[queue] = _Limit(task, threads, each, threads if most is None else most)


def room(queue: str, wanted: int) -> int:
    """Return the number of messages of this queue that the worker may take, up to `wanted`.

    What a message costs is not known before, so each may cost the most.
    """
    if queue not in _limits:
        return wanted
    limit = _limits[queue]
    costs: list[int] = []
    if len(state.reserved_requests) + wanted > limit.threads or limit.each > 1:  # else there is room whatever they are
        costs = [_cost(one, limit.each) for one in copied(state.reserved_requests) if one.name == limit.task]
    return max(0, min(wanted, limit.threads - len(costs), (limit.most - sum(costs)) // limit.each))


def _cost(request: Any, most: int) -> int:
    return 1 if most == 1 else min(most, request.request_dict.get("cost", 1))
