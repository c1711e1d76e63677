"""A small run of the fault matrix; `script/bench faults` runs it in full.

Runs nine of the cells and one mutation, with threads; `FAULTS=all script/test tests/process/bench/test_faults.py` runs
all of them, and `FAULTS_POOL=prefork` runs them with processes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any, cast

import pytest

from bench.faults.brokers import OneRedis
from bench.faults.cluster import Cluster
from common.database.fault_points import Point
from config.embedded.var import var_dir
from tests.process.bench.harness import play, start, walk_through_the_second_kind

DELIVERIES = 200
ALL = os.environ.get("FAULTS") == "all"
POOL = os.environ.get("FAULTS_POOL", "threads")
# The sample leaves out faults of which other tests have their own: beats, PostgreSQL and SIGTERM; connections cut
# during commits (tests/db/work/test_batches.py); one person who costs much (tests/process/config/test_one_person.py);
# answers to events that are lost (tests/process/api/test_events.py).
CELLS = (*range(1, 19), 21, 22, 23) if ALL else (1, 4, 15, 21, 6, 10, 8, 14, 17)
TOPIC = 14  # two subscribers for each delivery of the other cells
PINGS = 22  # sends nothing to the sink
MUTATIONS = {"unconditional-claim": 7}
if ALL:
    MUTATIONS |= {
        "no-rescue": 4,
        "no-fence": 6,
        "no-event-id": 13,
        "no-lease-id": 15,
        "effect-apart": 17,
        "step-again": 21,
        "answer-early": 22,
    }
if ALL and POOL == "threads":  # processes share no commits
    MUTATIONS |= {"early-wake": 11}

Cells = dict[str, Any]
Call = Callable[..., Any]


@pytest.fixture(scope="module")
def harness() -> Iterator[Call]:
    """Calls a function in another process, which has the settings and the engines of the fault matrix."""
    with get_context("spawn").Pool(1) as pool:

        def call(function: Call, *arguments: str) -> Any:
            return pool.apply_async(function, arguments).get(3600 if ALL else 1800)

        call(start, str(var_dir() / "faults"))
        yield call


@pytest.fixture(scope="module")
def matrix(harness: Call) -> Cells:
    cells = (f"--cell={cell}" for cell in CELLS)
    return cast(Cells, harness(play, "--pool", POOL, "--deliveries", str(DELIVERIES), *cells))


@pytest.mark.parametrize("cell", CELLS)
def test_nothing_is_lost_and_nothing_arrives_twice_unrecognised(matrix: Cells, cell: int) -> None:
    found = matrix[str(cell)]
    assert found["red"] == [], "\n".join(found["notes"])
    assert found["expected"] == DELIVERIES * {TOPIC: 2, PINGS: 0}.get(cell, 1)


def test_receivers_that_misbehave_end_as_their_answers_say(matrix: Cells) -> None:
    found = matrix["8"]
    assert found["unknown"] and found["dead"] and found["repeats"]


def test_a_poisoned_payload_ends_alone(matrix: Cells) -> None:
    found = matrix["10"]
    poisoned = 8  # four payloads to two channels
    assert found["dead"] == poisoned / 2
    # A payload that ends a process of threads takes with it what the others are sending.
    others = 0 if POOL == "prefork" else 2 * 64
    assert poisoned / 2 <= found["unknown"] <= poisoned / 2 + others
    assert found["delivered"] == DELIVERIES - found["dead"] - found["unknown"]


@pytest.mark.parametrize(("mutation", "cell"), MUTATIONS.items())
def test_the_matrix_turns_red_without(harness: Call, mutation: str, cell: int) -> None:
    # A mutation breaks only what a race happens to hit: on a busy machine one small play may miss it, three do not.
    for seed in range(1, 4):
        rushed = ("--pool", POOL, "--deliveries", "120", "--patience", "10", "--seed", str(seed))
        if harness(play, "--cell", str(cell), "--mutation", mutation, *rushed)[str(cell)]["red"]:
            return
    pytest.fail(f"the matrix stays green with {mutation}")


def test_a_fault_that_never_happens_is_an_error(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, POOL, OneRedis())
    with pytest.raises(ValueError, match="sending"):
        cluster.order("worker", cast(Point, "sending"), "kill")
    cluster.order("worker", "claimed", "kill")
    with pytest.raises(RuntimeError, match="claimed"):
        cluster.check_points()
    (tmp_path / "points-worker" / "claimed").rename(tmp_path / "points-worker" / "taken-claimed-1")
    cluster.check_points()


def test_a_kind_of_sixty_lines_has_dead_letters_that_are_listed_replayed_and_discarded(harness: Call) -> None:
    harness(walk_through_the_second_kind)
