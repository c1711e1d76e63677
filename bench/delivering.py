"""What `bench.deliver` stands on: a receiver and a worker in processes of their own, and rows in bulk."""

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
from urllib.parse import urlsplit
from uuid import UUID

from config import env
from config.processes import Child


class Sink:
    """The receiver, `latency` seconds slow."""

    def __init__(self, latency: float) -> None:
        self._directory = tempfile.TemporaryDirectory()
        path = Path(self._directory.name) / "count"
        command = [sys.executable, "-m", "bench.receiver", str(path), str(latency)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout  # noqa: S101  # we asked for a pipe
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
    """Workers of production's settings, and of `settings_too`, on the bench's database; ready when the block begins."""
    from django.conf import settings
    from django.db import connection

    database = connection.settings_dict
    environment = {
        "DATABASE_URL": f"postgresql://{database['USER']}@/{database['NAME']}?host={database['HOST']}",
        "REDIS_URL": settings.REDIS_URL,
        "SECRET_KEY": settings.SECRET_KEY,
        "ENCRYPTION_KEYS": ",".join(settings.ENCRYPTION_KEYS),
        "ALLOWED_NETWORKS": "127.0.0.0/8",
        # Asked for each delivery as ever, and never reached.
        "WEBHOOKS_PER_SECOND": "100000",
        "SENDS_PER_PERSON_PER_DAY": "1000000",
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
            child.stop(5.0, lambda: False)


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


def make_deliveries(channel: Any, count: int) -> list[UUID]:
    """`count` deliveries that are due and not published."""
    from common.uuid7 import uuid7
    from notifications.deliveries import outbox
    from notifications.deliveries.outbox import NewNotification
    from notifications.models import Notification

    made: list[UUID] = []
    for start in range(0, count, 1000):
        new = [
            NewNotification(
                user_id=channel.user_id,
                channels=[(channel.id, channel.provider)],
                subject="Water the plants",
                body="All of them.",
                origin=Notification.Origin.SCHEDULE,
                batch_id=uuid7(),
            )
            for _ in range(min(1000, count - start))
        ]
        made += [wake.delivery_id for wake in outbox.record(new)]
    return made


def make_waiting(channel: Any, count: int) -> None:
    """`count` pending deliveries more, in plain SQL: due, published, and not yet claimed."""
    from django.db import connection, transaction

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # a million foreign keys need no proof here
        cursor.execute(
            """
            WITH n AS (
                INSERT INTO notifications_notification (id, batch_id, user_id, origin, subject, body)
                SELECT gen_random_uuid(), gen_random_uuid(), %s, 'schedule', 'Waits', '' FROM generate_series(1, %s)
                RETURNING id
            )
            INSERT INTO notifications_delivery (id, notification_id, channel_id, provider, state, available_at, wake_at,
                                                wakes, tries, replays)
            SELECT gen_random_uuid(), id, %s, 'webhook', 'pending', now(), now() + interval '1 day', 0, 0, 0 FROM n
            """,
            [channel.user_id, count, channel.id],
        )
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE notifications_delivery, notifications_notification")


def own_redis_database(app: Any) -> None:
    """The last of the sixteen, so that workers with production's settings meet nobody else's messages."""
    from django.conf import settings

    url = urlsplit(settings.REDIS_URL)
    own = url._replace(query="db=15") if url.scheme == "unix" else url._replace(path="/15")
    settings.REDIS_URL = own.geturl()
    settings.CELERY_BROKER_URL = app.conf.broker_url = env.broker(settings.REDIS_URL)
    options = app.conf.broker_transport_options | {"global_keyprefix": "carillon:"}
    app.conf.broker_transport_options = options
