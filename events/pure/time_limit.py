"""End Python code that runs for too long, from another thread of its process.

The exception is raised at the next instruction of the code. A call into C, such as `time.sleep`, is not interrupted.
"""

import ctypes
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")
_POLL = 0.1  # seconds


class TimeLimitReached(Exception):
    """The call was ended after its time."""


class _Stop(BaseException):
    """Raised inside the call. No `Exception`, so that the code does not go on behind an `except Exception`."""


@dataclass(eq=False, slots=True)
class _Call:
    thread: int
    until: float
    is_stopped: bool = False


_calls: set[_Call] = set()
_changed = threading.Condition()
_watcher: threading.Thread | None = None


def limited(seconds: float, function: Callable[..., T], *args: Any) -> T:
    """Call `function`. Raises TimeLimitReached after so many seconds, and RuntimeError where it calls `sys.exit`."""
    call = _Call(threading.get_ident(), time.monotonic() + seconds)
    try:
        try:
            _watch(call)
            return function(*args)
        finally:
            with _changed:
                _calls.discard(call)
            if call.is_stopped:
                for _ in range(1_000):  # one that was raised just now arrives here
                    pass
    except _Stop:
        raise TimeLimitReached from None
    except SystemExit:  # it would end the worker
        raise RuntimeError("SystemExit") from None


def _watch(call: _Call) -> None:
    global _watcher
    with _changed:
        _calls.add(call)
        if _watcher is None or not _watcher.is_alive():  # also after a fork
            _watcher = threading.Thread(target=_stop_late_calls, name="time-limit", daemon=True)
            _watcher.start()
        _changed.notify()


def _stop_late_calls() -> None:
    while True:
        with _changed:
            while not _calls:
                _changed.wait()
            now = time.monotonic()
            for call in [one for one in _calls if one.until <= now]:
                call.is_stopped = True
                _calls.discard(call)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(call.thread), ctypes.py_object(_Stop))
        time.sleep(_POLL)
