"""`script/bench idle [--schedules N] [--json]`: what a beat costs while nothing is due, by how many schedules wait.

Each size is measured in a process of its own (`bench.idling`): its start until the first tick is done, the median tick,
its memory, and the median edit of a schedule. The million takes a minute or two to write.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from datetime import timedelta
from typing import Any

from bench.ground import children_environment, ground, report


def main() -> None:
    parser = argparse.ArgumentParser(prog="script/bench idle")
    parser.add_argument("--schedules", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sizes = [size for size in (1_000, 100_000) if size < options.schedules] + [options.schedules]
    measured: dict[int, dict[str, Any]] = {}
    with ground():
        written = 0
        for size in sizes:
            write(size - written)
            written = size
            measured[size] = measure()
    smallest, largest = measured[sizes[0]], measured[sizes[-1]]
    ratios = {
        f"{name}, {sizes[-1]:,} to {sizes[0]:,}": round(largest[name] / smallest[name], 2)
        for name in ("tick ms", "memory MiB")
    }
    peers = {f"ours, {size:,}": values for size, values in measured.items() if size != sizes[-1]}
    report("idle", 0, {"schedules": sizes[-1], **largest}, peers, ratios)


def write(count: int) -> None:
    from django.db import connection

    from bench.firing import make_schedules
    from schedules import firing

    make_schedules(count, firing.read_clock().now.replace(microsecond=0) + timedelta(days=3))
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def measure() -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.idling", repr(time.time())]
    done = subprocess.run(command, env=os.environ | children_environment(), stdout=subprocess.PIPE, check=True)
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


if __name__ == "__main__":
    main()
