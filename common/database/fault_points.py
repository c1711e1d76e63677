"""Named points at which the fault harness (`bench/faults/`) kills or stops the process.

In production they do nothing. If CARILLON_FAULT_POINTS names a directory, one process takes the file with the name of
the point. The file contains `kill` (this process), `kill-group` (with its process group) or `stop-group`.
"""

import os
import signal
from collections.abc import Callable
from typing import Literal, get_args

Point = Literal[
    "recording",
    "recorded",
    "waking",
    "publishing",
    "claims-committed",
    "claimed",
    "deferring",
    "running",
    "ran",
    "settlements-committed",
    "settled",
    "advancing",
    "chunk-told",
]
POINTS: tuple[Point, ...] = get_args(Point)


def _obey(directory: str) -> Callable[[Point], None]:
    def reach(point: Point) -> None:
        taken = f"{directory}/taken-{point}-{os.getpid()}"
        try:
            os.rename(f"{directory}/{point}", taken)  # atomic: one process takes it
        except FileNotFoundError:
            return
        with open(taken) as file:
            order = file.read().strip()
        if order == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif order == "kill-group":
            os.killpg(0, signal.SIGKILL)
        elif order == "stop-group":
            os.killpg(0, signal.SIGSTOP)
        else:
            raise ValueError(f"{taken} contains “{order}”, which is not kill, kill-group or stop-group")

    return reach


_directory = os.environ.get("CARILLON_FAULT_POINTS", "")
reach: Callable[[Point], None] = _obey(_directory) if _directory else lambda point: None
