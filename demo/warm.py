"""Start Python programs as forks of one process that has imported the libraries, which takes half of each start.

    with warm_starts(): ...  # `subprocess.Popen`, `run` and `Child` start Celery, uvicorn and manage.py so

The program begins as ever, with its own arguments, environment, directory and files, and with none of Carillon's
modules or settings. It is a child of the process that asked for it, not of the one it was forked from. Linux only;
elsewhere, and for all other programs, nothing changes.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

# None of them reads Django's settings when it is imported.
_LIBRARIES = [
    "asyncio",
    "celery.app.base",
    "celery.apps.beat",
    "celery.apps.worker",
    "celery.bin.celery",
    "celery.concurrency.thread",
    "celery.worker.components",
    "celery.worker.consumer",
    "cron_descriptor",
    "cronsim",
    "cryptography.fernet",
    "cryptography.x509",
    "dateutil.rrule",
    "django.db.backends.postgresql.psycopg_any",
    "django.db.models",
    "django.forms",
    "django.http",
    "django.views.generic",
    "feedparser",
    "fido2.server",
    "icalendar",
    "jmespath",
    "kombu.transport.redis",
    "lxml.html",
    "psycopg.types.json",
    "psycopg_pool",
    "pydantic.json_schema",
    "pydantic.networks",
    "qrcode",
    "recurring_ical_events",
    "redis",
    "regex",
    "requests",
    "sqlparse",
    "unittest.mock",
    "uvicorn",
    "uvicorn.protocols.http.h11_impl",
    "yaml",
]
_CLONE = {"x86_64": 56, "aarch64": 220}.get(os.uname().machine) if sys.platform == "linux" else None
_CLONE_PARENT = 0x8000
_PR_SET_PDEATHSIG = 1
_MESSAGE = 180_000  # bytes at most, less than the buffer of a socket
_real = subprocess.Popen


@contextmanager
def warm_starts() -> Iterator[None]:
    """Enter it in the main thread: what is started ends with the thread that entered."""
    if _CLONE is None:
        yield
        return
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    with ours, _real([sys.executable, "-m", "demo.warm"], stdin=theirs.fileno(), env=environment) as origin:
        theirs.close()
        lock = threading.Lock()

        class Popen(_real):  # type: ignore[type-arg]
            def _execute_child(self, args: Any, executable: Any, preexec_fn: Any, *rest: Any) -> None:
                (_, pass_fds, cwd, env, _, _, shell, stdin, _, _, stdout, _, stderr, *_, user, _, session, _) = rest
                files = [own if file < 0 else file for own, file in enumerate((stdin, stdout, stderr))]
                order = {"arguments": args, "directory": os.fspath(cwd or os.getcwd()), "session": session}
                given = os.environ if env is None else env
                order |= {"environment": dict(given), "die": preexec_fn is not None}
                plain = not (executable or shell or pass_fds or user is not None) and _is_program(args)
                plain = plain and _read_at_start(given) == _read_at_start(os.environ)
                if not plain or len(message := json.dumps(order, default=os.fspath).encode()) > _MESSAGE:
                    super()._execute_child(args, executable, preexec_fn, *rest)  # type: ignore[misc]
                    return
                with lock:
                    socket.send_fds(ours, [message], files)
                    answer = ours.recv(100)
                self.pid, self._child_created = int(answer), True
                self._close_pipe_fds(*rest[7:13])  # type: ignore[attr-defined]

        subprocess.Popen = Popen  # type: ignore[misc]
        try:
            yield
        finally:
            subprocess.Popen = _real  # type: ignore[misc]
            ours.close()
            origin.wait()


def _is_program(arguments: Any) -> bool:
    if not isinstance(arguments, list) or arguments[0] != sys.executable or len(arguments) < 3:
        return False
    named = arguments[3:] if arguments[1] == "-W" else arguments[1:]
    return named[:2] in (["-m", "celery"], ["-m", "uvicorn"]) or named[0] in ("manage.py", "-c")


def _read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    """What the interpreter reads before any module; `_become` does as PYTHONUNBUFFERED says."""
    others = ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")
    return {
        name: text for name, text in environment.items() if name.startswith(("PYTHON", "LD_")) and name not in others
    }


def _serve(line: socket.socket) -> dict[str, Any] | None:
    """Fork programs, which answer with their process ids, until nobody asks. Return in each the order that it runs."""
    while True:
        message, files, *_ = socket.recv_fds(line, _MESSAGE, 3)
        if not message:
            return None
        if _fork_beside() == 0:
            order: dict[str, Any] = json.loads(message)
            if order["session"]:
                os.setsid()
            if order["die"]:
                ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            line.send(str(os.getpid()).encode())
            line.close()
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            return order
        for file in files:
            os.close(file)


def _fork_beside() -> int:
    """As `os.fork`, but the new process is a child of our parent."""
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    pid: int = ctypes.PyDLL(None).syscall(_CLONE, _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    (python.PyOS_AfterFork_Parent if pid else python.PyOS_AfterFork_Child)()
    if pid < 0:
        raise OSError("This process cannot be forked.")
    return pid


def _become(order: dict[str, Any]) -> None:
    """Run the program as `python` would."""
    os.chdir(order["directory"])
    os.environ.clear()
    os.environ.update(order["environment"])
    time.tzset()
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    sys.stdin = open(0)  # noqa: SIM115
    sys.stdout, sys.stderr = open(1, "w", buffering=1 if unbuffered else -1), open(2, "w", buffering=1)  # noqa: SIM115
    sys.path[0] = order["directory"]
    arguments = order["arguments"][1:]
    if arguments[0] == "-W":
        _, words, *arguments = arguments
        action, _, text = words.partition(":")
        warnings.filterwarnings(action, text)
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        sys.path[0] = ""
        main = sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(arguments[1], "<string>", "exec"), vars(main))  # noqa: S102
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    for _name in _LIBRARIES:
        importlib.import_module(_name)
    gc.collect()
    gc.freeze()
    assert len(os.listdir("/proc/self/task")) == 1, "A process of several threads cannot be forked."
    with socket.socket(fileno=0) as _line:
        _order = _serve(_line)
    if _order is not None:
        _become(_order)
