"""`script/bench capacity [--n N] [--rounds N] [--installations N] [--json]`: the cost of each unit of work.

A reminder's delivery by webhook, an event with one rule and its delivery, a check at GitHub with what it says, and a
ping of a watch that is up. For each: CPU of the workers and of PostgreSQL, WAL, rows and bytes on disk; that of a web
process for a ping is in `script/bench pings`. From that follows what 1, 100 and 10,000 deliveries a second need. Then a
day of many installations is simulated, in which most reminders are due at the full hours of the morning and evening, as
people set them: the peer of a peak is the mean.
"""

from __future__ import annotations

import random
import statistics
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.environment import arguments, clear_broker, environment, report
from bench.workers import Sink, beat, cpu_of, own_redis_database, worker
from demo.child import Child

_HOSTS = 32
_PINGS_TOGETHER = 10  # of a statement, as they come while the one before runs
_RATES = (1, 100, 10_000)
_SIZES = """
SELECT sum(n_live_tup)::bigint AS rows, sum(pg_total_relation_size(relid))::bigint AS bytes FROM pg_stat_user_tables
"""
_HOUR_WEIGHTS = {7: 3, 8: 6, 9: 10, 10: 4, 12: 4, 14: 2, 17: 4, 18: 6, 19: 5, 20: 6, 21: 4, 22: 2}


@dataclass
class Cost:
    """Of one unit of work."""

    workers_ms: float
    postgres_ms: float
    wal: float
    rows: float
    bytes: float

    def row(self) -> dict[str, Any]:
        return {
            "workers CPU ms": round(self.workers_ms, 2),
            "PostgreSQL CPU ms": round(self.postgres_ms, 2),
            "WAL bytes": round(self.wal),
            "rows": round(self.rows, 1),
            "bytes": round(self.bytes),
        }


def main() -> None:
    parser = arguments("capacity")
    parser.add_argument("--n", type=int, default=2_000, help="units of work a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--installations", type=int, default=1_000)
    options = parser.parse_args()
    sink, source = Sink(0.0), Sink(0.0, "github")
    try:
        with environment() as app:
            own_redis_database(app)
            urls = {"BENCH_SINKS": ",".join(sink.urls(_HOSTS)), "GITHUB_URL": source.origin}
            with worker("threads", 512, 2, sink, **urls) as workers, beat(sink):
                costs = measure(_works(sink), options.n, options.rounds, workers)
            clear_broker(app)
    finally:
        sink.close()
        source.close()
    delivery = costs.pop("delivery")
    peers = {name: cost.row() for name, cost in costs.items()}
    peers |= {f"{rate:,} deliveries a second": needs(delivery, rate) for rate in _RATES}
    peers[f"{options.installations:,} installations"] = simulate(options.installations, delivery)
    ratios = {
        f"{name} to a delivery, CPU": round(cost.workers_ms / delivery.workers_ms, 2) for name, cost in costs.items()
    }
    report("capacity", 1, delivery.row(), peers, ratios)


def measure(works: dict[str, Callable[[int], None]], n: int, rounds: int, workers: list[Child]) -> dict[str, Cost]:
    """The medians of interleaved rounds, after one that warms up."""
    found: dict[str, list[Cost]] = {name: [] for name in works}
    for number in range(rounds + 1):
        for name, work in works.items():
            before = _now(workers)
            work(n)
            after = _now(workers)
            each = [(later - earlier) / n for earlier, later in zip(before, after, strict=True)]
            if number:
                found[name].append(Cost(*each))
    return {
        name: Cost(*(statistics.median(getattr(cost, field) for cost in costs) for field in Cost.__annotations__))
        for name, costs in found.items()
    }


def _now(workers: list[Child]) -> tuple[float, float, float, float, float]:
    from django.db import connection

    from common.database.postgres import query

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8")
        [wal] = cursor.fetchone()
    [sizes] = query(_SIZES, [])
    return cpu_of(workers) * 1000, postgres_ms(), wal, float(sizes.rows), float(sizes.bytes)


def postgres_ms() -> float:
    """CPU that the server of the bench has used since its start: its backends, and those that have ended."""
    from common.database.postgres import query

    [backend] = query("SELECT pg_backend_pid() AS pid", [])
    postmaster = Path(f"/proc/{backend.pid}/stat").read_text().rpartition(")")[2].split()[1]
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            if process.name == postmaster:
                total += sum(map(int, fields[11:15]))  # its own, and of children that it has waited for
            elif fields[1] == postmaster:
                total += sum(map(int, fields[11:13]))
    return total * 10.0  # a tick is 10 ms


