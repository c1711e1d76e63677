"""The slots of all schedules that come within a time: what fires, for whom, and which a holiday keeps silent."""

import heapq
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from operator import attrgetter

from schedules.firing import forecast, holidays
from schedules.firing.forecast import Coming
from schedules.firing.holidays import Holidays, Span
from schedules.models import Schedule
from schedules.parts import slots
from schedules.rules import InvalidRule, Work
from schedules.rules.invalid import BUDGET

# For all rules together; the slots of those that cost more are left out, but for the next one.
_WORK = 10 * BUDGET


@dataclass(frozen=True, slots=True)
class Upcoming:
    slot: datetime
    schedule: Schedule
    holiday: Span | None
    """Of its person, if it keeps the slot silent."""


def upcoming(now: datetime, until: datetime, most: int) -> tuple[list[Upcoming], bool]:
    """The first `most` slots before `until`, and whether there are more. Takes four statements.

    Of a schedule that is overdue: the slot that is due, and those after `now`. Reads at most `most` schedules, by the
    index of what is due; the slots of later ones cannot be among the first `most`.
    """
    due = Schedule.objects.filter(next_fire_at__lt=until, deleted_at=None).order_by("next_fire_at")
    schedules = list(due.select_related("user").prefetch_related("channels")[: most + 1])
    taken = slots.settled([schedule.id for schedule in schedules], now)
    work = Work(_WORK)
    people = {(schedule.user_id, schedule.user.time_zone) for schedule in schedules}
    first = min((schedule.next_fire_at or now for schedule in schedules), default=now)
    silent = holidays.of_people(people, first, until)
    each = [
        _slots(schedule, now, until, taken[schedule.id], silent.get(schedule.user_id, holidays.NONE), work)
        for schedule in schedules
    ]
    listed = list(islice(heapq.merge(*each, key=attrgetter("slot")), most + 1))
    return listed[:most], len(listed) > most


def _slots(
    schedule: Schedule, now: datetime, until: datetime, taken: Collection[datetime], silent: Holidays, work: Work
) -> Iterator[Upcoming]:
    assert schedule.next_fire_at is not None  # noqa: S101 - it was selected by it
    try:
        ahead = forecast.of(schedule, now, silent, taken).after(work=work, now=now)
    except InvalidRule:  # its owner and the list of schedules say so
        ahead = iter([Coming(schedule.next_fire_at, silent.of_slot(schedule, schedule.next_fire_at))])
    with suppress(InvalidRule):
        for slot, holiday in ahead:
            if slot >= until:
                return
            yield Upcoming(slot, schedule, holiday)
