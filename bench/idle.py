"""`script/bench idle [--schedules N] [--rounds N] [--json]`: what a beat costs while nothing is due, by how many wait.

Each size has a database of its own and is measured in processes of its own (`bench.idling`): its start until the first
tick is done, the median tick, its memory, and the median edit of a schedule. The sizes take turns, since the machine's
speed drifts, and each value is the median of the rounds. The million takes a minute or two to write.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from itertools import pairwise

from bench.ground import children_environment, ground, report


def main() -> None:
    parser = argparse.ArgumentParser(prog="script/bench idle")
    parser.add_argument("--schedules", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sizes = [size for size in (1_000, 100_000) if size < options.schedules] + [options.schedules]
    with ground(), ExitStack() as homes:
        databases = {size: homes.enter_context(home(size, written)) for written, size in pairwise([0, *sizes])}
        rounds = [{size: measure(database) for size, database in databases.items()} for _ in range(options.rounds)]
    measured = {size: medians([one[size] for one in rounds]) for size in sizes}
    smallest, largest = measured[sizes[0]], measured[sizes[-1]]
    ratios = {
        f"{name}, {sizes[-1]:,} to {sizes[0]:,}": round(largest[name] / smallest[name], 2)
        for name in ("tick ms", "memory MiB")
    }
    peers = {f"ours, {size:,}": values for size, values in measured.items() if size != sizes[-1]}
    report("idle", 0, {"schedules": sizes[-1], **largest}, peers, ratios)


@contextmanager
def home(size: int, written: int) -> Iterator[str]:
    """A database with `size` schedules, where the ground's has `written` of them; yields its name."""
    from django.db import connection

    write(size - written)
    own, name = connection.settings_dict["NAME"], f"bench_idle_{size}"
    connection.close()
    with connection._nodb_cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {name}")
        cursor.execute(f'CREATE DATABASE {name} TEMPLATE "{own}"')
        cursor.execute("CHECKPOINT")
    try:
        yield name
    finally:
        with connection._nodb_cursor() as cursor:
            cursor.execute(f"DROP DATABASE {name}")


def medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {name: round(statistics.median(one[name] for one in rounds), 2) for name in rounds[0]}


def write(count: int) -> None:
    from django.db import connection

    from bench.firing import make_schedules
    from schedules.firing import fire

    make_schedules(count, fire.read_clock().now.replace(microsecond=0) + timedelta(days=3))
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def measure(database: str) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.idling", repr(time.time())]
    environment = os.environ | children_environment(database)
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


if __name__ == "__main__":
    main()
