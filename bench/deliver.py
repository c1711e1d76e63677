"""`script/bench deliver [--n N] [--latency MS] [--json]`: what a delivery costs, against a bare Celery task.

The bare task makes the same POST in the same run and records nothing.

Options: [--rounds 3] [--pool prefork|threads]; with a latency, the default is threads.
`--queue 1000000` measures a claim, a settling and a rescue beside so many pending deliveries instead.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

from bench.environment import clear_broker, environment, report, transactions
from bench.workers import Sink, memory_of, own_redis_database, worker


def main() -> None:
    parser = argparse.ArgumentParser(prog="script/bench deliver")
    parser.add_argument("--n", type=int, default=3_000, help="deliveries a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--latency", type=int, default=0, help="milliseconds until the receiver answers")
    parser.add_argument("--pool", choices=["prefork", "threads"])
    parser.add_argument("--concurrency", type=int)
    parser.add_argument("--queue", type=int, help="measure single statements beside so many pending deliveries")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with environment() as app:
        own_redis_database(app)
        if options.queue:
            beside_a_queue(options.queue, options.n)
        else:
            pool = options.pool or ("threads" if options.latency else "prefork")
            against_bare(app, options, pool, options.concurrency or (4 if pool == "prefork" else 500))


def against_bare(app: Any, options: argparse.Namespace, pool: str, concurrency: int) -> None:
    from bench import bare
    from bench.rows import make_channel, make_deliveries, make_user
    from notifications.deliveries.kind import DELIVERY
    from notifications.models import Delivery
    from work import publisher, wakes

    sink = Sink(options.latency / 1000)
    channel = make_channel(make_user(), "webhook", {"url": sink.url}, {"secret": bare.SECRET})

    def ours(ids: list[UUID]) -> Callable[[], bool]:
        wakes.publish(wakes.Wake(DELIVERY.task, delivery_id) for delivery_id in ids)
        return lambda: not Delivery.objects.filter(state__in=Delivery.OPEN).exists()

    def peer(ids: list[UUID]) -> Callable[[], bool]:
        publisher.publish(app, bare.NAME, [(key, 0.0) for key in ids])
        return lambda: True

    def measure(publish: Callable[[list[UUID]], Callable[[], bool]], ids: list[UUID]) -> float:
        target, started = sink.answered + len(ids), time.perf_counter()
        finished = publish(ids)
        while sink.answered < target or not finished():
            if time.perf_counter() > started + 60:
                raise SystemExit(f"Only {sink.answered} of {target} were answered")
            time.sleep(0.01)
        return len(ids) / (time.perf_counter() - started)

    processes = 1 if pool == "prefork" else 2
    rates: dict[str, list[float]] = {"ours": [], "bare": []}
    try:
        with worker(pool, concurrency, processes, sink) as workers:
            measure(ours, make_deliveries(channel, 200))
            measure(peer, [uuid4() for _ in range(200)])
            before = transactions()
            for _ in range(options.rounds):
                ids = make_deliveries(channel, options.n)
                rates["ours"].append(measure(ours, ids))
                rates["bare"].append(measure(peer, [uuid4() for _ in range(options.n)]))
            each = (transactions() - before) / (options.rounds * options.n)
            memory = memory_of(workers)
    finally:
        sink.close()
        clear_broker(app)
    middle = {name: statistics.median(found) for name, found in rates.items()}
    shape = {"pool": f"{processes} x {pool} {concurrency}", "latency ms": options.latency, "n": options.n}
    rows = {
        name: {"a second": round(rate, 1), "took s": round(options.n / rate, 2)} | shape
        for name, rate in middle.items()
    }
    own = rows["ours"] | {"transactions each": round(each, 2), "memory MiB": memory}
    report("deliver", 0, own, {"bare task": rows["bare"]}, {"bare task": round(middle["ours"] / middle["bare"], 2)})


def beside_a_queue(queue: int, n: int) -> None:
    """Median milliseconds of one statement over a socket, beside 1,000 pending deliveries and beside `queue`."""
    from bench.rows import make_channel, make_deliveries, make_user, make_waiting
    from notifications.deliveries.kind import DELIVERY
    from notifications.reasons import Code
    from work import recovery, wakes
    from work.claim import claim
    from work.decision import Decision
    from work.reasons import Reason
    from work.settlement import settle

    channel = make_channel(make_user(), "webhook", {"url": "https://example.org/hook"}, {"secret": "whsec_c2VjcmV0"})
    delivered = Decision("delivered", "delivered", Reason(Code.ACCEPTED, status=200))

    def cost() -> dict[str, Any]:
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

    make_waiting(channel, 1_000)
    cost()
    few = cost()
    make_waiting(channel, queue - 1_000)
    many = cost()
    ratios = {name: round(many[name] / few[name], 2) for name in few}
    report("deliver beside a queue", 0, {"pending": queue} | many, {"few": {"pending": 1_000} | few}, ratios)


if __name__ == "__main__":
    main()
