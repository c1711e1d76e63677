"""A child process of the demo, of tests and of benches: its output is read, and it ends with all its own children."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

from config.environment import env

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of <sys/prctl.h>
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
_print_lock = threading.Lock()


def print_line(line: str, name: str = "carillon") -> None:
    """Print a line, or several that stay together."""
    with _print_lock:
        sys.stdout.write("".join(f"{name:<8} | {one}\n" for one in line.split("\n")))
        sys.stdout.flush()


def worker_command(name: str, level: str) -> list[str]:
    """The command of a worker with threads, for all queues; `level` is that of its log."""
    celery = [sys.executable, "-m", "celery", "-A", "config", "--quiet", "worker"]
    quick = ["--without-mingle", "--without-gossip"]  # no messages between workers, which cost a second at the start
    queues = ",".join(env.queues(env.job_queues("JOB_QUEUES")))
    return [*celery, "-Q", queues, "-n", f"{name}@%h", *quick, "--loglevel", level]


def manage_command(*arguments: str) -> list[str]:
    """The command of `manage.py` as code, which tests run in a fork: see `tests/zygote.py`."""
    return [sys.executable, "-c", "import manage; manage.main()", *arguments]


@dataclass(eq=False)
class Child:
    """One program. Its output goes to `on_line` (line, name), by default to our output.

    It is ready once `ready_sign` appears in its output, or `ready_check` returns True.
    """

    name: str
    command: list[str]
    _: KW_ONLY
    ready_sign: str | None = None
    ready_check: Callable[[], bool] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    on_line: Callable[[str, str], None] = print_line
    popen: ClassVar[Any] = subprocess.Popen
    """Tests start it otherwise."""
    _ready: threading.Event = field(default_factory=threading.Event, init=False)
    _process: subprocess.Popen[str] | None = field(default=None, init=False)
    _listener: threading.Thread | None = field(default=None, init=False)

    def start(self) -> None:
        """Start or restart it, in a new session: Ctrl-C reaches only us, and we stop the children in order."""
        self._ready.clear()
        self._process = self.popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            env={**os.environ, **self.environment, "PYTHONUNBUFFERED": "1"},
            preexec_fn=die_with_parent if _prctl else None,
        )
        self._listener = threading.Thread(target=self._listen, args=[self._process], daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """Its process id, which is also the id of its process group. 0 before the first start."""
        return self._process.pid if self._process else 0

    def exit_status(self) -> int | None:
        """None while it runs; negative: the signal that killed it."""
        return self._process.poll() if self._process else 0

    def is_ready(self) -> bool:
        if self.ready_check and not self._ready.is_set() and self.ready_check():
            self._ready.set()
        return self._ready.is_set()

    def ask_to_stop(self) -> None:
        """Send SIGTERM."""
        if self._process:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)

    def stop(self, within: float, hurry: Callable[[], bool] = lambda: False) -> None:
        """Ask it to stop; kill it and its children after `within` seconds, or once `hurry()` is True."""
        if self._process is None:
            return
        self.ask_to_stop()
        deadline = time.monotonic() + within
        while self._process.poll() is None and time.monotonic() < deadline and not hurry():
            time.sleep(0.02)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # also the children of a child that was killed
        self._process.wait()
        if self._listener:
            self._listener.join(timeout=2)

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None  # we asked for a pipe
        with process.stdout:
            for line in process.stdout:
                self.on_line(line.rstrip("\n"), self.name)
                if self.ready_sign and self.ready_sign in line:
                    self._ready.set()


def die_with_parent() -> None:
    """Runs in the child before exec. After a `kill -9` of us, it must not keep the port."""
    if _prctl:
        _prctl(_DIE_WITH_PARENT, signal.SIGTERM)
