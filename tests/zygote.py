"""A process that has imported Carillon, as `script/server` does; it forks web processes, workers, beats, and `-c` code.

The imports take a new program 0.7 to 1.4 s of CPU. A fork reads its own environment and command line, and runs the
program as Python would. It becomes a new program (exec) if a setting that the imports have read differs.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
from select import select
from typing import Any

from demo.child import Child, die_with_parent

_PROGRAMS = ("celery", "uvicorn")
# Settings of which the imports keep nothing but a sentence in the API's document, or that `_become` hands on.
_READ_AGAIN = (
    *("API_REQUESTS_PER_MINUTE", "CELERY_TASK_SOFT_TIME_LIMIT", "CELERY_TASK_TIME_LIMIT", "DATABASES"),
    *("EMAIL_BACKEND", "EMAIL_FILE_PATH", "FLOWS", "JOB_QUEUES", "LOGGING", "QUEUES"),
)
# The imports open no connection.
_NOWHERE = {
    "DATABASE_POOL": "on",
    "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    "REDIS_URL": "redis://127.0.0.1:1/0",
    "SECRET_KEY": "of-nobody" * 6,
    "ENCRYPTION_KEYS": "A" * 43 + "=",
    "PYTHONUNBUFFERED": "1",
}


class Forked:
    """The part of `subprocess.Popen` that a `Child` uses. Its id comes through a pipe, then its exit status."""

    def __init__(self, report: int, output: int) -> None:
        self._report, self.stdout = report, os.fdopen(output, errors="replace")
        self._lock = threading.Lock()
        self.returncode: int | None = None
        self.pid = self._read()

    def _read(self) -> int:
        if len(number := os.read(self._report, 4)) < 4:
            raise RuntimeError("The zygote has ended")
        return int.from_bytes(number, "little", signed=True)

    def poll(self) -> int | None:
        return self.wait(0.0)

    def wait(self, timeout: float | None = None) -> int | None:
        with self._lock:
            if self.returncode is None and select([self._report], [], [], timeout)[0]:
                self.returncode = self._read()
                os.close(self._report)
            return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


class Zygote:
    """A context manager, in which each `Child` is a fork if it can be. Forks end with this process."""

    def __init__(self) -> None:
        self._settings = ""  # the module that our process has imported
        self._forks: list[Forked] = []
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._before, Child.popen = Child.popen, self.start

    def __exit__(self, *_: object) -> None:
        Child.popen = self._before
        self._close()

    def start(self, command: list[str], *, env: dict[str, str], **others: Any) -> Forked | subprocess.Popen[str]:
        # A worker of the other pool would fork the zygote's memory again; imports read the zone of the machine.
        is_ours = command[0] == sys.executable and "prefork" not in command and env.get("TZ") == os.environ.get("TZ")
        can_fork = is_ours and (command[1] == "-c" or (command[1] == "-m" and command[2] in _PROGRAMS))
        with self._lock:
            if not (can_fork and self._has(env.get("DJANGO_SETTINGS_MODULE", "config.settings"))):
                return subprocess.Popen(command, env=env, **others)
            (output, their_output), (report, their_report) = os.pipe(), os.pipe()
            socket.send_fds(self._channel, [json.dumps([command, env]).encode()], [their_output, their_report])
            os.close(their_output)
            os.close(their_report)
            self._forks.append(Forked(report, output))
            return self._forks[-1]

    def _has(self, settings: str) -> bool:
        """Have a process with these settings, unless forks of one with others still run."""
        if self._settings != settings:
            if any(fork.poll() is None for fork in self._forks):
                return False
            self._close()
            self._settings = settings
            self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            command = [sys.executable, "-m", "tests.zygote"]
            variables = os.environ | _NOWHERE | {"DJANGO_SETTINGS_MODULE": settings}
            with theirs:
                self._process = subprocess.Popen(command, stdin=theirs, env=variables, start_new_session=True)
        return True

    def _close(self) -> None:
        if self._settings:
            self._channel.close()
            self._process.wait()
            self._settings = ""
            self._forks.clear()


def _serve() -> tuple[list[str], dict[str, str]]:
    """Fork for each request. Only a fork returns, with its command and environment."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(fileno=os.dup(0)) as channel:
        while True:
            request, (*theirs,), _, _ = socket.recv_fds(channel, 1 << 20, 2)
            if not request:
                sys.exit()
            if os.fork() == 0:
                break
            for one in theirs:
                os.close(one)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    die_with_parent()
    output, report = theirs
    if pid := os.fork():  # one process waits for the other
        _write(report, pid)
        os.close(output)
        _write(report, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        os._exit(0)
    os.close(report)
    os.setsid()
    die_with_parent()
    for ours, standard in ((os.open(os.devnull, os.O_RDONLY), 0), (output, 1), (output, 2)):
        os.dup2(ours, standard)
    os.close(output)
    command, environment = json.loads(request)
    return command, environment


def _path(program: str) -> str:
    return f"{importlib.import_module(program).__path__[0]}/__main__.py"


def _write(report: int, number: int) -> None:
    os.write(report, number.to_bytes(4, "little", signed=True))


def _become(command: list[str], environment: dict[str, str]) -> None:
    """Read again what differs, so that this fork is what a new program would be after its imports."""
    os.environ.clear()
    os.environ |= environment
    sys.argv = ["-c" if command[1] == "-c" else _path(command[2]), *command[3:]]
    if command[2] == "uvicorn":
        os.environ.setdefault("DATABASE_POOL", "1")  # as config.asgi does

    from django.apps import apps
    from django.conf import Settings, settings
    from django.core.cache import caches
    from django.db import connections

    from common import probe
    from common.database import fault_points
    from config.celery import app
    from events import flows

    for module in (fault_points, probe):
        importlib.reload(module)
    for name in dict.fromkeys(("config.settings", os.environ["DJANGO_SETTINGS_MODULE"])):
        importlib.reload(importlib.import_module(name))
    own = Settings(os.environ["DJANGO_SETTINGS_MODULE"])
    # Workers and beats have an admin that loads its pages later.
    own.INSTALLED_APPS = [name.replace("admin.apps.SimpleAdminConfig", "admin") for name in own.INSTALLED_APPS]
    if "worker" not in command:
        own.CELERY_DB_REUSE_MAX = settings.CELERY_DB_REUSE_MAX  # only workers use it
    read = vars(settings).keys() - {*_READ_AGAIN, "_wrapped"}
    if any(getattr(own, name) != getattr(settings, name) for name in read):
        os.execve(command[0], command, environment)  # noqa: S606 - as the test would have done
    settings._wrapped = own
    flows.PACKAGES[1:] = own.FLOWS
    vars(flows.registry).pop("by_name", None)
    for handler in (connections, caches):
        vars(handler).clear()
        handler.__init__()  # type: ignore[misc]
    app.config_from_object("django.conf:settings", namespace="CELERY")
    if faults := apps.app_configs.get("faults"):
        faults.apply()  # type: ignore[attr-defined]


def main() -> None:
    sys.argv = [_path("uvicorn")]
    from config.processes import server

    # Programs that operators start import them; `script/server` does without.
    importlib.import_module("celery.bin.celery")
    server._load()
    # A program that is not forked verifies such passwords too. A million rounds take 0.2 s of CPU.
    importlib.import_module("django.contrib.auth.hashers").PBKDF2PasswordHasher.iterations = 1
    command, environment = _serve()
    _become(command, environment)
    if command[1] == "-c":
        exec(command[2], {"__name__": "__main__"})  # noqa: S102 - the code of a test
    else:
        runpy.run_module(command[2], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
