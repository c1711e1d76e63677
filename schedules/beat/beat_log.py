"""The log of a beat: a summary once a minute, and each kind of warning at most once a minute."""

import logging
import time

from common.redis import served_queues
from schedules.beat import problems

SECONDS = 60.0


class BeatLog:
    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._warned: dict[str, float] = {}
        self._begin()

    def _begin(self) -> None:
        self._ends = time.monotonic() + SECONDS
        self._polls = self._fired = self._sent = 0
        self._latest = 0.0

    def count_poll(self, fired: int = 0, late: float = 0.0) -> None:
        """One query for due schedules, which fired `fired` of them, the oldest `late` seconds after its slot."""
        self._polls += 1
        self._fired += fired
        if fired:
            self._latest = max(self._latest, late)

    def count_sent(self) -> None:
        self._sent += 1

    def write_summary(self) -> None:
        """Nothing before the minute is over. Beat says what workers cannot: that a queue has none, or a task no run."""
        if time.monotonic() < self._ends:
            return
        self._log.info(
            "In the last minute: %d schedules fired, at most %.3f s late; %d stock entries sent; %d polls",
            self._fired,
            self._latest,
            self._sent,
            self._polls,
        )
        if missing := served_queues.unserved():
            self._log.error(served_queues.warning(missing))
        for problem in problems.sentences():
            self._log.error(problem)
        self._begin()

    def warn(self, what: str, error: Exception) -> None:
        """Once a minute for the same `what`."""
        if time.monotonic() >= self._warned.get(what, 0.0):
            self._warned[what] = time.monotonic() + SECONDS
            self._log.warning("%s: %s", what, str(error).strip().partition("\n")[0])
