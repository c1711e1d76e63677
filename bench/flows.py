"""`script/bench flows [--n N] [--rounds N] [--json]`: events applied to runs of a flow, against events only recorded.

The events of 50 people have a key each, those of one person, a tenth as many, the same key. Each way has its peer: as
many events of as many people, which no rule and no flow handles. One worker with threads; this process rescues, as
beat would.
"""

from __future__ import annotations

import os
import statistics
import time
from typing import Any

from bench.environment import arguments, environment, report
from bench.workers import Sink, cpu_of, own_redis_database, worker
from demo.child import Child

_FLOWS = "bench.flow_files"
_PEOPLE = 50


def main() -> None:
    parser = arguments("flows")
    parser.add_argument("--n", type=int, default=1_000, help="events of 50 people a round")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.environ["FLOWS"] = _FLOWS
    sink = Sink(0.0)
    ways = [(type, people) for people in (_PEOPLE, 1) for type in ("tally.none", "tally.add")]
    figures: dict[tuple[str, int], list[tuple[float, float]]] = {way: [] for way in ways}
    with environment() as app:
        own_redis_database(app)
        try:
            with worker("threads", 512, 1, sink, queues="events,bulk", FLOWS=_FLOWS) as workers:
                for number in range(options.rounds + 1):
                    for way in ways:
                        each = _apply(*way, options.n if way[1] > 1 else options.n // 10, workers)
                        if number:  # the first round warms up
                            figures[way].append(each)
        finally:
            sink.close()
    found = {
        way: {
            "events a second": round(statistics.median(rate for rate, _ in each)),
            "CPU ms": round(statistics.median(cpu for _, cpu in each), 2),
        }
        for way, each in figures.items()
    }
    names = {_PEOPLE: f"{options.n} keys", 1: "one key"}
    peers = {f"recorded, {people} people": found["tally.none", people] for people in (_PEOPLE, 1)}
    ratios = {
        f"{name} to recorded": round(
            found["tally.add", people]["events a second"] / found["tally.none", people]["events a second"], 2
        )
        for people, name in names.items()
    }
    report("flows", 0, found["tally.add", _PEOPLE], peers | {names[1]: found["tally.add", 1]}, ratios)


def _apply(type: str, people: int, n: int, workers: list[Child]) -> tuple[float, float]:
    """Events a second, and the worker's milliseconds of CPU for each."""
    from bench.rows import make_user
    from events.intake import ledger
    from events.models import Event, Run
    from events.pure.envelope import Envelope
    from work.engine import rescue

    users = [make_user().pk for _ in range(people)]
    used, started = cpu_of(workers), time.perf_counter()
    for user in users:
        keys: list[Any] = [number if people > 1 else 0 for number in range(n // people)]
        ledger.record(user, [Envelope(type=type, source="bench", data={"key": f"{key}"}) for key in keys])
    rescued = started
    while Event.objects.filter(settled_at=None).exists():
        if (now := time.perf_counter()) > started + 120:
            raise SystemExit("The worker does not apply the events")
        if now > rescued + 5:  # as often as beat
            rescue.rescue()
            rescued = now
        time.sleep(0.02)
    made = n // people * people
    rate = made / (time.perf_counter() - started)
    if type == "tally.add" and sum(run.state["count"] for run in Run.objects.filter(user__in=users)) != made:
        raise SystemExit("An event was not applied once")
    return rate, (cpu_of(workers) - used) / made * 1000


if __name__ == "__main__":
    main()
