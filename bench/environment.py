"""A database and queues for one bench, and the report at its end."""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import redis

PREFIX = "carillon-bench:"
QUOTAS = ("EVENTS_PER_PERSON_PER_MINUTE", "EVENTS_PER_PERSON_PER_DAY", "EVENT_MEGABYTES_PER_PERSON_PER_DAY")
"""Settings without which one person publishes as much as a bench wants."""


def set_up() -> Any:
    """Set Django up and return the Celery application, with queues that nothing else uses."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.setdefault("CARILLON_VAR", "var/bench")
    os.environ.update(dict.fromkeys(QUOTAS, "0"))
    import django

    django.setup()
    logging.disable(logging.WARNING)
    from config.celery import app

    app.loader.import_default_modules()
    app.conf.broker_transport_options = app.conf.broker_transport_options | {"global_keyprefix": PREFIX}
    return app


@contextmanager
def environment() -> Iterator[Any]:
    """A fresh database, removed at the end; yields the Celery application."""
    app = set_up()
    from django.db import connection

    if connection.settings_dict["USER"] == "carillon":  # which may not make databases
        connection.settings_dict["USER"] = "postgres"
    own = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    try:
        clear_broker(app)
        yield app
    finally:
        clear_broker(app)
        connection.creation.destroy_test_db(own, verbosity=0)


def children_environment(database: str | None = None) -> dict[str, str]:
    """Variables that lead a child process to the broker and database of the bench, or to `database` on that server."""
    from django.conf import settings
    from django.db import connection

    held = connection.settings_dict
    where = f"host={held['HOST']}&port={held['PORT'] or 5432}"
    return {
        "DATABASE_URL": f"postgresql://{held['USER']}:{held['PASSWORD']}@/{database or held['NAME']}?{where}",
        "REDIS_URL": settings.REDIS_URL,
        "SECRET_KEY": settings.SECRET_KEY,
        "ENCRYPTION_KEYS": ",".join(settings.ENCRYPTION_KEYS),
        **dict.fromkeys(QUOTAS, "0"),
    }


def arguments(bench: str) -> argparse.ArgumentParser:
    """Of `script/bench <bench>`, with the option that `report` reads."""
    made = argparse.ArgumentParser(prog=f"script/bench {bench}")
    made.add_argument("--json", action="store_true")
    return made


def clear_broker(app: Any) -> None:
    """Remove the messages of the bench from the broker."""
    from django.conf import settings

    client = redis.Redis.from_url(settings.REDIS_URL)
    for key in client.scan_iter(f"{PREFIX}*", count=1_000):
        client.delete(key)
    client.close()


def queue_length(app: Any, queue: str = "deliveries") -> int:
    """How many messages wait in a queue."""
    with app.connection_for_write() as broker:
        return int(app.amqp.queues[queue](broker.default_channel).queue_declare(passive=False).message_count)


def transactions() -> int:
    """How many transactions this database has committed."""
    from django.db import connection

    time.sleep(1.2)  # backends report their counts at most once a second
    with connection.cursor() as cursor:
        cursor.execute("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def machine() -> str:
    with open("/proc/meminfo") as file:
        memory = round(int(file.readline().split()[1]) / 1024**2)
    return f"{os.cpu_count()} cores, {memory} GiB, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}"


def report(
    bench: str, seed: int, ours: Mapping[str, Any], peers: Mapping[str, Any], ratios: Mapping[str, float]
) -> None:
    """The table, and with --json one object on the last line."""
    print(f"{bench}, on {machine()}")
    rows = [("ours", ours), *peers.items()]
    columns = list(dict.fromkeys(name for _, values in rows for name in values))
    width = max(len(name) for name, _ in rows)
    print(" " * width, *(f"{column:>16}" for column in columns))
    for name, values in rows:
        print(f"{name:<{width}}", *(f"{values.get(column, '-'):>16}" for column in columns))
    for name, ratio in ratios.items():
        print(f"ratio {name}: {ratio}")
    if "--json" in sys.argv:
        result = {"bench": bench, "machine": machine(), "ours": ours, "peers": peers, "ratios": ratios, "seed": seed}
        print(json.dumps(result))
