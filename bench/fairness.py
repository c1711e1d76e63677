"""`script/bench fairness [--n 10000] [--seconds 40] [--seed 1] [--json]`: lateness beside one person's thousands.

One person has so many deliveries: to a chat that takes one message a second; to webhooks on many hosts, which nothing
limits; to a webhook on one host, which gets a few at a time. Meanwhile single ones of others come at random, five a
second, to hosts of their own. There are two workers of 64 threads, and rescue every 5 s. The peer in the same run is
the same load in one first-in-first-out queue.
"""

from __future__ import annotations

import argparse
import math
import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any
from uuid import UUID

from bench.environment import arguments, clear_broker, environment, report, transactions
from bench.workers import Sink, own_redis_database, worker

LOADS = ("chat", "many hosts", "one host")
BATCH = 500  # of schedules that beat fires at once
OTHERS = 10  # people, of whom each has one now and then
HOSTS = 32  # of the flood that nothing limits: eight sends at a time for each are more than there are threads


def main() -> None:
    parser = arguments("fairness")
    parser.add_argument("--n", type=int, default=10_000, help="deliveries of the one person")
    parser.add_argument("--seconds", type=float, default=40.0, help="how long the others' single ones come")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with environment() as app:
        own_redis_database(app)
        rows = measure(app, options)
    late = {name: row["p99 ms"] for name, row in rows.items()}
    ratios = {f"p99, {load}": round(late[f"one queue, {load}"] / late[f"ours, {load}"], 1) for load in LOADS}
    report("fairness", options.seed, rows.pop(f"ours, {LOADS[0]}"), rows, ratios)


def measure(app: Any, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    from bench.rows import WEBHOOK_SECRET, make_channel, make_deliveries, make_user
    from demo.receivers import HTTPReceiver
    from demo.receivers.telegram import TOKEN, answer
    from work.broker import fair_queue

    few = fair_queue.FEW
    rows: dict[str, dict[str, Any]] = {}
    sink = Sink(0.0)
    with HTTPReceiver(answer) as telegram, worker("threads", 64, 2, sink, TELEGRAM_URL=telegram.origin), rescued(app):
        urls = sink.urls(OTHERS + HOSTS)

        def webhooks(who: Any, urls: Sequence[str]) -> list[Any]:
            return [make_channel(who, "webhook", {"url": url}, {"secret": WEBHOOK_SECRET}) for url in urls]

        others = [channel for url in urls[:OTHERS] for channel in webhooks(make_user(), [url])]
        run_load([], 0, others, 2.0, random.Random(0))  # wakes the worker
        for peer, fair_queue.FEW in (("ours", few), ("one queue", options.n)):
            for load in LOADS:
                who = make_user()
                if load == "chat":
                    channels = [make_channel(who, "telegram", {"chat": "1"}, {"token": TOKEN})]
                else:
                    channels = webhooks(who, urls[OTHERS:] if load == "many hosts" else [urls[-1]])
                before, counted = len(telegram.requests), transactions()
                flood = [id for channel in channels for id in make_deliveries(channel, options.n // len(channels))]
                lateness = run_load(flood, who.id, others, options.seconds, random.Random(options.seed))
                row = _summary(lateness) | _spent(channels, transactions() - counted)
                if load == "chat":
                    arrived = sorted(request.at.timestamp() for request in telegram.requests[before:])
                    gaps = [later - earlier for earlier, later in pairwise(arrived)]
                    row |= {"too soon": sum(gap < 1.0 for gap in gaps), "least gap s": round(min(gaps), 2)}
                rows[f"{peer}, {load}"] = row
                _forget(app)
    sink.close()
    clear_broker(app)
    return rows


def run_load(
    flood: Sequence[UUID], owner: int, others: list[Any], seconds: float, chance: random.Random
) -> list[float]:
    """Publish the flood of `owner` in batches, as beat does; return the lateness of the others, in seconds."""
    from django.db.models import F

    from bench.rows import make_deliveries
    from notifications.deliveries import outbox
    from notifications.models import Delivery
    from work.broker import wakes

    for start in range(0, len(flood), BATCH):
        wakes.publish([wakes.Wake(outbox.DELIVER, key, 0.0, owner) for key in flood[start : start + BATCH]])
    singles, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(chance.expovariate(5.0))
        other = chance.choice(others)
        [single] = make_deliveries(other, 1)
        wakes.publish([wakes.Wake(outbox.DELIVER, single, 0.0, other.user_id)])
        singles.append(single)
    waiting = Delivery.objects.filter(id__in=singles, settled_at=None)
    while waiting.exists():
        time.sleep(0.1)
    late = Delivery.objects.filter(id__in=singles).annotate(late=F("settled_at") - F("created_at"))
    return [lateness.total_seconds() for lateness in late.values_list("late", flat=True)]


@contextmanager
def rescued(app: Any) -> Iterator[None]:
    """Run rescue every 5 s, as beat does."""
    over = threading.Event()

    def rescue() -> None:
        while not over.wait(5.0):
            app.send_task("work.rescue", ignore_result=True)

    clock = threading.Thread(target=rescue)
    clock.start()
    try:
        yield
    finally:
        over.set()
        clock.join()


def _summary(lateness: Sequence[float]) -> dict[str, Any]:
    ordered = sorted(late * 1000 for late in lateness)

    def at(share: float) -> float:
        return round(ordered[math.ceil(share * len(ordered)) - 1], 1)

    return {"singles": len(ordered), "p50 ms": at(0.5), "p99 ms": at(0.99), "max ms": at(1)}


def _spent(channels: list[Any], transactions: int) -> dict[str, Any]:
    """How many of the thousands were delivered and at which claim, and all transactions for each of them."""
    from django.db.models import Avg, Count, Max

    from notifications.models import Delivery

    thousands = Delivery.objects.filter(channel__in=channels)
    delivered = thousands.filter(state="delivered").annotate(claims=Count("history"))
    claims = delivered.aggregate(each=Avg("claims"), most=Max("claims"))
    return {
        "delivered": delivered.count(),
        "claims each": round(claims["each"], 2),
        "most claims": claims["most"],
        "transactions": round(transactions / thousands.count(), 2),
    }


def _forget(app: Any) -> None:
    """Remove what a run has left, before the next one."""
    from django.db.models.functions import Now

    from notifications.models import Delivery
    from work.broker import fair_queue

    with app.connection_for_write() as broker:
        for name in ("deliveries", fair_queue.QUEUE):
            app.amqp.queues[name](broker.default_channel).purge()
    Delivery.objects.filter(state="pending").update(state="cancelled", settled_at=Now())
    time.sleep(3.0)


if __name__ == "__main__":
    main()
