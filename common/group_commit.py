"""Group commit: requests that threads make at the same moment are executed as one batch.

The first caller is the leader and executes its request at once. Requests that arrive meanwhile wait; then the first of
them leads the next batch, of all that wait by then. There is no timer, so a lone request never waits for others.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

Request = TypeVar("Request")
Result = TypeVar("Result")

_PENDING: Any = object()


class Alone(Exception):
    """The batch did not execute this request; its caller should, without others.

    `uncertain`: the batch broke, and may have been committed before it did.
    """

    def __init__(self, uncertain: bool = False) -> None:
        super().__init__("uncertain" if uncertain else "not executed")
        self.uncertain = uncertain


class _Call(Generic[Request]):
    """A request and its result. `ready` is held until the result is there, or until the caller has to lead."""

    __slots__ = ("leads", "ready", "request", "result")

    def __init__(self, request: Request) -> None:
        self.request, self.result, self.leads = request, _PENDING, False
        self.ready = allocate_lock()
        self.ready.acquire()


class Combiner(Generic[Request, Result]):
    """`execute` gets at most `most` requests, in the order of their calls, and returns a result for each.

    It runs in the thread of one caller, and never in two threads at once. A result that is an exception is raised in
    its caller. If `execute` itself raises, every caller of the batch gets `Alone(uncertain=True)`, with that error as
    its cause.
    """

    _busy: bool

    def __init__(self, execute: Callable[[Sequence[Request]], Sequence[Result | Exception]], most: int = 64) -> None:
        self._execute, self._most = execute, most
        self._reset()
        os.register_at_fork(after_in_child=self._reset)  # the child has none of the threads that wait

    def __call__(self, request: Request) -> Result:
        call = _Call(request)
        with self._lock:
            if self._busy:
                self._waiting.append(call)
            else:
                self._busy = call.leads = True
        if not call.leads:
            self._wait(call)
        if call.result is _PENDING:
            self._lead(call)
        if isinstance(call.result, Exception):
            raise call.result
        return call.result  # type: ignore[no-any-return]

    def _reset(self) -> None:
        self._lock = allocate_lock()
        self._busy = False
        self._waiting: deque[_Call[Request]] = deque()

    def _wait(self, call: _Call[Request]) -> None:
        try:
            call.ready.acquire()
        except BaseException:  # a signal's handler raised in the main thread
            with self._lock:
                if call in self._waiting:
                    self._waiting.remove(call)
            if call.leads:
                self._hand_over()
            raise

    def _lead(self, own: _Call[Request]) -> None:
        batch = [own]
        results: Sequence[Any] = ()
        cause: Exception | None = None
        try:
            with self._lock:
                while self._waiting and len(batch) < self._most:
                    batch.append(self._waiting.popleft())
            results = self._execute([call.request for call in batch])
            if len(results) != len(batch):
                raise ValueError(f"{len(batch)} requests got {len(results)} results")
        except Exception as error:
            cause, results = error, ()
        finally:  # also when SystemExit ends this thread: nobody may be left waiting
            self._hand_over()
            for position, call in enumerate(batch):
                call.result = results[position] if results else _broken(cause)
                call.ready.release()

    def _hand_over(self) -> None:
        with self._lock:
            successor = self._waiting.popleft() if self._waiting else None
            self._busy = successor is not None
            if successor:
                successor.leads = True
        if successor:
            successor.ready.release()


def _broken(cause: Exception | None) -> Alone:
    alone = Alone(uncertain=True)
    alone.__cause__ = cause
    return alone
