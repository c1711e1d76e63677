"""`script/bench idle [--schedules N] [--rounds N] [--json]`: the cost of beat while nothing is due.

Each size has its own database, with as many watches that are up as schedules, and is measured in its own processes: its
start until the first tick is done, the median tick, its memory, and the median edit of a schedule. The sizes take
turns, since the speed of the machine drifts, and each value is the median of the rounds. The million takes a minute or
two to write.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from itertools import pairwise

from bench.environment import arguments, children_environment, environment, report, set_up


def main() -> None:
    parser = arguments("idle")
    parser.add_argument("--schedules", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--beat-started", type=float, help=argparse.SUPPRESS
    )  # how it calls itself, for one measurement
    options = parser.parse_args()
    if options.beat_started:
        return measure_beat(options.beat_started)
    sizes = [size for size in (1_000, 100_000) if size < options.schedules] + [options.schedules]
    with environment(), ExitStack() as homes:
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
    """A database with `size` schedules, where the bench's own has `written` of them; yields its name."""
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

    from bench.rows import make_schedules, make_watches
    from schedules.firing import fire

    make_schedules(count, fire.read_clock().now.replace(microsecond=0) + timedelta(days=3))
    make_watches(count)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def measure(database: str) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.idle", "--beat-started", repr(time.time())]
    done = subprocess.run(command, env=os.environ | children_environment(database), stdout=subprocess.PIPE, check=True)
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def measure_beat(started: float) -> None:
    """One beat among idle schedules; prints one JSON object."""
    app = set_up()
    from schedules.beat.scheduler import Scheduler

    beat = Scheduler(app=app)
    beat.tick()
    took = time.time() - started
    for _ in range(30):
        beat.tick()  # sends the stock entries that are due, and settles
    tick = median_ms(beat.tick, 300)
    with open("/proc/self/status") as file:
        memory = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    edit = median_ms(make_edit(), 60)
    print(
        json.dumps({"start s": round(took, 2), "tick ms": tick, "memory MiB": round(memory / 1024, 1), "edit ms": edit})
    )


def median_ms(act: Callable[[], object], times: int) -> float:
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        act()
        spent.append(time.perf_counter() - began)
    return round(statistics.median(spent) * 1000, 2)


def make_edit() -> Callable[[], object]:
    from schedules.changes import editing
    from schedules.firing import fire
    from schedules.models import Schedule

    schedules = list(Schedule.objects.order_by("id")[:60])
    channels = [list(schedule.channels.all()) for schedule in schedules]
    now = fire.read_clock().now
    waiting = iter(zip(schedules, channels, strict=True))

    def edit() -> object:
        schedule, channels = next(waiting)
        schedule.kind, schedule.rule = "daily", {"time": "18:30"}
        return editing.reschedule(schedule, now, channels)

    return edit


if __name__ == "__main__":
    main()
