"""Group commit: requests that threads make at the same moment are executed as one batch.

The first caller is the leader and executes its request at once. Requests that arrive meanwhile wait; then the first of
them leads the next batch, of all that wait by then. There is no timer, so a lone request never waits for others.
"""

import os
from _thread import allocate_lock
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
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
    """A request and its result. `ready` is held until the result is there, or until the caller has to lead.

    `is_left`: its caller does not wait.
    """

    __slots__ = ("is_left", "leads", "ready", "request", "result")

    def __init__(self, request: Request, is_left: bool = False) -> None:
        self.request, self.result, self.leads, self.is_left = request, _PENDING, False, is_left
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
            waits = self._busy  # `call.leads` may be set, and `ready` released, as soon as the lock is
            if waits:
                self._waiting.append(call)
            self._busy = True
        if waits:
            self._wait(call)
        if call.result is _PENDING:
            self._lead(call)
        if isinstance(call.result, Exception):
            raise call.result
        return call.result

    def leave(self, request: Request) -> None:
        """Add a request that is executed in the next batch, first, and return at once. If it fails, nobody is told."""
        call = _Call(request, is_left=True)
        with self._lock:
            if self._busy:
                self._left.append(call)
                return
            self._busy = True
        self._lead(call)

    def _reset(self) -> None:
        self._lock = allocate_lock()
        self._busy = False
        self._waiting: deque[_Call[Request]] = deque()
        self._left: deque[_Call[Request]] = deque()

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
        leading: _Call[Request] | None = own
        while leading:
            with self._lock:
                batch = [*_take(self._left, self._most - 1), leading]
                batch += _take(self._waiting, self._most - len(batch))
            leading = self._execute_batch(batch)

    def _execute_batch(self, batch: list[_Call[Request]]) -> _Call[Request] | None:
        """Return what this thread has to execute next, because nobody waits who could."""
        results: Sequence[Any] = ()
        cause: Exception | None = None
        is_alive = False
        try:
            try:
                results = self._execute([call.request for call in batch])
                if len(results) != len(batch):
                    raise ValueError(f"{len(batch)} requests got {len(results)} results")
            except Exception as error:
                cause, results = error, ()
                for call in batch if len(batch) > 1 else ():
                    if call.is_left:
                        with suppress(Exception):
                            self._execute([call.request])
            is_alive = True
        finally:  # also when SystemExit ends this thread: nobody may be left waiting
            following = self._hand_over(is_alive)
            for position, call in enumerate(batch):
                call.result = results[position] if results else _broken(cause)
                call.ready.release()
        return following

    def _hand_over(self, is_alive: bool = False) -> _Call[Request] | None:
        with self._lock:
            successor = self._waiting.popleft() if self._waiting else None
            following = self._left.pop() if is_alive and self._left and not successor else None
            self._busy = bool(successor or following)
            if successor:
                successor.leads = True
        if successor:
            successor.ready.release()
        return following


def _take(calls: deque[_Call[Request]], most: int) -> list[_Call[Request]]:
    return [calls.popleft() for _ in range(min(len(calls), most))]


def _broken(cause: Exception | None) -> Alone:
    alone = Alone(uncertain=True)
    alone.__cause__ = cause
    return alone
