"""`python -m tests.clock.warped_beat STARTED SPEED SEED`: a beat that lives by the warped clock, until it is killed."""

from __future__ import annotations

import os
import random
import sys
import time

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")


def main() -> None:
    django.setup()
    from config.celery import app
    from schedules.firing import fire
    from tests.clock.warped import WarpedClock

    app.set_current()
    clock = WarpedClock(float(sys.argv[1]), float(sys.argv[2]))
    luck = random.Random(int(sys.argv[3]))
    while os.getppid() != 1:  # not longer than the run
        if not fire.fire_due(clock.now(), limit=luck.choice([1, 7, 50, 200])):
            time.sleep(0.005)


if __name__ == "__main__":
    main()
