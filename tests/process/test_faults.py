"""A small run of the fault matrix; `script/bench faults` runs it in full.

Runs ten of the cells and one mutation, with threads; `FAULTS=all script/test tests/process/test_faults.py` runs all of
them, and `FAULTS_POOL=prefork` runs them with processes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from bench.faults.cluster import Cluster
from common.fault_points import Point
from config.embedded.var import CHECKOUT, var_dir

DELIVERIES = 200
ALL = os.environ.get("FAULTS") == "all"
POOL = os.environ.get("FAULTS_POOL", "threads")
# The sample leaves out faults of which other tests of processes have their own: beats, PostgreSQL, SIGTERM.
CELLS = tuple(range(1, 17)) if ALL else (1, 13, 6, 4, 10, 8, 11, 16, 14, 15)
TOPIC = 14  # two subscribers for each delivery of the other cells
MUTATIONS = {"unconditional-claim": 7}
if ALL:
    MUTATIONS |= {"no-rescue": 4, "no-fence": 6, "no-event-id": 13, "no-lease-id": 15}
if ALL and POOL == "threads":  # processes share no commits
    MUTATIONS |= {"early-wake": 11}

Cells = dict[str, Any]


def play(stage: str, *arguments: str) -> Cells:
    """The cells that ran, by number. In a process of its own, which has settings of its own and engines in `stage`."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.faults", "--json", "--pool", POOL, *arguments],
        cwd=CHECKOUT,
        env={**os.environ, "CARILLON_VAR": str(var_dir() / stage)},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.stdout.strip(), done.stderr
    cells: Cells = json.loads(done.stdout.splitlines()[-1])["ours"]
    return cells


def play_mutations() -> dict[str, Cells]:
    return {name: play_until_red(name, cell) for name, cell in MUTATIONS.items()}


def play_until_red(mutation: str, cell: int) -> Cells:
    """A mutation breaks only what a race happens to hit: on a busy machine one small play may miss it, three do not."""
    for seed in range(1, 4):
        rushed = ("--deliveries", "120", "--patience", "10", "--seed", str(seed))
        cells = play("faults-3", "--cell", str(cell), "--mutation", mutation, *rushed)
        if cells[str(cell)]["red"]:
            break
    return cells


@pytest.fixture(scope="module")
def plays() -> Iterator[tuple[Future[Cells], Future[Cells], Future[dict[str, Cells]]]]:
    """Side by side, for most of a cell is waiting: two halves of the matrix, and the mutations."""
    halves = [[f"--cell={cell}" for cell in CELLS[start::2]] for start in (0, 1)]
    with ThreadPoolExecutor() as pool:
        first, second = (
            pool.submit(play, f"faults-{number}", "--deliveries", str(DELIVERIES), *half)
            for number, half in enumerate(halves, start=1)
        )
        yield first, second, pool.submit(play_mutations)


@pytest.fixture(scope="module")
def matrix(plays: tuple[Future[Cells], Future[Cells], Any]) -> Cells:
    return plays[0].result() | plays[1].result()


@pytest.mark.parametrize("cell", CELLS)
def test_nothing_is_lost_and_nothing_arrives_twice_unrecognised(matrix: Cells, cell: int) -> None:
    found = matrix[str(cell)]
    assert found["red"] == [], "\n".join(found["notes"])
    assert found["expected"] == DELIVERIES * (2 if cell == TOPIC else 1)


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
def test_the_matrix_turns_red_without(
    plays: tuple[Any, Any, Future[dict[str, Cells]]], mutation: str, cell: int
) -> None:
    assert plays[2].result()[mutation][str(cell)]["red"]


def test_a_fault_that_never_happens_is_an_error(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, POOL)
    with pytest.raises(ValueError, match="sending"):
        cluster.order("worker", cast(Point, "sending"), "kill")
    cluster.order("worker", "claimed", "kill")
    with pytest.raises(RuntimeError, match="claimed"):
        cluster.check_points()
    (tmp_path / "points-worker" / "claimed").rename(tmp_path / "points-worker" / "taken-claimed-1")
    cluster.check_points()
