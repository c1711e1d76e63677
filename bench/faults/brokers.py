"""The broker of a run: the embedded Redis, RabbitMQ, or Redis with a replica and Sentinels. Each is lost in cells."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from django.conf import settings
from kombu import Connection, Queue
from redis import Redis
from redis.exceptions import RedisError

from bench.servers import Postgres
from common.redis import client
from config.embedded import var_dir
from config.embedded.engine import Engine
from config.embedded.redis import Redis as EmbeddedRedis
from demo.child import Child
from demo.ports import free_port

PRIMARY = "primary"
# Where Debian has it; the commands on the PATH change to another user and directory.
RABBITMQ = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")


def signal_engine(engine: Engine | Postgres, by: signal.Signals) -> None:
    if pid := engine.running_pid():
        with suppress(ProcessLookupError):
            os.kill(pid, by)


def signal_keeper(engine: Engine, by: signal.Signals) -> None:
    """While its keeper is stopped, a dead engine is not restarted."""
    with suppress(ProcessLookupError, ValueError):
        os.kill(int((engine.home / "keeper").read_text()), by)


class Broker(ABC):
    """A context manager. `variables`: for every process, also this one."""

    variables: Mapping[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.heal()

    def empty(self) -> None:
        """Remove all messages, and what else is in Redis."""
        with suppress(OSError, RedisError):
            client.client(settings.REDIS_URL).flushall()

    @abstractmethod
    def kill(self) -> None:
        """SIGKILL. It is started again, unless it is kept away."""

    @abstractmethod
    def freeze(self) -> None: ...

    @abstractmethod
    def keep_away(self) -> None:
        """SIGKILL, and no start until `heal`."""

    @abstractmethod
    def heal(self) -> None:
        """Continue it, and let it start."""


class OneRedis(Broker):
    def __init__(self) -> None:
        self._engine = EmbeddedRedis(var_dir())

    def kill(self) -> None:
        signal_engine(self._engine, signal.SIGKILL)

    def freeze(self) -> None:
        signal_engine(self._engine, signal.SIGSTOP)

    def keep_away(self) -> None:
        signal_keeper(self._engine, signal.SIGSTOP)
        self.kill()

    def heal(self) -> None:
        signal_engine(self._engine, signal.SIGCONT)
        signal_keeper(self._engine, signal.SIGCONT)


class _Supervised(Broker):
    """Processes of its own on loopback, in a directory of their own. One that ends is started again."""

    # Seconds until then.
    pause = 0.5

    def __init__(self, name: str) -> None:
        self.directory = var_dir() / name
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        self._log = (self.directory / "log").open("a", buffering=1)
        self.servers: list[Child] = []
        self._closing, self._is_away = threading.Event(), False
        self._supervisor = threading.Thread(target=self._supervise)

    def _server(self, name: str, port: int, command: list[str], environment: Mapping[str, str] | None = None) -> Child:
        def on_line(line: str, name: str) -> None:
            self._log.write(f"{time.time():.2f} {name} {line}\n")

        def answers() -> bool:
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return True
            return False

        child = Child(name, command, ready_check=answers, environment=environment or {}, on_line=on_line)
        self.servers.append(child)
        return child

    def __enter__(self) -> Self:
        self._supervisor.start()
        deadline = time.monotonic() + 60
        while not all(server.is_ready() for server in self.servers):
            if time.monotonic() > deadline:
                raise TimeoutError(f"The broker does not start; see {self._log.name}")
            time.sleep(0.05)
        return self

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._closing.set()
        self._supervisor.join()
        for server in self.servers:
            server.stop(0.0)
        self._log.close()

    def _supervise(self) -> None:
        """Start all in this thread: they get a signal when the thread that started them ends."""
        ended: dict[Child, float] = {}
        while not self._closing.wait(0.05):
            for server in self.servers:
                if server.pid and server.exit_status() is None:
                    ended.pop(server, None)
                elif not self._is_away and time.monotonic() - ended.setdefault(server, time.monotonic()) >= (
                    self.pause if server.pid else 0.0
                ):
                    server.start()

    @property
    @abstractmethod
    def main(self) -> Child:
        """The process that is lost."""

    def _signal(self, by: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.main.pid, by)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def keep_away(self) -> None:
        self._is_away = True
        self.kill()

    def heal(self) -> None:
        self._is_away = False
        for server in self.servers:
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGCONT)


class RabbitMQ(_Supervised):
    """One node with an epmd of its own."""

    def __init__(self) -> None:
        super().__init__("rabbitmq")
        if not RABBITMQ.exists():
            sys.exit("RabbitMQ is not installed: apt install rabbitmq-server")
        port, epmd = free_port(), free_port()
        self.variables = {"BROKER_URL": f"amqp://guest:guest@127.0.0.1:{port}//"}
        (self.directory / "rabbitmq.conf").write_text("log.console.level = warning\n")
        (self.directory / "plugins").write_text("[].\n")
        self.environment = {
            "HOME": str(self.directory),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(epmd),
            "RUNNING_UNDER_SYSTEMD": "true",  # one process, which gets our signals
            "RABBITMQ_NODENAME": "carillon@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_CONF_ENV_FILE": str(self.directory / "none"),
            "RABBITMQ_CONFIG_FILE": str(self.directory / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.directory / "plugins"),
            "RABBITMQ_LOG_BASE": str(self.directory),
            "RABBITMQ_MNESIA_BASE": str(self.directory / "data"),
        }
        self._server("epmd", epmd, ["epmd", "-address", "127.0.0.1", "-port", str(epmd)])
        self._node = self._server("rabbitmq", port, [str(RABBITMQ)], self.environment)

    @property
    def main(self) -> Child:
        return self._node

    def empty(self) -> None:
        super().empty()
        with Connection(self.variables["BROKER_URL"], connect_timeout=2) as connection:
            connection.ensure_connection(max_retries=60, interval_start=1, interval_step=0)
            for name in (*settings.QUEUES, "marker"):
                queue = Queue(name)(connection.default_channel)
                queue.queue_declare()
                queue.purge()


class Sentinels(_Supervised):
    """A primary, a replica and three Sentinels. Who was killed comes back when another one is the primary."""

    pause = 8.0

    def __init__(self) -> None:
        super().__init__("sentinels")
        program = str(EmbeddedRedis(var_dir()).locate())
        self._ports: dict[int, Child] = {}
        for number in (1, 2):
            port, data = free_port(), self.directory / f"redis{number}"
            data.mkdir()
            follows = [f"--replicaof 127.0.0.1 {next(iter(self._ports))}"] if self._ports else []
            options = [f"--port {port}", "--bind 127.0.0.1", f"--dir {data}", "--appendonly yes", *follows]
            command = [program, *" ".join(options).split(), "--save", "", "--repl-diskless-sync-delay", "0"]
            self._ports[port] = self._server(f"redis{number}", port, command)
        hosts = []
        for number in (1, 2, 3):
            port, config = free_port(), self.directory / f"sentinel{number}.conf"
            config.write_text(
                f"port {port}\nbind 127.0.0.1\nsentinel monitor {PRIMARY} 127.0.0.1 {next(iter(self._ports))} 2\n"
                f"sentinel down-after-milliseconds {PRIMARY} 2000\nsentinel failover-timeout {PRIMARY} 10000\n"
            )
            self._server(f"sentinel{number}", port, [program, str(config), "--sentinel"])
            hosts.append(f"127.0.0.1:{port}")
        self._sentinel: Any = Redis(port=port)
        self.variables = {"REDIS_URL": f"redis://{PRIMARY}/0?sentinels={','.join(hosts)}"}

    @property
    def main(self) -> Child:
        return self._ports[self.primary()]

    def primary(self) -> int:
        """The port of the primary."""
        return int(self._sentinel.sentinel_get_master_addr_by_name(PRIMARY)[1])

    def can_fail_over(self) -> bool:
        """Whether every Sentinel is known, and the replica follows."""
        with suppress(RedisError):
            state = self._sentinel.sentinel_master(PRIMARY)
            others = self._sentinel.sentinel_slaves(PRIMARY)
            return state["num-other-sentinels"] == 2 and any(
                one["master-link-status"] == "ok" and not one["is_sdown"] for one in others
            )
        return False


BROKERS: dict[str, type[Broker]] = {"redis": OneRedis, "rabbitmq": RabbitMQ, "sentinels": Sentinels}
