"""Two workers, two beats, a web process where wanted, a sink, PostgreSQL and the broker.

A child that dies is restarted, as by a service manager.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Self

from bench.faults.brokers import Broker, signal_engine
from bench.servers import Postgres as Server
from common.database.fault_points import POINTS, Point
from config.embedded import var_dir
from config.embedded.postgres import Postgres
from config.processes.commands import web_command
from demo.child import Child
from demo.ports import free_port

_CELERY = [sys.executable, "-m", "celery", "-A", "config"]
# Without messages between workers, which take a second at each start.
_QUICK = ["--loglevel", "WARNING", "--without-mingle", "--without-gossip"]
_WORKER = [*_CELERY, "worker", *_QUICK]
# Threads as many as by default.
_POOLS = {"threads": ["--pool", "threads"], "prefork": ["--pool", "prefork", "--concurrency", "2"]}
_BEAT = [*_CELERY, "beat", "--loglevel", "INFO"]


class Cluster:
    """A context manager. `directory`: logs and fault points. `environment`: for workers and beats. `server`: if not the
    embedded one."""

    def __init__(
        self,
        directory: Path,
        pool: str,
        broker: Broker,
        web: bool = False,
        server: Server | None = None,
        **environment: str,
    ) -> None:
        self.directory, self.pool = directory, pool
        self._environment = environment
        self._ordered: set[tuple[str, Point]] = set()
        self.ended: list[str] = []  # processes that were started again
        self.postgres: Server | Postgres = server or Postgres(var_dir())
        self.broker = broker
        self.workers = [self._worker(f"worker{n}", "deliveries,events,jobs,bulk,maintenance") for n in (1, 2)]
        self.beats = [self._child(f"beat{n}", _BEAT) for n in (1, 2, 3)]
        self.web_port = free_port()
        self.web = self._child("web1", web_command("127.0.0.1", self.web_port))
        self._wanted: set[Child] = {*self.workers, *self.beats[:2], *([self.web] if web else [])}
        self._children = [*self.beats, *self.workers, self.web]
        self._closing = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise)

    def _worker(self, name: str, queues: str) -> Child:
        return self._child(name, [*_WORKER, "-Q", queues, *_POOLS[self.pool], "-n", f"{name}@%h"])

    def _child(self, name: str, command: list[str]) -> Child:
        fault_points = self.directory / f"points-{name[:-1]}"
        fault_points.mkdir(exist_ok=True)

        def on_line(line: str, name: str) -> None:
            self._log.write(f"{time.time():.2f} {name} {line}\n")

        is_worker = "worker" in command
        sign = "exchange=" if is_worker else "beat: Starting..."
        check = self._answers if name.startswith("web") else None
        shared = "on" if check or (is_worker and self.pool == "threads") else "off"
        level = {"LOG_LEVEL": "WARNING", "DATABASE_POOL": shared, "CARILLON_FAULT_POINTS": str(fault_points)}
        level |= self._environment
        return Child(name, command, ready_sign=sign, ready_check=check, environment=level, on_line=on_line)

    def _answers(self) -> bool:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", self.web_port), timeout=1).close()
            return True
        return False

    def __enter__(self) -> Self:
        self._log = (self.directory / "processes.log").open("a", buffering=1)
        sink = [sys.executable, "-m", "bench.faults.sink", str(self.directory / "arrivals")]
        self._sink = subprocess.Popen(sink, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._sink.stdout
        self.sink_port = int(self._sink.stdout.readline())
        self._supervisor.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.heal()
        self._closing.set()
        self._supervisor.join()
        for child in self._children:
            child.stop(0.0)
        self._sink.kill()
        self._sink.wait()
        for pipe in (self._sink.stdin, self._sink.stdout):
            assert pipe
            pipe.close()
        self._log.close()

    def _supervise(self) -> None:
        """Start all children in this thread: they get a signal when the thread that started them ends."""
        while not self._closing.wait(0.05):
            for child in self._children:
                if child in self._wanted and (child.pid == 0 or child.exit_status() is not None):
                    if child.pid:
                        self.ended.append(child.name)
                        child.stop(0.0)  # its own children
                    child.start()

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + 180
        while not all(child.is_ready() for child in self._wanted):
            if time.monotonic() > deadline:
                raise TimeoutError(f"The cluster does not stand; see {self._log.name}")
            time.sleep(0.05)

    def want(self, child: Child) -> None:
        self._wanted.add(child)

    def add(self, name: str, command: list[str]) -> None:
        """Run a further program."""
        self._add(self._child(name, command))

    def add_worker(self, name: str, queue: str) -> Child:
        """Run a further worker, of one queue."""
        return self._add(self._worker(name, queue))

    def _add(self, child: Child) -> Child:
        self._children.append(child)
        self.want(child)
        return child

    def dismiss(self, child: Child) -> None:
        """Kill it and do not start it again."""
        self._wanted.discard(child)
        self.kill(child)

    @staticmethod
    def kill(child: Child, by: signal.Signals = signal.SIGKILL) -> None:
        """It and all that it started."""
        if child.pid:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, by)

    @staticmethod
    def ask_to_stop(child: Child) -> None:
        """SIGTERM to the main process alone, as a service manager does."""
        with suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGTERM)

    @staticmethod
    def pool_of(worker: Child) -> list[int]:
        """The worker's own processes, which do the work."""
        with suppress(FileNotFoundError):
            return [int(pid) for pid in Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()]
        return []

    def order(self, whom: str, point: Point, order: str) -> None:
        """The next one at `point` obeys `order`, see `fault_points`. `whom`: "worker", "watcher" (of jobs), "beat"…"""
        if point not in POINTS:
            raise ValueError(f"The code has no fault point called “{point}”.")
        self._ordered.add((whom, point))
        directory = self.directory / f"points-{whom}"
        fresh = directory / ".new"
        fresh.write_text(order)
        fresh.rename(directory / point)

    def is_ordered(self, whom: str, point: Point) -> bool:
        """Whether nobody has taken the last order there."""
        return (self.directory / f"points-{whom}" / point).exists()

    def forget_taken(self, whom: str, point: Point) -> None:
        """`took` tells of processes that take an order there from now on."""
        for taken in (self.directory / f"points-{whom}").glob(f"taken-{point}-*"):
            taken.rename(taken.with_name(f".{taken.name}"))

    def check_points(self) -> None:
        """Raise if a fault has never happened: no process has ever reached a point for which there was an order."""
        for whom, point in sorted(self._ordered):
            if not any((self.directory / f"points-{whom}").glob(f"*taken-{point}-*")):
                raise RuntimeError(f"No {whom} has reached the fault point “{point}”.")

    def first_arrival_after(self, instant: float) -> float:
        """When the sink got the first message after `instant`; seconds of the epoch, infinite for never."""
        lines = (self.directory / "arrivals").read_text().splitlines()
        return min((at for line in lines if (at := float(line.split(" ", 1)[0])) > instant), default=float("inf"))

    def longest_silence(self, start: float, end: float) -> float:
        """The most seconds between two arrivals then; seconds of the epoch."""
        lines = (self.directory / "arrivals").read_text().splitlines()
        times = [start, *(at for line in lines if start < (at := float(line.split(" ", 1)[0])) < end)]
        return max(later - one for one, later in pairwise([*times, end]))

    def took(self, whom: str, point: str) -> list[int]:
        """The processes that took an order there."""
        orders = (self.directory / f"points-{whom}").glob(f"taken-{point}-*")
        return [int(path.name.rpartition("-")[2]) for path in orders]

    def slow_sink(self) -> AbstractContextManager[None]:
        """The sink waits before each answer."""
        return self._marked("slow")

    def source_away(self) -> AbstractContextManager[None]:
        """The sink answers no check of a job."""
        return self._marked("away")

    @contextmanager
    def _marked(self, name: str) -> Iterator[None]:
        mark = self.directory / f"arrivals.{name}"
        mark.touch()
        try:
            yield
        finally:
            mark.unlink()

    def forget_orders(self) -> None:
        for point in POINTS:
            for path in self.directory.glob(f"points-*/{point}"):
                path.unlink(missing_ok=True)

    def heal(self) -> None:
        """Continue stopped processes and engines, and remove orders that nobody took."""
        self.forget_orders()
        self.broker.heal()
        signal_engine(self.postgres, signal.SIGCONT)
        for child in self._children:
            self.kill(child, signal.SIGCONT)
