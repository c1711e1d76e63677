"""Parse what strangers wrote in child processes, each with a memory limit and a deadline, where nobody else waits.

`parsed(function, *args)` is all there is to call. A child knows neither Django nor the environment's secrets; the
function and what it imports must not need them. The kernel holds the limits, so that they bind inside of C libraries
too: RLIMIT_AS, and timers whose signals end the process. Only that child is replaced.

- Children start when there is something to parse, two at most, and end after a minute without work.
- A person may occupy one at a time, so that the other is there for everybody else.
- A child whose parent dies ends at once, also in the middle of its work.
- What comes back is unpickled with an allowlist: the values of Python and the data classes of our own modules.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import pickle
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from typing import Any, TypeVar, TypeVarTuple

from common.budget import OverBudget
from common.refusal import Refusal
from common.refusal import noop as _

SECONDS = 5
"""CPU time of one call."""
MEGABYTES = 600
"""Address space of a child, with all its libraries."""
_MOST_CHILDREN = 2
_IDLE = 60.0
# A starved machine must not cost an honest page its turn, but a child that sleeps must end, too.
_WALL = 4  # times the CPU time
_START = 10.0
_PATIENCE = 10.0
_LARGEST_ANSWER = 8 * 1024 * 1024
_LARGEST_KEPT = 200 * 1024  # KiB of a child that goes on
_ROOT = Path(__file__).resolve().parents[1]
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONPATH")
_OUR_OWN = ("common", "jobs", "schedules", "events", "api")
_OUT_OF_MEMORY = 3
_TIMERS = (-signal.SIGPROF, -signal.SIGALRM)
_CRASHES = (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS, -signal.SIGILL, -signal.SIGFPE)

T = TypeVar("T")
Args = TypeVarTuple("Args")


class ParsingEnded(OverBudget):
    """Its child was ended: `what` is "seconds" or "megabytes", of which it needed more than `most`, or "crash"."""


class ParsingUnavailable(Exception):
    """No child was free in time, or somebody else ended it: this says nothing of what was to be parsed."""


class ParsingFault(Exception):
    """The function has a bug: the exception's type and where, as it may hold what was parsed."""


def parsed(function: Callable[[*Args], T], *args: *Args, person: Hashable = None) -> T:
    """Call a function of a module in a child. Raises its Refusal, ParsingEnded, ParsingUnavailable or ParsingFault.

    `person`: whose work it is; None for work that is nobody's.
    """
    request = pickle.dumps((function.__module__, function.__qualname__, args, SECONDS))
    with _POOL.child(person) as child:
        kind, answer = child.ask(request)
    if kind == "value":
        return answer  # type: ignore[no-any-return]
    raise answer


class _Child:
    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._lifeline, their_end = socket.socketpair()
        with theirs, their_end:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "common.parsing"],
                stdin=theirs.fileno(),
                stdout=their_end.fileno(),
                stderr=subprocess.DEVNULL,
                cwd=_ROOT,
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
            )
        self._socket.settimeout(_START + _WALL * SECONDS)
        self._answers = self._socket.makefile("rb")
        self.idle_since = 0.0
        self.goes_on = False

    @property
    def lives(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: bytes) -> tuple[str, Any]:
        self.goes_on = False
        try:
            self._socket.sendall(request)
            kind, answer, self.goes_on = _Answers(self._answers).load()
        except (OSError, EOFError):
            return "ended", self._why_it_ended()
        return kind, answer

    def _why_it_ended(self) -> Exception:
        code = self.end()
        if code in _TIMERS:
            return ParsingEnded("seconds", SECONDS)
        if code == _OUT_OF_MEMORY:
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
        found = super().find_class(module, name)
        ours = module.partition(".")[0] in _OUR_OWN or module in ("datetime", "decimal", "zoneinfo")
        if not ours or not isinstance(found, type):
            raise pickle.UnpicklingError(f"{module}.{name} is no value")
        return found


@dataclass(slots=True)
class _Turn:
    lock: threading.Lock = field(default_factory=threading.Lock)
    callers: int = 0


class _Pool:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free = threading.Semaphore(_MOST_CHILDREN)
        self._turns: dict[Hashable, _Turn] = {}
        self._idle: list[_Child] = []
        self._tidies = False

    @contextmanager
    def child(self, person: Hashable) -> Iterator[_Child]:
        with self._turn(person):
            if not self._free.acquire(timeout=_PATIENCE):
                raise ParsingUnavailable("all children are busy")
            try:
                child = self._idle_child() or _Child()
                try:
                    yield child
                finally:
                    self._give_back(child)
            finally:
                self._free.release()

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
            turn = self._turns.setdefault(person, _Turn())
            turn.callers += 1
        try:
            if not turn.lock.acquire(timeout=_PATIENCE):
                raise ParsingUnavailable("other work of its person is being parsed")
            try:
                yield
            finally:
                turn.lock.release()
        finally:
            with self._lock:
                turn.callers -= 1
                if not turn.callers:
                    del self._turns[person]

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


def _begin_again() -> None:
    """In a forked process: the children are the parent's."""
    global _POOL
    _POOL = _Pool()


_POOL = _Pool()
os.register_at_fork(after_in_child=_begin_again)
atexit.register(lambda: _POOL.close())


# What a child runs


def _serve() -> None:
    sys.dont_write_bytecode = True
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # they go to the whole group at a shutdown; the socket's end ends it
    for limit, most in ((resource.RLIMIT_AS, MEGABYTES * 1024 * 1024), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(limit, (most, most))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    os.nice(5)
    # Nothing is ever written to the second one: its only event is its end, and SIGIO ends this process.
    channel, lifeline = socket.socket(fileno=0), socket.socket(fileno=1)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    requests = channel.makefile("rb")
    goes_on = True
    while goes_on:
        try:
            module, name, args, seconds = pickle.load(requests)  # noqa: S301 - the parent's
        except EOFError:
            return
        function = getattr(import_module(module), name)
        _set_timers(seconds)
        answer, goes_on = _answer(function, args)
        _set_timers(0)
        channel.sendall(answer)


def _set_timers(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, _WALL * seconds)


def _answer(function: Callable[..., Any], args: Any) -> tuple[bytes, bool]:
    """The pickled answer, and whether this process goes on: one that has grown is replaced."""
    try:
        return _pickled("value", function(*args))
    except Refusal as refusal:
        return _pickled("refused", refusal)
    except RecursionError:
        return _pickled("refused", Refusal(_("It is nested too deeply.")))
    except MemoryError:
        os._exit(_OUT_OF_MEMORY)
    except Exception as error:
        # Its text may hold what was parsed, its place cannot.
        place = extract_tb(error.__traceback__)[-1]
        return _pickled("fault", ParsingFault(f"{type(error).__name__} at {place.filename}:{place.lineno}"))


def _peak() -> int:
    """The most memory that this process has held, in KiB: `ru_maxrss` counts that of its parent before exec, too."""
    with suppress(OSError), open("/proc/self/status") as status:  # elsewhere than on Linux the limit alone has to do
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    return 0


def _pickled(kind: str, answer: Any) -> tuple[bytes, bool]:
    goes_on = _peak() < _LARGEST_KEPT
    raw = pickle.dumps((kind, answer, goes_on))
    if len(raw) > _LARGEST_ANSWER:
        return _pickled("refused", ParsingEnded("megabytes", _LARGEST_ANSWER // 1024 // 1024))
    return raw, goes_on


if __name__ == "__main__":
    from common import parsing

    with suppress(OSError):
        parsing._serve()
