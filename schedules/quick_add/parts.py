"""The parts of a day: when they begin, and what an hour means in them."""

from dataclasses import replace
from datetime import datetime, time

from schedules.quick_add.pieces import Clock

MORNING = time(9)
# The time of a reminder in each, and the hours that belong to it; from 24 on, of the next day.
_PARTS = {
    "morning": (MORNING, 0, 12),
    "afternoon": (time(15), 12, 19),
    "tarde": (time(15), 12, 21),
    "evening": (time(19), 16, 25),
    "night": (time(20), 18, 30),
    "dawn": (time(5), 0, 7),
}


def default(part: str) -> time:
    return _PARTS[part][0] if part else MORNING


def is_over(part: str, now: datetime) -> bool:
    return bool(part) and now.hour >= _PARTS[part][2]


def fitting(clock: Clock, part: str) -> Clock | None:
    """The time of day in that part; its hour is 24 or more on the next day."""
    _default, first, last = _PARTS[part]
    hours = {clock.hour, clock.hour + 24}
    if clock.is_open:
        hours = {clock.hour % 12, clock.hour % 12 + 12, clock.hour % 12 + 24}
    found = [hour for hour in sorted(hours) if first <= hour < last]
    return replace(clock, hour=found[0], is_open=False) if len(found) == 1 else None
