"""Parse what strangers wrote in child processes, each with a memory limit and a deadline, where nobody else waits.

`parsed(function, *args)` is all there is to call. A child knows neither Django nor the environment's secrets; the
function and what it imports must not need them. "A reminder that checks first" in docs/architecture.md says how
children are shared and limited. One whose parent dies ends at once, also in the middle of its work. What comes back is
unpickled with an allowlist: the values of Python and the data classes of our own modules.
"""

import atexit
import logging
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple
from weakref import WeakValueDictionary

from common.parsing.budget import OverBudget

log = logging.getLogger(__name__)

SECONDS = 5
"""CPU time of one call."""
MEGABYTES = 600
"""Address space of a child, with all its libraries."""
_QUICK = 2  # children
_IDLE = 60.0
_LONG = 1.0  # seconds of one call
_LATELY = 300.0
# A starved machine must not cost an honest page its turn, but a child that sleeps must end, too.
WALL = 4  # times the CPU time
_START = 10.0
_PATIENCE = 20.0  # a lease of 90 s holds these, and the fetching before
_ROOT = Path(__file__).resolve().parents[2]
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONPATH")
_OUR_OWN = ("common", "jobs", "schedules", "events", "api")
OUT_OF_MEMORY = 3
_TIMERS = (-signal.SIGPROF, -signal.SIGALRM)
_CRASHES = (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS, -signal.SIGILL, -signal.SIGFPE)

T = TypeVar("T")
Args = TypeVarTuple("Args")


class ParsingEnded(OverBudget):
    """Its child was ended: it needed more than `most` of `what` ("seconds", "megabytes" or "depth"), or "crash".

    A bug of what parses is a crash too: the same input would fail again.
    """


class ParsingUnavailable(Exception):
    """No child was free in time, or somebody else ended it: this says nothing of what was to be parsed."""


def parsed(function: Callable[[*Args], T], *args: *Args, person: Hashable = None) -> T:
    """Call a function of a module in a child. Raises its Refusal, ParsingEnded or ParsingUnavailable.

    `person`: whose work it is; None for work that is nobody's.
    """
    request = pickle.dumps((function.__module__, function.__qualname__, args, SECONDS))
    with _POOL.child(person) as (child, becomes_long):
        kind, answer = child.ask(request, becomes_long)
    if kind == "value":
        return answer
    if kind == "fault":  # the exception's type and place alone: its text may hold what was parsed
        log.error("%s.%s failed: %s", function.__module__, function.__qualname__, answer)
        raise ParsingEnded("crash", 0)
    raise answer


class _Child:
    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._lifeline, their_end = socket.socketpair()
        with theirs, their_end:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "common.parsing.child"],
                stdin=theirs.fileno(),
                stdout=their_end.fileno(),
                stderr=subprocess.DEVNULL,
                cwd=_ROOT,
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
            )
        self._socket.settimeout(_START + WALL * SECONDS)
        self._answers = self._socket.makefile("rb")
        self._answered = select.poll()
        self._answered.register(self._socket, select.POLLIN)
        self.idle_since = 0.0
        self.goes_on = False

    @property
    def lives(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: bytes, becomes_long: Callable[[], None]) -> tuple[str, Any]:
        """Call `becomes_long` after a second; if that raises, the child is ended."""
        self.goes_on = False
        try:
            self._socket.sendall(request)
            if not self._socket.recv(1):  # it has started, and imported the function
                raise EOFError
            if not self._answered.poll(_LONG * 1000):
                becomes_long()
            kind, answer, self.goes_on = _Answers(self._answers).load()
        except (OSError, EOFError):
            return "ended", self._why_it_ended()
        return kind, answer

    def _why_it_ended(self) -> Exception:
        if (code := self.end()) in _TIMERS:
            return ParsingEnded("seconds", SECONDS)
        if code == OUT_OF_MEMORY:
            return ParsingEnded("megabytes", MEGABYTES)
        return ParsingEnded("crash", 0) if code in _CRASHES else ParsingUnavailable(f"its child ended with {code}")

    def end(self) -> int:
        """Close its sockets, at which it ends. Returns its exit status."""
        for one in (self._answers, self._socket, self._lifeline):
            one.close()
        try:
            return self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


