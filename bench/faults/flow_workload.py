"""The load of the cell of flows: events of runs, each of which begins two steps, one after the other."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar

from django.utils import timezone

from bench.faults.flow_check import STEPS
from bench.faults.workload import Asked, Workload, event_at
from bench.rows import make_user
from events.pure.envelope import Envelope
from people.models import User

_OF_A_RUN = 10
PATH = "/ok/step"


@dataclass(frozen=True, slots=True)
class FlowWorkload(Workload):
    """A step for each of `deliveries`, two of them for each event, and ten events for each run."""

    effects: ClassVar[int] = 0  # of rules

    def ask(self, sink_port: int) -> tuple[set[Asked], User, list[Envelope]]:
        rng = random.Random(self.seed)
        runs = self.deliveries // _OF_A_RUN // len(STEPS)
        begin = timezone.now() + timedelta(seconds=1)
        common = {"of": _OF_A_RUN, "url": f"http://127.0.0.1:{sink_port}{PATH}"}
        events = [
            replace(
                event_at(begin + timedelta(seconds=rng.uniform(0, self.seconds)), "run"),
                data={"run": f"run-{run}", "number": number, **common},
            )
            for run in range(runs)
            for number in range(_OF_A_RUN)
        ]
        return set(), make_user(), events
