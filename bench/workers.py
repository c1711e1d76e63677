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
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from config import env
from config.processes import Child


class Sink:
    """The receiver, `latency` seconds slow."""

    def __init__(self, latency: float) -> None:
        self.latency = latency
        self._directory = tempfile.TemporaryDirectory()
        path = Path(self._directory.name) / "count"
        command = [sys.executable, "-m", "bench.receiver", str(path), str(latency)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout  # we asked for a pipe
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}/hook"
        self._count = mmap.mmap(os.open(path, os.O_RDWR), 8)

    @property
    def answered(self) -> int:
        count: int = struct.unpack_from("q", self._count, 0)[0]
        return count

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._directory.cleanup()


@contextmanager
def worker(pool: str, concurrency: int, processes: int, sink: Sink, **settings_too: str) -> Iterator[list[Child]]:
    """Workers with the settings of production and `settings_too`, on the database of the bench; ready at the start."""
    from django.conf import settings
    from django.db import connection

    database = connection.settings_dict
    environment = {
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
        "BENCH_SINK": sink.url,
        "LOG_LEVEL": "ERROR",
        "DATABASE_POOL": "on" if pool == "threads" else "off",
        **settings_too,
    }
    celery = [sys.executable, "-m", "celery", "-A", "config", "worker", "-I", "bench.bare"]
    celery += ["-Q", "deliveries,bulk,maintenance"]
    options = ["--pool", pool, "--concurrency", str(concurrency), "--loglevel", "ERROR"]
    children = [
        Child(
            f"worker{n}",
            [*celery, *options, "--without-mingle", "--without-gossip", "-n", f"w{n}@%h"],
            ready_sign=".> maintenance",
            environment=environment,
        )
        for n in range(processes)
    ]
    for child in children:
        child.start()
    deadline = time.monotonic() + 60
    while not all(child.is_ready() for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    try:
        yield children
    finally:
        for child in children:
            child.stop(5.0)


def memory_of(children: list[Child]) -> int:
    """MiB of all their processes, shared pages counted once (PSS)."""
    kib = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(status.read_text().rpartition(")")[2].split()[2]) in {child.pid for child in children}:
                lines = (status.parent / "smaps_rollup").read_text().splitlines()
                kib += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return kib // 1024


def own_redis_database(app: Any) -> None:
    """The last of the sixteen, so that workers with production's settings get no messages of others."""
    from django.conf import settings

    settings.REDIS_URL = settings.REDIS_URL.replace("?db=0", "?db=15")  # of the embedded Redis, see script/bench
    settings.CELERY_BROKER_URL = app.conf.broker_url = env.broker(settings.REDIS_URL)
    options = app.conf.broker_transport_options | {"global_keyprefix": "carillon:"}
    app.conf.broker_transport_options = options
