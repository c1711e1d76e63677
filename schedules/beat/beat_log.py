"""What a beat says in its log: once a minute what it did, and not every second the same complaint."""

from __future__ import annotations

import logging
import time

SECONDS = 60.0


class Minute:
    """Counts for one beat's log line a minute."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._complaints: dict[str, float] = {}
        self._begin()

    def _begin(self) -> None:
        self._ends = time.monotonic() + SECONDS
        self._looks = self._fired = self._sent = 0
        self._latest = 0.0

    def looked(self, fired: int = 0, late: float = 0.0) -> None:
        """One look at the index: `fired` schedules were moved on, the oldest of them `late` seconds after its slot."""
        self._looks += 1
        self._fired += fired
        if fired:
            self._latest = max(self._latest, late)

    def sent(self) -> None:
        """An entry of the stock loop was sent."""
        self._sent += 1

    def say_when_over(self) -> None:
        if time.monotonic() < self._ends:
            return
        self._log.info(
            "In the last minute: %d schedules fired, at most %.3f s late; %d stock entries sent; %d looks",
            self._fired,
            self._latest,
            self._sent,
            self._looks,
        )
        self._begin()

    def complain(self, what: str, error: Exception) -> None:
        """Warn, once a minute for the same matter."""
        if time.monotonic() >= self._complaints.get(what, 0.0):
            self._complaints[what] = time.monotonic() + SECONDS
            self._log.warning("%s: %s", what, str(error).strip().partition("\n")[0])
