"""`script/bench handle [--n N] [--rounds N] [--pool threads|prefork] [--json]`: events handled by one worker.

Each event rings by no rule, by one, or by ten, each with one channel. The deliveries are recorded and published, and
nobody sends them meanwhile.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

from bench.environment import arguments, environment, report
from bench.workers import Sink, cpu_of, own_redis_database, worker
from demo.child import Child

_RULES = (0, 1, 10)
# So few of one person that they do not go to the queue of people with many.
_EACH = 20


def main() -> None:
    parser = arguments("handle")
    parser.add_argument("--n", type=int, default=2_000, help="events a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pool", choices=["prefork", "threads"], default="threads")
    parser.add_argument("--concurrency", type=int)
    options = parser.parse_args()
    concurrency = options.concurrency or (512 if options.pool == "threads" else 2)
    sink = Sink(0.0)
    with environment() as app:
        own_redis_database(app)
        people = {count: [_person(count) for _ in range(-(-options.n // _EACH))] for count in _RULES}
        figures: dict[int, list[tuple[float, float]]] = {count: [] for count in _RULES}
        try:
            with worker(options.pool, concurrency, 1, sink, queues="events") as workers:
                for number in range(options.rounds + 1):
                    for count in _RULES:
                        each = _handle(people[count], workers)
                        if number:  # the first round warms up
                            figures[count].append(each)
        finally:
            sink.close()
    found = {
        _name(count): {
            "events a second": round(statistics.median(rate for rate, _ in each)),
            "CPU ms": round(statistics.median(cpu for _, cpu in each), 2),
        }
        for count, each in figures.items()
    }
    ratio = found["1 rule"]["events a second"] / found["no rule"]["events a second"]
    report("handle", 0, found.pop("1 rule"), found, {"1 rule to no rule": round(ratio, 2)})


def _name(rules: int) -> str:
    return {0: "no rule", 1: "1 rule"}.get(rules, f"{rules} rules")


def _person(rules: int) -> int:
    from bench.rows import make_channel, make_user
    from events.models import Rule

    user = make_user()
    channel = make_channel(user)
    for number in range(rules):
        condition = {"field": "data.amount", "operator": "above", "value": number}
        rule = Rule.objects.create(
            user=user,
            name="Orders",
            type_pattern="order.*",
            conditions=[condition],
            title="Order {data.order_id}",
            body="{data.amount} EUR from {source}",
        )
        rule.channels.add(channel)
    return int(user.pk)


def _handle(people: Sequence[int], workers: list[Child]) -> tuple[float, float]:
    """Events a second, and the worker's milliseconds of CPU for each."""
    from events.intake import ledger
    from events.models import Event
    from events.pure.envelope import Envelope

    data: dict[str, Any] = {"order_id": 7, "amount": 129.5, "items": ["apples", "pears"]}
    made = len(people) * _EACH
    used, started = cpu_of(workers), time.perf_counter()
    for person in people:
        ledger.record(person, [Envelope(type="order.paid", source="shop", data=data) for _ in range(_EACH)])
    while Event.objects.filter(settled_at=None).exists():
        if time.perf_counter() > started + 120:
            raise SystemExit("The worker does not handle the events")
        time.sleep(0.02)
    return made / (time.perf_counter() - started), (cpu_of(workers) - used) / made * 1000


if __name__ == "__main__":
    main()
