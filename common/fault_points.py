"""Named points at which the fault harness (`bench/faults/`) kills or stops the process.

In production they do nothing. If CARILLON_FAULT_POINTS names a directory, one process takes the file with the name of
the point. The file contains `kill` (this process), `kill-group` (with its process group) or `stop-group`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable


def _do_nothing(point: str) -> None:
    """In production."""


def _obey(directory: str) -> Callable[[str], None]:
    def reach(point: str) -> None:
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
reach: Callable[[str], None] = _obey(_directory) if _directory else _do_nothing
