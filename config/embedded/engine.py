"""The base class of the embedded engines."""

import os
import signal
import subprocess
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from django.core.exceptions import ImproperlyConfigured

from config.embedded.account import Account, account_for, run_as

Server = subprocess.Popen[bytes]
# Without the PG* variables, locale and secrets of the caller.
ENVIRONMENT = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
_LONGEST_SOCKET_PATH = 103  # bytes, of macOS; Linux allows 107


class EngineFailed(ImproperlyConfigured):
    """An embedded engine is not installed or does not start; the message is one line."""


class Engine(ABC):
    """One engine in the directory `home`. Only `answers()` proves that it runs, not the files in there."""

    name: ClassVar[str]
    title: ClassVar[str]
    socket_name: ClassVar[str]
    stop_signal: ClassVar[signal.Signals]
    last_resort: ClassVar[signal.Signals]

    def __init__(self, var: Path) -> None:
        self.home = var / self.name
        self.data = self.home / "data"
        self.log = self.home / "log"
        self.failure = self.home / "failed"

    @abstractmethod
    def locate(self) -> Path:
        """The server's executable. Raises EngineFailed where it is not installed."""

    def prepare(self) -> None:
        """Prepare `home` for `launch`. Changes nothing under a running engine."""
        account = account_for(self.data)
        executable = self.locate()
        if account:
            account.open_path_to(self.data)
            if not account.may_run(executable):
                raise EngineFailed(f"the user {account.name} cannot run {executable}: start as a plain user")

    @property
    def socket(self) -> Path:
        """The Unix socket, in a directory that only the server's account can enter; at most 103 bytes long."""
        path = self.home / "run" / self.socket_name
        if len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH:
            return path
        import hashlib

        mark = hashlib.sha256(os.fsencode(self.home)).hexdigest()[:12]
        # Not $TMPDIR, which differs between processes. `make_private` checks the owner.
        return Path("/tmp") / f"carillon-{mark}" / self.socket_name  # noqa: S108

    @abstractmethod
    def launch(self, log: int) -> Server:
        """Start the server in the foreground; its output goes to the descriptor `log`."""

    def start(self, arguments: list[str], log: int) -> Server:
        """Start the server with these arguments, as the owner of its data."""
        account = account_for(self.data)
        for directory in (self.data, self.socket.parent):
            self.make_private(directory, account)
        return subprocess.Popen(
            [self.locate(), *arguments],
            cwd=self.data,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            **run_as(account),
        )

    @property
    @abstractmethod
    def url(self) -> str: ...

    @abstractmethod
    def answers(self) -> bool:
        """Whether the server at `url` takes commands now."""

    @abstractmethod
    def recorded_pid(self) -> int | None:
        """The process id in the server's pid file, which may be stale."""

    def failure_reason(self) -> str:
        """The reason that the keeper wrote, else the end of the log, in one line."""
        for file in (self.failure, self.log):
            with suppress(FileNotFoundError):
                lines = [line.strip() for line in file.read_text(errors="replace").splitlines() if line.strip()]
                if lines:
                    return f"{' | '.join(lines[-3:])} (see {self.log})"
        return f"see {self.log}"

    def running_pid(self) -> int | None:
        """The process id of the server of this directory, even if it does not answer; None if there is none."""
        pid = self.recorded_pid()
        return pid if pid is not None and self.is_server(pid) else None

    def is_server(self, pid: int) -> bool:
        """Whether `pid` is a live server of this directory, not another process with a reused id."""
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        if not Path("/proc/self/cwd").exists():
            return True  # no /proc (macOS)
        with suppress(OSError):  # a zombie, or somebody else's process
            return Path(f"/proc/{pid}/cwd").samefile(self.data)
        return False

    def make_private(self, directory: Path, account: Account | None) -> None:
        """Make `directory` for `account` alone, or check that it belongs to it."""
        owner = account.uid if account else os.geteuid()
        with suppress(FileExistsError):
            directory.mkdir(mode=0o700)
            if account:
                os.chown(directory, account.uid, account.gid)
        status = directory.lstat()
        if directory.is_symlink() or status.st_uid != owner:
            raise EngineFailed(
                f"{directory} belongs to another user (number {status.st_uid}, not {owner}): "
                "start Carillon as that user or as root, or set CARILLON_VAR to a directory of your own"
            )
        if status.st_mode & 0o077:
            directory.chmod(0o700)
