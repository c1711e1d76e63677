"""Children that are forks of this process, with which they share the memory of what is imported here.

A fork has only the thread that forked, so a lock that another thread held would stay locked in it. This process
therefore has no other thread.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from io import TextIOWrapper
from mmap import mmap
from multiprocessing.context import ForkProcess
from typing import ClassVar

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_DIE_WITH_PARENT, _NAME = 1, 15  # PR_SET_PDEATHSIG and PR_SET_NAME of <sys/prctl.h>
_PAGE_OUT = 21  # MADV_PAGEOUT of <sys/mman.h>
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def fork(run: Callable[[], object]) -> ForkProcess:
    """Start a fork that calls `run`. Signals do to it what they do to a new program; it ends with this process."""
    if (threads := threading.active_count()) != 1:
        raise RuntimeError(f"A process with {threads} threads must not fork: {threading.enumerate()}")
    process = multiprocessing.get_context("fork").Process(target=_run, args=[run, os.getpid()])
    # A signal that comes before the fork has the handlers of a new program waits for them.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return process


def release_memory() -> None:
    """Give up the memory that this process alone has mapped; the kernel reads it again from files or swap if needed.

    Most of it are the libraries that were imported: a fork maps only those that it uses.
    """
    if _libc:
        _libc.madvise(ctypes.c_void_p(0), ctypes.c_size_t(sys.maxsize - 4095), _PAGE_OUT)


def _run(run: Callable[[], object], parent: int) -> None:
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    if _libc:
        _libc.prctl(_DIE_WITH_PARENT, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    if os.getppid() != parent:  # it died before
        sys.exit(1)
    try:
        run()
    except Exception:
        sys.excepthook(*sys.exc_info())
        sys.exit(1)


class LabelledOutput(TextIOWrapper):
    """The output of this process and its forks: each line that Python prints begins with the label of its process."""

    label: ClassVar[str] = "carillon"
    _begun = ""

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        super().write("".join(f"{self.label:<8} | {line}\n" for line in lines))
        return len(text)


@dataclass(eq=False)
class ForkedChild:
    """A program of Python that runs as a fork: `run`, which finds its command line in `sys.argv`.

    It is ready once `run` has called its argument, or `ready_check` returns True.
    """

    name: str
    argv: list[str]
    run: Callable[[Callable[[], None]], object]
    ready_check: Callable[[], bool] = lambda: False
    _shared: mmap = field(init=False)
    """One byte of memory: whether it is ready."""
    _process: ForkProcess | None = field(default=None, init=False)

    def start(self) -> None:
        """Start or restart it, in a new session: Ctrl-C reaches only us, and we stop the children in order."""
        self._shared = mmap(-1, 1)
        self._process = fork(self._run)

    def exit_status(self) -> int | None:
        """None while it runs; negative: the signal that killed it."""
        return self._process.exitcode if self._process else 0

    def is_ready(self) -> bool:
        if not self._shared[0] and self.ready_check():
            self._become_ready()
        return bool(self._shared[0])

    def stop(self, within: float, hurry: Callable[[], bool] = lambda: False) -> None:
        """Ask it to stop; kill it and its children after `within` seconds, or once `hurry()` is True."""
        if not (self._process and self._process.pid):
            return
        self._process.terminate()
        deadline = time.monotonic() + within
        while self.exit_status() is None and time.monotonic() < deadline and not hurry():
            self._process.join(0.05)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # also the children of a child that was killed
        self._process.join()
        self._process.close()
        self._process = None

    def _become_ready(self) -> None:
        self._shared[0] = 1

    def _run(self) -> None:
        os.setsid()
        if _libc:
            _libc.prctl(_NAME, self.name.encode())
        LabelledOutput.label, sys.argv = self.name, self.argv
        self.run(self._become_ready)
