"""Children that are forks of this process, with which they share the memory of what is imported here.

A fork has only the thread that forked, so a lock that another thread held would stay locked in it. This process
therefore has no other thread: it reads what its children write in the loop that also waits for them (`read_outputs`).
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
from dataclasses import KW_ONLY, dataclass, field
from io import TextIOWrapper
from multiprocessing.connection import wait
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


@dataclass(eq=False)
class ForkedChild:
    """A program of Python that runs as a fork: `run`, which finds its command line in `sys.argv`.

    Each line that it writes goes to `on_line` (line, name). It is ready once `ready_sign` appears in a line, or
    `ready_check` returns True.
    """

    name: str
    argv: list[str]
    run: Callable[[], object]
    _: KW_ONLY
    on_line: Callable[[str, str], None]
    ready_sign: str | None = None
    ready_check: Callable[[], bool] = lambda: False
    _is_ready: bool = field(default=False, init=False)
    _process: ForkProcess | None = field(default=None, init=False)
    _read: bytes = field(default=b"", init=False)
    _outputs: ClassVar[dict[int, "ForkedChild"]] = {}
    """By the descriptor from which it is read."""

    def start(self) -> None:
        """Start or restart it, in a new session: Ctrl-C reaches only us, and we stop the children in order."""
        self._is_ready, self._read = False, b""
        output, theirs = os.pipe()
        self._outputs[output] = self
        try:
            self._process = fork(lambda: self._run(theirs))
        finally:
            os.close(theirs)

    def exit_status(self) -> int | None:
        """None while it runs; negative: the signal that killed it."""
        return self._process.exitcode if self._process else 0

    def is_ready(self) -> bool:
        self._is_ready = self._is_ready or self.ready_check()
        return self._is_ready

    def stop(self, within: float, hurry: Callable[[], bool] = lambda: False) -> None:
        """Ask it to stop; kill it and its children after `within` seconds, or once `hurry()` is True."""
        if not (self._process and self._process.pid):
            return
        self._process.terminate()
        deadline = time.monotonic() + within
        while self.exit_status() is None and time.monotonic() < deadline and not hurry():
            read_outputs(0.05)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # also the children of a child that was killed
        self._process.join()
        self._process.close()
        self._process = None
        while self in self._outputs.values() and read_outputs(2.0):
            pass

    def _run(self, output: int) -> None:
        os.setsid()
        for other in self._outputs:
            os.close(other)
        if _libc:
            _libc.prctl(_NAME, self.name.encode())
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        assert isinstance(sys.stdout, TextIOWrapper)  # noqa: S101
        sys.stdout.reconfigure(line_buffering=True)
        sys.argv = self.argv
        self.run()

    def _receive(self, output: int) -> None:
        piece = os.read(output, 65_536)
        if not piece:
            del self._outputs[output]
            os.close(output)
        *lines, self._read = (self._read + (piece or b"\n" * bool(self._read))).split(b"\n")
        for line in lines:
            text = line.decode(errors="replace")
            self._is_ready = self._is_ready or bool(self.ready_sign and self.ready_sign in text)
            self.on_line(text, self.name)


def read_outputs(within: float) -> bool:
    """Wait up to so many seconds until a child writes something, and hand it on; return whether one did."""
    if not ForkedChild._outputs:
        time.sleep(within)
    ready = wait(list(ForkedChild._outputs), within)
    for output in ready:
        assert isinstance(output, int)  # noqa: S101
        ForkedChild._outputs[output]._receive(output)
    return bool(ready)
