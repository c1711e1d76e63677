"""What a line says about time, before it is put together."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import time

from schedules.quick_add.days import Day

Step = tuple[int, str]


@dataclass
class Said:
    """What a line says. `wait` are the parts of "in 1 hour 30 minutes"; `hours` a span of the day."""

    every: Step | None = None
    repeats: bool = False
    day: Day | None = None
    times: list[time] = field(default_factory=list)
    part: str = ""
    hours: tuple[time, time] | None = None
    wait: list[Step] = field(default_factory=list)
    starts: Day | None = None
    ends: Day | time | None = None
    lasts: Step | None = None
    count: int | None = None
    without: tuple[int, ...] = ()
    zone: str = ""
    shorthand: str = ""
    title: str = ""
    timing: str = ""
