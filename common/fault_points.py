"""Named points in the code at which the fault harness (`bench/faults/`) ends or stops the process.

Out of production altogether: where CARILLON_FAULT_POINTS is not set when the process starts, reaching one does nothing.
Where it names a directory, a file in it named as the barrier is taken, by one process alone, and says what to do:
`kill` this process, `kill-group` (it and all that its worker started), or `stop-group` until somebody continues it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable


def _nothing(barrier: str) -> None:
    """Reached in production."""


def _obey(directory: str) -> Callable[[str], None]:
    def reach(barrier: str) -> None:
        taken = f"{directory}/taken-{barrier}-{os.getpid()}"
        try:
            os.rename(f"{directory}/{barrier}", taken)  # the kernel lets one process take it
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
            raise ValueError(f"{taken} says “{order}”, which is none of kill, kill-group and stop-group")

    return reach


_directory = os.environ.get("CARILLON_FAULT_POINTS", "")
reach: Callable[[str], None] = _obey(_directory) if _directory else _nothing
