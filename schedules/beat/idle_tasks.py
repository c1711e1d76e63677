"""Periodic tasks that have nothing to do are sent less often."""

import time
from typing import Any

from work import periodic

# Seconds after which an idle task is sent, so that one that no worker runs shows within the time of `periodic_runs`.
_AT_LEAST = 45.0
# Seconds for which an answer of the database serves further entries.
_FRESH = 2.0


class IdleTasks:
    def __init__(self) -> None:
        self._needed: set[str] = set()
        self._asked_at = float("-inf")
        self._sent_at: dict[str, float] = {}

    def rests(self, entry: Any) -> bool:
        """Whether this entry, which is due, is not sent now. Raises django.db.Error if the database is away."""
        now = time.monotonic()
        if entry.task in periodic.NEEDED and now < self._sent_at.get(entry.name, float("-inf")) + _AT_LEAST:
            if now > self._asked_at + _FRESH:
                self._needed, self._asked_at = periodic.needed(), now
            if entry.task not in self._needed:
                return True
        self._sent_at[entry.name] = now
        return False
