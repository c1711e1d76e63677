"""The coming slots of a schedule: the one place that decides its next slot.

A slot is still to come if all of these hold:

- its timetable has it: the rule, within the window, not on an excluded date;
- it is not before the end of a snooze;
- it has no occurrence yet: it was not skipped ahead of time, nor recorded before the clock was set back;
- the schedule has fired less often than its maximum. Where the next one is counted from Done, only one is known.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from uuid import UUID

from common.database.postgres import column, execute
from schedules.models import Schedule
from schedules.rules import InvalidRule, Timetable, Work
from schedules.rules.civil import TICK


@dataclass(frozen=True, slots=True)
class Slots:
    """The slots of `timetable` that are still to come. Pure; instants are aware.

    `left` is how often the schedule may still fire (None: no limit), `settled` the slots that have an occurrence.
    Each method raises InvalidRule where a search costs more than `work` (None: a budget for each slot) has left.
    """

    timetable: Timetable
    left: int | None = None
    snoozed_until: datetime | None = None
    settled: Collection[datetime] = frozenset()

    def after(self, instant: datetime, work: Work | None = None) -> Iterator[datetime]:
        """All of them strictly after `instant`, in order."""
        if self.snoozed_until is not None:
            instant = max(instant, self.snoozed_until - TICK)
        return islice((slot for slot in self.timetable.after(instant, work) if slot not in self.settled), self.left)

    def next_after(self, instant: datetime, work: Work | None = None) -> datetime | None:
        return next(self.after(instant, work), None)

    def due(
        self, first: datetime, now: datetime, most: int, late: datetime, most_in_time: int
    ) -> tuple[list[datetime], datetime | None, InvalidRule | None]:
        """Slots from `first` to `now`, the slot after those, and the error of a failed search for it.

        Up to `most`, and up to `most_in_time` that are not before `late`. `first` counts as a slot.
        """
        slots: list[datetime] = []
        in_time = 0
        try:
            for slot in chain(() if first in self.settled else (first,), self.after(first)):
                if slot > now or len(slots) == most or in_time == most_in_time:
                    return slots, slot, None
                slots.append(slot)
                in_time += slot >= late
        except InvalidRule as error:
            return slots, None, error
        return slots, None, None


def left(max_count: int | None, fired_count: int, after_done: bool = False) -> int | None:
    """The number of times that a schedule may still fire, before the next Done; None for no limit."""
    most = None if max_count is None else max(0, max_count - fired_count)
    return most if not after_done else 1 if most is None else min(most, 1)


def of(schedule: Schedule, since: datetime, taken: Collection[datetime] | None = None) -> Slots:
    """The slots of a schedule after `since`. Raises InvalidRule for an unreadable rule.

    `taken` are those that have an occurrence (None: read here).
    """
    if taken is None:
        taken = () if schedule._state.adding else settled([schedule.id], since)[schedule.id]
    most = left(schedule.max_count, schedule.fired_count, schedule.after_done)
    return Slots(schedule.timetable(), most, schedule.snoozed_until, taken)


_SETTLED = """
SELECT schedule_id, scheduled_for FROM schedules_occurrence
 WHERE schedule_id = ANY(%(schedules)s::uuid[]) AND scheduled_for > %(since)s
"""


def settled(schedule_ids: Iterable[UUID], since: datetime) -> dict[UUID, set[datetime]]:
    """For each schedule, its slots after `since` that have an occurrence."""
    slots: dict[UUID, set[datetime]] = defaultdict(set)
    for row in execute(_SETTLED, {"schedules": column(schedule_ids), "since": since}):
        slots[row.schedule_id].add(row.scheduled_for)
    return slots
