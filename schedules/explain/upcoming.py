"""The slots of all schedules that come within a time: what fires, and for whom."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from operator import attrgetter

from schedules import slots
from schedules.models import Schedule
from schedules.rules import InvalidRule, Work
from schedules.rules.invalid import BUDGET

# For all rules together; the slots of those that cost more are left out, but for the next one.
_WORK = 10 * BUDGET


@dataclass(frozen=True, slots=True)
class Upcoming:
    slot: datetime
    schedule: Schedule


def upcoming(now: datetime, until: datetime, most: int) -> tuple[list[Upcoming], bool]:
    """The first `most` slots before `until`, and whether there are more. Takes three statements.

    Of a schedule that is overdue: the slot that is due, and those after `now`. Reads at most `most` schedules, by the
    index of what is due; the slots of later ones cannot be among the first `most`.
    """
    due = Schedule.objects.filter(next_fire_at__lt=until, deleted_at=None).order_by("next_fire_at")
    found = list(due.select_related("user").prefetch_related("channels")[: most + 1])
    taken = slots.settled([schedule.id for schedule in found], now)
    work = Work(_WORK)
    each = [_slots(schedule, now, until, taken[schedule.id], work) for schedule in found]
    listed = list(islice(heapq.merge(*each, key=attrgetter("slot")), most + 1))
    return listed[:most], len(listed) > most


def _slots(
    schedule: Schedule, now: datetime, until: datetime, taken: Collection[datetime], work: Work
) -> Iterator[Upcoming]:
    assert schedule.next_fire_at is not None  # noqa: S101 - it was selected by it
    yield Upcoming(schedule.next_fire_at, schedule)
    try:
        coming = slots.of(schedule, now, taken)
        after_next = replace(coming, left=None if coming.left is None else max(0, coming.left - 1))
        for slot in after_next.after(max(schedule.next_fire_at, now), work):
            if slot >= until:
                return
            yield Upcoming(slot, schedule)
    except InvalidRule:
        return  # its owner and the list of schedules say so
