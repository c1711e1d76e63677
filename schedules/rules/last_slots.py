"""Rules only look ahead; this finds the last slots of a time that has passed, within a bound."""

from __future__ import annotations

from datetime import datetime, timedelta

from schedules.rules import civil
from schedules.rules.timetable import Timetable

# No more slots than this are walked over at once, a few hundredths of a second's work.
_WALK = 1_000


def last_slots(timetable: Timetable, begin: datetime, end: datetime, count: int) -> list[datetime]:
    """The last `count` slots (at most a hundred) in [begin, end), both aware, in order."""
    few, step = end, timedelta(hours=1)
    while True:
        far = begin if end - begin <= step else end - step
        found = _walk(timetable, far, end)
        if len(found) > _WALK:
            return _between(timetable, far, few, end, count)
        if len(found) >= count or far == begin:
            return found[-count:]
        few, step = far, 4 * step


def _between(timetable: Timetable, many: datetime, few: datetime, end: datetime, count: int) -> list[datetime]:
    """The slots lie so unevenly that from `few` on there are less than `count`, and from `many` on too many to walk."""
    while True:
        middle = many + (few - many) / 2
        found = _walk(timetable, middle, end)
        if count <= len(found) <= _WALK:
            return found[-count:]
        if len(found) < count:
            few = middle
        else:
            many = middle


def _walk(timetable: Timetable, begin: datetime, end: datetime) -> list[datetime]:
    """The slots in [begin, end); one more than the bound where there are more."""
    slots: list[datetime] = []
    slot = timetable.next_after(begin - civil.TICK)
    while slot is not None and slot < end and len(slots) <= _WALK:
        slots.append(slot)
        slot = timetable.next_after(slot)
    return slots
