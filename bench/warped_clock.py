"""A clock that runs fast and is set back and forth; processes that know its start read the same time.

`main` is a beat on that clock, until it is killed; its arguments are STARTED, SPEED and SEED.
"""

from __future__ import annotations

import os
import random
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import django

_EPOCH = datetime(2026, 6, 1, tzinfo=UTC)
# Seconds of real time between two settings of the clock, and by how many of its own seconds it is then off.
_EVERY = 1.5
_OFF = (0, -300, 200, -900, 0, 600)


@dataclass(frozen=True)
class WarpedClock:
    """`started` is real time, in seconds since 1970; the clock runs `speed` times as fast."""

    started: float
    speed: float

    def now(self) -> datetime:
        return self._at(time.time() - self.started)

    def furthest(self) -> datetime:
        """The latest time that it has shown so far."""
        real = time.time() - self.started
        turns = [_EVERY * turn - 1e-6 for turn in range(1, int(real / _EVERY) + 1)]
        return max(self._at(moment) for moment in [*turns, real])

    def _at(self, real: float) -> datetime:
        off = _OFF[int(real / _EVERY) % len(_OFF)]
        return _EPOCH + timedelta(seconds=real * self.speed + off)


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from config.celery import app
    from schedules.firing import fire

    app.set_current()
    clock = WarpedClock(float(sys.argv[1]), float(sys.argv[2]))
    luck = random.Random(int(sys.argv[3]))
    while os.getppid() != 1:  # not longer than the run
        if not fire.fire_due(clock.now(), limit=luck.choice([1, 7, 50, 200])):
            time.sleep(0.005)
