"""Run one cell: processes, load, fault, result."""

from __future__ import annotations

import random
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from bench.faults.brokers import Broker
from bench.faults.cells import CELLS
from bench.faults.cluster import Cluster
from bench.faults.compare import Result, compare, unfinished
from bench.faults.publisher import Publisher
from bench.faults.scene import Scene
from bench.faults.workload import clear, replay_refused
from bench.servers import Postgres
from common.database import postgres
from common.database.postgres import persist
from config import embedded
from events.intake import ledger

# From so many deliveries on, outages are long: a minute without Redis, two without a beat.
FULL = 5_000


@dataclass(frozen=True, slots=True)
class Verdict:
    number: int
    title: str
    seed: int
    seconds: float
    result: Result
    red: list[str]


def run(
    number: int,
    deliveries: int,
    seed: int,
    broker: Broker,
    pool: str = "threads",
    mutation: str = "",
    patience: float = 60.0,
    server: Postgres | None = None,
    **variables: str,
) -> Verdict:
    """`pool` of the workers; `patience`: seconds without a settled delivery after the load, until the cell ends.

    `server`: if not the embedded one; `variables`: for workers, beats and web.
    """
    cell = CELLS[number]
    rng = random.Random(seed)
    workload = cell.workload(seed, deliveries, dict(cell.kinds), cell.events_of, least=cell.seconds)
    directory = Path(embedded.var_dir() / f"cell-{number}")
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    postgres.PATIENCE = patience  # on a busy machine, PostgreSQL may still be starting when the fault is over
    clear()
    started = time.monotonic()
    environment = {**cell.environment, **variables, "FAULTS_MUTATION": mutation}
    with Cluster(directory, pool, broker, cell.over_http, server, **environment) as cluster:
        broker.empty()
        cluster.wait_until_ready()
        asked, person, events = workload.ask(cluster.sink_port)
        publisher = Publisher(person, events, cluster.web_port) if cell.over_http else None
        if publisher is None:
            ledger.record(person.pk, events)
        scene = Scene(cluster, rng, workload.seconds, deliveries >= FULL, publisher)
        cell.fault(scene)
        cluster.heal()
        _wait_for_the_ends(len(asked), patience)
        persist(replay_refused)
        _wait_for_the_ends(len(asked), patience)
        cluster.check_points()
    result = compare(asked, events, workload.effects, directory / "arrivals")
    result.notes[:0] = scene.notes
    red = [*_red(result, cell.uncertain), *scene.problems]
    return Verdict(number, cell.title, seed, round(time.monotonic() - started, 1), result, red)


def _wait_for_the_ends(expected: int, patience: float) -> None:
    """Wait as long as deliveries settle, for slow machines."""
    fewest, since = float("inf"), time.monotonic()
    while (left := persist(lambda: unfinished(expected))) and time.monotonic() - since < patience:
        if left < fewest:
            fewest, since = left, time.monotonic()
        time.sleep(0.5)


def _red(found: Result, uncertain: bool) -> list[str]:
    """Why the cell is red; empty when it is green."""
    counts = {"lost": found.lost, "duplicates": found.duplicates, "incoherent": found.incoherent}
    if not uncertain:
        counts |= {"repeats": found.repeats, "unknown": found.unknown}
    return [f"{count} {what}" for what, count in counts.items() if count]