def _works(sink: Sink) -> dict[str, Callable[[int], None]]:
    """What does `n` units and waits until their records are complete."""
    from bench import bare
    from bench.check import check, make_people
    from bench.rows import make_channel, make_deliveries, make_user, make_watches
    from events.intake import ledger
    from events.models import Event, Rule
    from events.pure.envelope import Envelope
    from notifications.deliveries.kind import DELIVERY
    from notifications.models import Delivery
    from watches import pings
    from watches.models import Watch
    from work.broker import wakes

    def channel() -> Any:
        return make_channel(make_user(), "webhook", {"url": random.choice(sink.urls(_HOSTS))}, {"secret": bare.SECRET})

    channels = [channel() for _ in range(200)]
    reminders: list[Any] = []
    watched: list[Any] = []

    def wait() -> None:
        give_up_at = time.monotonic() + 120
        while (
            Event.objects.filter(settled_at=None).exists() or Delivery.objects.filter(state__in=Delivery.OPEN).exists()
        ):
            if time.monotonic() > give_up_at:
                raise SystemExit("The workers do not finish the work")
            time.sleep(0.05)

    def deliver(n: int) -> None:
        ids = [key for one in channels for key in make_deliveries(one, n // len(channels))]
        random.shuffle(ids)
        wakes.publish(wakes.Wake(DELIVERY.task, key) for key in ids)
        wait()

    def handle(n: int) -> None:
        for one in channels:
            Rule.objects.get_or_create(user_id=one.user_id, name="Orders", type_pattern="order.*", title="Order")[
                0
            ].channels.add(one)
            data = {"order_id": 7, "amount": 129.5, "items": ["apples", "pears"]}
            events = [Envelope(type="order.paid", source="shop", data=data) for _ in range(n // len(channels))]
            ledger.record(one.user_id, events)
        wait()

    def look(n: int) -> None:
        if not reminders:
            reminders.extend(make_people(n))
        check(reminders)

    def ping(n: int) -> None:
        if not watched:
            make_watches(n)
            watched.extend(Watch.objects.values_list("token", flat=True))
        for start in range(0, n, _PINGS_TOGETHER):
            pings.record([pings.NewPing(token, "success") for token in watched[start : start + _PINGS_TOGETHER]])

    return {"delivery": deliver, "event": handle, "check": look, "ping": ping}


def needs(delivery: Cost, rate: int) -> dict[str, Any]:
    """What so many deliveries a second need, if all of them come evenly."""
    day = rate * 86_400
    return {
        "workers CPU ms": "-",
        "cores": round(rate * (delivery.workers_ms + delivery.postgres_ms) / 1000, 2),
        "WAL a day": _size(day * delivery.wal),
        "disk of 365 days": _size(day * 365 * delivery.bytes),
    }


def simulate(count: int, delivery: Cost) -> dict[str, Any]:
    """One day of so many installations: the mean and the fullest minute of all their reminders together.

    An installation has 5 to 5,000 daily reminders (log-normal, median 100), 1.3 channels each. Six of ten are due at a
    full hour, two at a half, the others at any minute; hours as people choose them, all in one zone: the worst case.
    """
    chance = random.Random(1)
    minutes: Counter[int] = Counter()
    for _ in range(count):
        reminders = min(5_000, max(5, round(chance.lognormvariate(4.6, 1.2))))
        hours = chance.choices(list(_HOUR_WEIGHTS), list(_HOUR_WEIGHTS.values()), k=reminders)
        for hour, kind in zip(hours, chance.choices("hfm", (6, 2, 2), k=reminders), strict=True):
            minute = {"h": 0, "f": 30}.get(kind) if kind != "m" else chance.randrange(60)
            minutes[hour * 60 + (minute or 0)] += 2 if chance.random() < 0.3 else 1
    total, fullest = sum(minutes.values()), max(minutes.values())
    each = (delivery.workers_ms + delivery.postgres_ms) / 1000
    return {
        "a day": total,
        "a second, mean": round(total / 86_400, 1),
        "fullest minute": fullest,
        "s for it on 2 cores": round(fullest * each / 2, 1),
        "WAL a day": _size(total * delivery.wal),
        "disk of 365 days": _size(total * 365 * delivery.bytes),
    }


def _size(count: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


if __name__ == "__main__":
    main()
