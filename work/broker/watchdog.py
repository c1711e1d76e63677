"""The time limit and the memory limit of a worker with threads, which Celery has for processes only.

A thread cannot be killed, so a worker past a limit takes no more messages, finishes what it can, and exits; whoever
supervises it starts it again. A task that hangs keeps its lease until that expires, as under a killed process.
"""

import faulthandler
import logging
import os
import resource
import threading
import time

from celery.worker import state

from work.broker import load

log = logging.getLogger(__name__)

_EVERY = 2.0  # seconds
# For acknowledgements, and for putting back messages, once all that can finish has finished.
_GOODBYE = 3.0  # seconds


class Watchdog(threading.Thread):
    """Starts at once. `time_limit` is in seconds for each task, `memory_limit` in KiB for the process; None: none."""

    def __init__(self, time_limit: float | None, memory_limit: int | None) -> None:
        super().__init__(name="watchdog", daemon=True)
        self._time_limit, self._memory_limit = time_limit, memory_limit
        self.start()

    def run(self) -> None:
        while not (reason := self._exceeded()):
            if self._time_limit:
                # A task in C code that keeps the interpreter's lock stops this thread too, but not faulthandler's.
                faulthandler.dump_traceback_later(2 * self._time_limit, exit=True)
            time.sleep(_EVERY)
        log.critical("%s: this worker takes no more messages, finishes and exits", reason)
        state.should_stop = os.EX_TEMPFAIL  # type: ignore[assignment]  # Celery's main loop reads it every second
        while any(not self._time_limit or seconds < self._time_limit for _, seconds in _running()):
            time.sleep(_EVERY)
        time.sleep(_GOODBYE)
        os._exit(os.EX_TEMPFAIL)  # some never finish: a normal exit would wait for them

    def _exceeded(self) -> str:
        for task_id, seconds in _running():
            if self._time_limit and seconds > self._time_limit:
                return f"Task {task_id} runs for longer than {self._time_limit:.0f} s"
        if self._memory_limit and (used := _memory()) > self._memory_limit:
            return f"The process has {used} KiB of memory, over its limit of {self._memory_limit} KiB"
        return ""


def _running() -> list[tuple[str, float]]:
    """The tasks that threads are executing, each with its seconds so far."""
    requests, now = load.copied(state.active_requests), time.time()
    return [(request.id, now - request.time_start) for request in requests]


def _memory() -> int:
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize() // 1024
    except OSError:  # no Linux: the most that it had so far
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
