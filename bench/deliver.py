"""`script/bench deliver [--n N] [--latency MS] [--json]`: what a delivery costs, against a bare Celery task.

The bare task makes the same POST in the same run and records nothing. It runs twice, in interleaved rounds:

- "stock worker": in what `celery worker` starts, with kombu's transport and four processes. The ratio to it is what a
  user of Celery gains or pays by using Carillon.
- "same worker": in our own workers, which speed it up too. The ratio to it is the price of the records.

Options: [--rounds 3] [--pool threads|prefork] [--concurrency 512]; with a latency, no stock worker.
"lone" is one delivery at a time, from its message to its answer.
`--queue 1000000` measures a claim, a settling and a rescue beside so many pending deliveries instead.
`--totals` measures the CPU of deliveries, and that of counting their tries later: with the totals of people and
without, in alternating rounds. A delivery itself counts nothing.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch
from uuid import UUID, uuid4

from bench.capacity import postgres_ms
from bench.environment import arguments, clear_broker, environment, report, transactions
from bench.workers import Sink, cpu_of, memory_of, own_redis_database, stock_worker, worker
from demo.child import Child

_LONE = 200
# More than a host may have in flight, few enough to keep their connections. Slow ones need more.
_HOSTS, _HOSTS_SLOW = 32, 200


def main() -> None:
    parser = arguments("deliver")
    parser.add_argument("--n", type=int, default=3_000, help="deliveries a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--latency", type=int, default=0, help="milliseconds until the receiver answers")
    parser.add_argument("--pool", choices=["prefork", "threads"], default="threads")
    parser.add_argument("--concurrency", type=int)
    parser.add_argument("--queue", type=int, help="measure single statements beside so many pending deliveries")
    parser.add_argument("--totals", action="store_true", help="measure what counting costs a delivery")
    options = parser.parse_args()
    with environment() as app:
        own_redis_database(app)
        if options.totals:
            beside_totals(app, options)
        elif options.queue:
            beside_a_queue(options.queue, options.n)
        else:
            against_bare(app, options)


@dataclass
class Runner:
    """Something that does `n` jobs: `publish` starts them, `is_over` says whether their records are complete."""

    workers: list[Child]
    publish: Callable[[list[UUID]], object]
    make: Callable[[int], list[UUID]] = lambda count: [uuid4() for _ in range(count)]
    is_over: Callable[[], bool] = lambda: True
    rates: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def run(self, sink: Sink, count: int) -> None:
        ids = self.make(count)
        target, used, started = sink.answered + count, cpu_of(self.workers), time.perf_counter()
        self.publish(ids)
        while sink.answered < target or not self.is_over():
            if time.perf_counter() > started + 90:
                raise SystemExit(f"Only {sink.answered - target + count} of {count} were answered")
            time.sleep(0.01)
        self.rates.append(count / (time.perf_counter() - started))
        self.cpu.append((cpu_of(self.workers) - used) / count * 1000)

    def lone(self, sink: Sink) -> tuple[float, float]:
        """Milliseconds from a message to its answer with nothing else to do: the median, and the 99th of 100."""
        taken = []
        for key in self.make(_LONE):
            target, started = sink.answered + 1, time.perf_counter()
            self.publish([key])
            while sink.answered < target:
                time.sleep(0.0002)
            taken.append((time.perf_counter() - started) * 1000)
        return statistics.median(taken), statistics.quantiles(taken, n=100)[98]


def _ours(own: list[Child], urls: list[str]) -> Runner:
    from bench import bare
    from bench.rows import make_channel, make_deliveries, make_user
    from notifications.deliveries.kind import DELIVERY
    from notifications.models import Delivery
    from work.broker import wakes

    user = make_user()
    channels = [make_channel(user, "webhook", {"url": url}, {"secret": bare.SECRET}) for url in urls]

    def make(count: int) -> list[UUID]:
        ids = [
            key
            for position, channel in enumerate(channels)
            for key in make_deliveries(channel, count // len(channels) + (position < count % len(channels)))
        ]
        random.shuffle(ids)
        return ids

    def is_over() -> bool:
        return not Delivery.objects.filter(state__in=Delivery.OPEN).exists()

    return Runner(own, lambda ids: wakes.publish(wakes.Wake(DELIVERY.task, key) for key in ids), make, is_over)


def beside_totals(app: Any, options: argparse.Namespace) -> None:
    from work import totals

    sink = Sink(0)
    urls = sink.urls(_HOSTS)
    spent: dict[str, float] = dict.fromkeys(("deliveries", "with", "without"), 0.0)  # ms of CPU
    counted = dict.fromkeys(("with", "without"), 0)  # tries
    try:
        with worker(options.pool, 512, 2, sink, BENCH_SINKS=",".join(urls)) as own:
            ours = _ours(own, urls)
            ours.run(sink, 320)
            with patch.object(totals, "_MARGIN", 0):
                totals.count()
                for name in ("with", "without") * options.rounds:
                    spans = totals._SPANS_OF_PEOPLE if name == "with" else []
                    before = cpu_of(own) * 1000 + postgres_ms()
                    ours.run(sink, options.n)
                    spent["deliveries"] += cpu_of(own) * 1000 + postgres_ms() - before
                    before = time.process_time() * 1000 + postgres_ms()
                    with patch.object(totals, "_SPANS_OF_PEOPLE", spans):
                        counted[name] += totals.count()
                    spent[name] += time.process_time() * 1000 + postgres_ms() - before
    finally:
        sink.close()
        clear_broker(app)
    each = {name: round(ms / counted.get(name, sum(counted.values())), 4) for name, ms in spent.items()}
    people = (each["with"] - each["without"]) / each["deliveries"]
    report(
        "deliver beside totals",
        0,
        {"CPU ms": each["deliveries"], "counting ms": each["with"]},
        {"without people": {"counting ms": each["without"]}},
        {"of people": round(people, 4), "all counting": round(each["with"] / each["deliveries"], 4)},
    )


def against_bare(app: Any, options: argparse.Namespace) -> None:
    from bench import bare
    from work.broker import publisher

    processes = 1 if options.pool == "prefork" else 2
    concurrency = options.concurrency or (4 if options.pool == "prefork" else 512)
    sink = Sink(options.latency / 1000)
    urls = sink.urls(_HOSTS_SLOW if options.latency else _HOSTS)
    sinks = {"BENCH_SINKS": ",".join(urls)}

    def bare_to(queue: str) -> Callable[[list[UUID]], None]:
        return lambda ids: publisher.publish(app, bare.NAME, [(key, 0.0) for key in ids], queue)

    try:
        with (
            worker(options.pool, concurrency, processes, sink, **sinks) as own,
            stock_worker(4, sink, **sinks) as stock,
        ):
            runners = {
                "ours": _ours(own, urls),
                "bare task, stock worker": Runner(stock, bare_to("celery")),
                "bare task, same worker": Runner(own, bare_to("maintenance")),
            }
            if options.latency:  # four processes would take an hour
                del runners["bare task, stock worker"]
            for runner in runners.values():
                runner.run(sink, 320)
                runner.rates.clear()
                runner.cpu.clear()
            before = transactions()
            for _ in range(options.rounds):
                for runner in runners.values():
                    runner.run(sink, options.n)
            each = (transactions() - before) / (options.rounds * options.n)
            shown = {name: _row(runner, options.n) for name, runner in runners.items()}
            for name, runner in runners.items():
                middle, late = (0.0, 0.0) if options.latency else runner.lone(sink)
                shown[name] |= {"lone p50 ms": round(middle, 1), "lone p99 ms": round(late, 1)}
    finally:
        sink.close()
        clear_broker(app)
    row = shown.pop("ours") | {
        "transactions each": round(each, 2),
        "pool": f"{processes} x {options.pool} {concurrency}",
        "latency ms": options.latency,
    }
    report(
        "deliver", 0, row, shown, {name: round(row["a second"] / peer["a second"], 2) for name, peer in shown.items()}
    )


def _row(runner: Runner, n: int) -> dict[str, Any]:
    rate = statistics.median(runner.rates)
    cpu, memory = statistics.median(runner.cpu), memory_of(runner.workers)
    return {"a second": round(rate, 1), "took s": round(n / rate, 2), "CPU ms": round(cpu, 2), "memory MiB": memory}


def beside_a_queue(queue: int, n: int) -> None:
    """Median milliseconds of one statement over a socket, beside 1,000 pending deliveries and beside `queue`."""
    from bench.rows import make_channel, make_user, make_waiting

    channel = make_channel(make_user(), "webhook", {"url": "https://example.org/hook"}, {"secret": "whsec_c2VjcmV0"})
    make_waiting(channel, 1_000)
    costs_of_statements(channel, n)
    few = costs_of_statements(channel, n)
    make_waiting(channel, queue - 1_000)
    many = costs_of_statements(channel, n)
    ratios = {name: round(many[name] / few[name], 2) for name in few}
    report("deliver beside a queue", 0, {"pending": queue} | many, {"few": {"pending": 1_000} | few}, ratios)


def costs_of_statements(channel: Any, n: int) -> dict[str, float]:
    """Median milliseconds of a claim, a settling and a rescue that finds nothing, over `n` deliveries."""
    from bench.rows import make_deliveries
    from notifications.deliveries.kind import DELIVERY
    from notifications.reasons import DeliveryCode
    from work.broker import wakes
    from work.engine import recovery
    from work.engine.claim import claim
    from work.engine.decision import Decision
    from work.engine.settlement import settle
    from work.reasons import Reason

    delivered = Decision("delivered", "delivered", Reason(DeliveryCode.ACCEPTED, status=200))
    claims = []
    claiming, settling, rescuing = [], [], []
    for delivery_id in make_deliveries(channel, min(n, 2000)):
        started = time.perf_counter()
        claimed = claim(DELIVERY, delivery_id, "bench")
        claiming.append(time.perf_counter() - started)
        claims.append(claimed)
    for claimed in claims:
        started = time.perf_counter()
        if claimed:
            settle(DELIVERY, claimed, delivered)
        settling.append(time.perf_counter() - started)
    for _ in range(50):
        started = time.perf_counter()
        recovery.expire(DELIVERY, 2000)
        recovery.recover(DELIVERY, 2000)
        wakes.take_due(DELIVERY, 2000)
        rescuing.append(time.perf_counter() - started)
    times = {"claim ms": claiming, "settle ms": settling, "empty rescue ms": rescuing}
    return {name: round(statistics.median(taken) * 1000, 3) for name, taken in times.items()}


if __name__ == "__main__":
    main()
