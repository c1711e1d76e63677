"""The child process of `parsing`: it takes a function and its arguments, and answers with what it returns or raises."""

import fcntl
import os
import pickle
import resource
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from traceback import extract_tb
from typing import Any

from common.parsing.pool import MEGABYTES, OUT_OF_MEMORY, WALL, ParsingEnded
from common.texts.refusal import Refusal

_LARGEST_ANSWER = 8 * 1024 * 1024
_LARGEST = 200 * 1024  # KiB of a child that goes on


def _serve() -> None:
    sys.dont_write_bytecode = True
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # they go to the whole group at a shutdown; the socket's end ends it
    for limit, most in (
        (resource.RLIMIT_AS, MEGABYTES * 1024 * 1024),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        with suppress(ValueError):  # elsewhere than on Linux
            resource.setrlimit(limit, (most, most))
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
        channel.sendall(b".")
        _set_timers(seconds)
        answer, goes_on = _answer(function, args)
        _set_timers(0)
        channel.sendall(answer)


def _set_timers(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, WALL * seconds)


def _answer(function: Callable[..., Any], args: Any) -> tuple[bytes, bool]:
    """The pickled answer, and whether this process goes on: one that has grown is replaced."""
    try:
        return _pickled("value", function(*args))
    except Refusal as refusal:
        return _pickled("refused", refusal)
    except RecursionError:
        return _pickled("refused", ParsingEnded("depth", sys.getrecursionlimit()))
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except Exception as error:
        place = extract_tb(error.__traceback__)[-1]
        return _pickled("fault", f"{type(error).__name__} at {place.filename}:{place.lineno}")


def _peak() -> int:
    """The most memory that this process has held, in KiB: `ru_maxrss` counts that of its parent before exec, too."""
    with suppress(OSError), open("/proc/self/status") as status:  # elsewhere than on Linux the limit alone has to do
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    return 0


def _pickled(kind: str, answer: Any) -> tuple[bytes, bool]:
    goes_on = _peak() < _LARGEST
    if len(raw := pickle.dumps((kind, answer, goes_on))) > _LARGEST_ANSWER:
        return _pickled("refused", ParsingEnded("megabytes", _LARGEST_ANSWER // 1024 // 1024))
    return raw, goes_on


if __name__ == "__main__":
    with suppress(OSError):
        _serve()
