"""A receiver and workers in processes of their own, for the benches of deliveries."""

from __future__ import annotations

import mmap
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import redis

from config.environment import engine_urls
from demo.child import Child


class Sink:
    """The receiver, `latency` seconds slow; as "github", it answers as GitHub does."""

    def __init__(self, latency: float, service: str = "") -> None:
        self.latency = latency
        self._directory = tempfile.TemporaryDirectory()
        path = Path(self._directory.name) / "count"
        command = [sys.executable, "-m", "bench.receiver", str(path), str(latency), service]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout  # we asked for a pipe
        self._port = int(self._process.stdout.readline())
        self.origin = f"http://127.0.0.1:{self._port}"
        self.url = f"{self.origin}/hook"
        self._count = mmap.mmap(os.open(path, os.O_RDWR), 8)

    def urls(self, hosts: int) -> list[str]:
        """Its address under so many names, each of which counts as a host."""
        return [f"http://127.0.0.{number}:{self._port}/hook" for number in range(1, hosts + 1)]

    @property
    def answered(self) -> int:
        count: int = struct.unpack_from("q", self._count, 0)[0]
        return count

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._directory.cleanup()


@contextmanager
def worker(
    pool: str,
    concurrency: int,
    processes: int,
    sink: Sink,
    queues: str = "deliveries,events,jobs,bulk,maintenance",
    **settings_too: str,
) -> Iterator[list[Child]]:
    """Workers with the settings of production and `settings_too`, on the database of the bench; ready at the start."""
    options = ["-I", "bench.bare", "-Q", queues, "--pool", pool]
    with _running("config", options, concurrency, processes, sink, settings_too) as children:
        yield children


@contextmanager
def stock_worker(concurrency: int, sink: Sink, **settings_too: str) -> Iterator[list[Child]]:
    """One that `celery worker` starts for an application without settings."""
    with _running("bench.stock", ["--pool", "prefork"], concurrency, 1, sink, settings_too) as children:
        yield children


@contextmanager
def _running(
    app: str, options: list[str], concurrency: int, processes: int, sink: Sink, settings_too: dict[str, str]
) -> Iterator[list[Child]]:
    environment = _environment(sink) | settings_too
    celery = [sys.executable, "-m", "celery", "-A", app, "worker", *options, "--concurrency", str(concurrency)]
    celery += ["--loglevel", "ERROR", "--without-mingle", "--without-gossip"]
    children = [
        Child(f"worker{n}", [*celery, "-n", f"{app}{n}@%h"], ready_sign="exchange=", environment=environment)
        for n in range(processes)
    ]
    with _started(children):
        yield children


@contextmanager
def _started(children: list[Child]) -> Iterator[None]:
    for child in children:
        child.start()
    deadline = time.monotonic() + 60
    while not all(child.is_ready() for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    try:
        yield
    finally:
        for child in children:
            child.stop(5.0)


@contextmanager
def beat(sink: Sink) -> Iterator[None]:
    """Beat; ready at the start."""
    command = [sys.executable, "-m", "celery", "-A", "config", "beat", "--loglevel", "INFO"]
    child = Child(
        "beat", command, ready_sign="beat: Starting...", environment=_environment(sink), on_line=lambda *_: None
    )
    with _started([child]):
        yield


def _environment(sink: Sink) -> dict[str, str]:
    from django.conf import settings
    from django.db import connection

    database = connection.settings_dict
    return {
        "DATABASE_URL": f"postgresql://{database['USER']}@/{database['NAME']}?host={database['HOST']}",
        "REDIS_URL": settings.REDIS_URL,
        "SECRET_KEY": settings.SECRET_KEY,
        "ENCRYPTION_KEYS": ",".join(settings.ENCRYPTION_KEYS),
        "ALLOWED_NETWORKS": "127.0.0.0/8",
        # Checked for each delivery, and never reached.
        "WEBHOOKS_PER_SECOND": "100000",
        "SENDS_PER_PERSON_PER_DAY": "1000000",
        # All deliveries go to one host, which answers at once or is made to be slow.
        **({"SENDS_AT_ONCE": "100000"} if sink.latency else {}),
        "BENCH_BROKER": settings.CELERY_BROKER_URL,
        "BENCH_SINKS": sink.url,
        "LOG_LEVEL": "ERROR",
    }


def memory_of(children: list[Child]) -> int:
    """MiB of all their processes, shared pages counted once (PSS)."""
    lines = [line for text in _read(children, "smaps_rollup") for line in text.splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) // 1024


def cpu_of(children: list[Child]) -> float:
    """Seconds of CPU that their process groups have used, with the children that have ended."""
    ticks = sum(sum(map(int, text.rpartition(")")[2].split()[11:13])) for text in _read(children, "stat"))
    return ticks / os.sysconf("SC_CLK_TCK")


def _read(children: list[Child], name: str) -> Iterator[str]:
    """A file of /proc for each process of their groups."""
    groups = {child.pid for child in children}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            if os.getpgid(int(process.name)) in groups:
                yield (process / name).read_text()


def own_redis_database(app: Any) -> None:
    """The last of the sixteen, so that workers with production's settings get no messages of others."""
    from django.conf import settings

    settings.REDIS_URL = settings.REDIS_URL.replace("?db=0", "?db=15")  # of the embedded Redis, see script/bench
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.flushdb()
    settings.CELERY_BROKER_URL = app.conf.broker_url = engine_urls.broker(settings.REDIS_URL)
    options = app.conf.broker_transport_options | {"global_keyprefix": "carillon:"}
    app.conf.broker_transport_options = options
