"""`script/bench counter [--writers N] [--seconds N] [--rounds N] [--json]`: additions to one counter, of 32 rows or 1.

Writers in threads add 1, each in a transaction that lasts some milliseconds longer, as one does that also writes
something else, or is far from its database. The one row is the same statement, which always chooses the same shard.
Both take turns; a ratio is the median over the rounds.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING
from unittest.mock import patch

from bench.environment import arguments, environment, report

if TYPE_CHECKING:  # models cannot be imported before the setup
    from people.models import User

HELD = (0, 5, 20)  # ms


def main() -> None:
    parser = arguments("counter")
    parser.add_argument("--writers", type=int, default=48)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each round")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    shards: dict[str, Callable[[int], int]] = {"ours": random.randrange, "one row": lambda _: 0}
    found: dict[str, dict[str, float]] = {name: {} for name in shards}
    ratios = {}
    with environment():
        from bench.rows import make_user
        from counters import totals

        user = make_user()
        for held in HELD:
            rates: dict[str, list[float]] = {name: [] for name in shards}
            for _ in range(options.rounds):
                for name, choose in shards.items():
                    before = totals.values(user).get("bench", 0)
                    with (
                        patch.object(random, "randrange", choose),
                        ThreadPoolExecutor(options.writers) as pool,
                    ):
                        end = time.perf_counter() + options.seconds
                        made = sum(pool.map(partial(write, user, held / 1000), [end] * options.writers))
                    if totals.values(user)["bench"] - before != made:
                        raise SystemExit("An addition was lost or counted twice")
                    rates[name].append(made / options.seconds)
            for name, each in rates.items():
                found[name][f"held {held} ms"] = round(statistics.median(each))
            pairs = zip(rates["ours"], rates["one row"], strict=True)
            ratios[f"held {held} ms"] = round(statistics.median(ours / one for ours, one in pairs), 1)
    report("counter", 0, found.pop("ours"), found, ratios)


def write(user: User, held: float, end: float) -> int:
    """Add until `end`, in transactions that last `held` seconds longer; returns how often."""
    from django.db import connection, transaction

    from counters import totals

    made = 0
    try:
        while time.perf_counter() < end:
            with transaction.atomic():
                totals.add(user, "bench", 1)
                if held:
                    time.sleep(held)
            made += 1
    finally:
        connection.close()
    return made


if __name__ == "__main__":
    main()
