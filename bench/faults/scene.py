"""What a fault has at hand."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from bench.faults.cluster import Cluster
from bench.faults.publisher import Publisher
from common.database.fault_points import Point


@dataclass(frozen=True, slots=True)
class Scene:
    """`seconds` of load; `full` for a long run; `problems` make the cell red, `notes` do not.

    `publisher` has the events of a cell `over_http`.
    """

    cluster: Cluster
    rng: random.Random
    seconds: float
    full: bool
    publisher: Publisher | None = None
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def moments(self, every: float) -> Iterator[None]:
        """About `every` seconds, as long as the load lasts."""
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            time.sleep(self.rng.uniform(0.5, 1.5) * every)
            yield


def wait_for(ask: Callable[[], bool], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not (found := ask()) and time.monotonic() < deadline:
        time.sleep(0.03)
    return found


def wait_until_reached(cluster: Cluster, whom: str, point: Point, seconds: float = 30.0) -> None:
    """Until a process has reached the point that was ordered, for at most so many seconds."""
    wait_for(lambda: not cluster.is_ordered(whom, point), seconds)


def resume(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(os.getpgid(pid), signal.SIGCONT)