class _Answers(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        value = super().find_class(module, name)
        ours = module.partition(".")[0] in _OUR_OWN or module in ("datetime", "decimal", "zoneinfo")
        if not ours or not isinstance(value, type):
            raise pickle.UnpicklingError(f"{module}.{name} is not a value")
        return value


class _Slots:
    """A semaphore that goes to the caller who has waited longest. That of `threading` may go to a later one."""

    def __init__(self, free: int) -> None:
        self._lock, self._free = threading.Lock(), free
        self._waiting: deque[threading.Event] = deque()

    @contextmanager
    def one(self, patience: float) -> Iterator[None]:
        """Raises ParsingUnavailable after so many seconds."""
        mine = threading.Event()
        with self._lock:
            if self._free:
                self._free -= 1
                mine.set()
            else:
                self._waiting.append(mine)
        if not mine.wait(patience):
            with self._lock:
                if not mine.is_set():
                    self._waiting.remove(mine)
                    raise ParsingUnavailable("all children are busy")
        try:
            yield
        finally:
            with self._lock:
                if self._waiting:
                    self._waiting.popleft().set()
                else:
                    self._free += 1


class _Pool:
    def __init__(self) -> None:
        self._reset()
        os.register_at_fork(after_in_child=self._reset)  # the children are the parent's
        atexit.register(self.close)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._quick, self._slow = _Slots(_QUICK), _Slots(1)
        self._slow_until: dict[Hashable, float] = {}
        self._turns: WeakValueDictionary[Hashable, _Slots] = WeakValueDictionary()  # each lives while somebody has it
        self._idle: list[_Child] = []
        self._tidies = False

    @contextmanager
    def child(self, person: Hashable) -> Iterator[tuple[_Child, Callable[[], None]]]:
        """A child, and what is to be called when its work takes long."""
        with self._turn(person), ExitStack() as slots:
            is_slow = self._slow_until.get(person, 0.0) > time.monotonic()
            slots.enter_context((self._slow if is_slow else self._quick).one(_PATIENCE))
            child = self._idle_child() or _Child()
            try:
                yield child, partial(self._becomes_long, person, slots, is_slow)
            finally:
                self._give_back(child)

    def _becomes_long(self, person: Hashable, slots: ExitStack, is_slow: bool) -> None:
        """Leave the slot to others. Raises ParsingUnavailable where the slow one is not free."""
        now = time.monotonic()
        with self._lock:
            self._slow_until = {one: until for one, until in self._slow_until.items() if until > now}
            self._slow_until[person] = now + _LATELY
        if not is_slow:
            slow = ExitStack()
            slow.enter_context(self._slow.one(0.0))
            slots.close()
            slots.push(slow.pop_all())

    def _idle_child(self) -> _Child | None:
        while True:
            with self._lock:
                child = self._idle.pop() if self._idle else None
            if child is None or child.lives:
                return child
            child.end()

    @contextmanager
    def _turn(self, person: Hashable) -> Iterator[None]:
        """One call of a person at a time."""
        if person is None:
            yield
            return
        with self._lock:
            turn = self._turns.setdefault(person, _Slots(1))
        with turn.one(_PATIENCE / 2):
            yield

    def _give_back(self, child: _Child) -> None:
        if not child.goes_on:
            child.end()
            return
        child.idle_since = time.monotonic()
        with self._lock:
            self._idle.append(child)
            starts, self._tidies = not self._tidies, True
        if starts:
            threading.Thread(target=self._tidy, name="parsing-tidy", daemon=True).start()

    def _tidy(self) -> None:
        """End what is idle, until nothing is."""
        goes_on = True
        while goes_on:
            time.sleep(_IDLE / 4)
            with self._lock:
                old = [child for child in self._idle if time.monotonic() - child.idle_since >= _IDLE]
                self._idle = [child for child in self._idle if child not in old]
                self._tidies = goes_on = bool(self._idle)
            for child in old:
                child.end()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for child in idle:
            child.end()


_POOL = _Pool()
