"""`python -m bench.idling STARTED`: one beat among idle schedules, for `script/bench idle`; prints one JSON object."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable

from bench.ground import seat


def main() -> None:
    app = seat()
    from schedules.beat.scheduler import Scheduler

    beat = Scheduler(app=app)
    beat.tick()
    started = time.time() - float(sys.argv[1])
    for _ in range(30):
        beat.tick()  # sends the stock entries that are due, and settles
    tick = median_ms(beat.tick, 300)
    with open("/proc/self/status") as file:
        memory = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    edit = median_ms(make_edit(), 60)
    print(
        json.dumps(
            {"start s": round(started, 2), "tick ms": tick, "memory MiB": round(memory / 1024, 1), "edit ms": edit}
        )
    )


def median_ms(act: Callable[[], object], times: int) -> float:
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        act()
        spent.append(time.perf_counter() - began)
    return round(statistics.median(spent) * 1000, 2)


def make_edit() -> Callable[[], object]:
    from schedules import editing
    from schedules.firing import fire
    from schedules.models import Schedule
    from tests.db.schedules.test_editing import draft_of

    schedules = list(Schedule.objects.order_by("id")[:60])
    drafts = [draft_of(schedule, rule={"time": "18:30"}) for schedule in schedules]
    now = fire.read_clock().now
    waiting = iter(zip(schedules, drafts, strict=True))

    def edit() -> object:
        schedule, draft = next(waiting)
        return editing.reschedule(schedule.id, draft, now, schedule.version)

    return edit


if __name__ == "__main__":
    main()
