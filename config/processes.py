"""Children of one terminal: started, listened to, and stopped with all that they started themselves."""

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

from config import env

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of <sys/prctl.h>
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
_printing = threading.Lock()


def web_command(host: str, port: int) -> list[str]:
    """The command of a web process. Only a proxy that is there is believed about whom it speaks for."""
    proxy = [] if env.flag("BEHIND_PROXY", False) else ["--no-proxy-headers"]
    uvicorn = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--lifespan", "off"]
    return [*uvicorn, "--host", host, "--port", str(port), "--timeout-graceful-shutdown", "5", *proxy]


class Child:
    """One program, whose lines go to our output with its name in front, or to `tell` (line, name) where that is given.

    `ready_sign` is the text in its output that says that it is ready; where that is None, `ready_check` is asked.
    """

    def __init__(
        self,
        name: str,
        command: list[str],
        *,
        ready_sign: str | None = None,
        ready_check: Callable[[], bool] | None = None,
        environment: Mapping[str, str] | None = None,
        tell: Callable[[str, str], None] | None = None,
    ) -> None:
        self.name = name
        self.command = command
        self._environment = environment or {}
        self._tell = tell or say
        self._ready_sign = ready_sign
        self._ready_check = ready_check
        self._heard = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._listener: threading.Thread | None = None

    def start(self) -> None:
        """Start (again). A session of its own: Ctrl-C reaches us alone, and we choose the order of stopping."""
        self._heard.clear()
        self._process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            env={**os.environ, **self._environment, "PYTHONUNBUFFERED": "1"},
            preexec_fn=_die_with_parent if _prctl else None,
        )
        self._listener = threading.Thread(target=self._listen, args=[self._process], daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """Its process id, which is also that of the group of all that it starts. 0 before the first start."""
        return self._process.pid if self._process else 0

    def exit_status(self) -> int | None:
        """None while it runs; negative for the signal that killed it."""
        return self._process.poll() if self._process else 0

    def is_ready(self) -> bool:
        if self._ready_check and not self._heard.is_set() and self._ready_check():
            self._heard.set()
        return self._heard.is_set()

    def stop(self, within: float, hurry: Callable[[], bool]) -> None:
        """Ask it to finish; kill it and its own children after `within` seconds, or as soon as `hurry()`."""
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + within
        while self._process.poll() is None and time.monotonic() < deadline and not hurry():
            time.sleep(0.02)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # also those whom a killed child left behind
        self._process.wait()
        if self._listener:
            self._listener.join(timeout=2)

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None  # noqa: S101  # we asked for a pipe
        with process.stdout:
            for line in process.stdout:
                self._tell(line.rstrip("\n"), self.name)
                if self._ready_sign and self._ready_sign in line:
                    self._heard.set()


def say(line: str, name: str = "carillon") -> None:
    """One line to the terminal, never mixed with another's."""
    with _printing:
        sys.stdout.write(f"{name:<8} | {line}\n")
        sys.stdout.flush()


def _die_with_parent() -> None:
    """Run in the child before it becomes the program: a `kill -9` of us must not leave it holding the port."""
    if _prctl:
        _prctl(_DIE_WITH_PARENT, signal.SIGTERM)
