"""A rule within its window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import islice, takewhile
from typing import Any

from common.times.civil_time import begin_of
from schedules.rules import civil
from schedules.rules.invalid import InvalidRule, Work
from schedules.rules.rule import Rule
from schedules.rules.working_days import WorkingDays

# Units for an excluded date, beside what the rule itself spends.
_EXCLUDED_DATE = 20
# No more slots than this are walked over at once: a few hundredths of a second's work.
_WALK = 1_000
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Timetable:
    """`rule` from `starts` to `ends` (aware, both inclusive), without slots on `excluded` local dates.

    Raises InvalidRule("ends") if the end is before the start. `slots` applies the maximum count.
    """

    rule: Rule
    starts: datetime | None = None
    ends: datetime | None = None
    excluded: frozenset[date] = frozenset()

    def __post_init__(self) -> None:
        check_window(self.starts, self.ends)

    def next_after(self, instant: datetime, work: Work | None = None) -> datetime | None:
        """The first slot strictly after an aware `instant` and within the window, in UTC, or None.

        Raises InvalidRule if the search costs more than `work` (None: a new budget) has left.
        """
        if self.starts is not None and instant < self.starts:
            instant = max(self.starts, civil.FIRST_INSTANT).astimezone(UTC) - civil.TICK
        work = work or Work()
        last = self.ends or civil.LAST_INSTANT
        while (slot := self.rule.next_after(instant, work)) is not None and slot <= last:
            day = civil.local(self.rule.zone, slot).date() if self.excluded else None
            if day is None or day not in self.excluded:
                return slot
            work.spend(_EXCLUDED_DATE, "excluded")
            # Skip the whole day at once: it can hold 1,440 slots.
            instant = max(slot, begin_of(day + _DAY, self.rule.zone) - civil.TICK)
        return None

    def after(self, instant: datetime, work: Work | None = None) -> Iterator[datetime]:
        """All slots strictly after `instant`, in order; see `next_after`."""
        while (slot := self.next_after(instant, work)) is not None:
            yield slot
            instant = slot

    def row(self) -> dict[str, Any]:
        """Its columns of a schedule or a watch, but for `excluded`."""
        rule = {"kind": self.rule.kind, "rule": self.rule.data(), "time_zone": self.rule.timezone}
        return rule | {"starts_at": self.starts, "ends_at": self.ends}

    def without_exclusions(self) -> Timetable:
        """Nor is a public holiday left out."""
        rule = self.rule.rule if isinstance(self.rule, WorkingDays) else self.rule
        return replace(self, rule=rule, excluded=frozenset())

    def excluded_days(self, since: datetime, until: datetime) -> Iterator[tuple[datetime, datetime]]:
        """For each excluded date, in order, the instants [first, end) at which the wall clock shows it.

        Public holidays that are left out count from `since` to `until` (aware).
        """
        days = {day for day in self.excluded if civil.FIRST.date() < day < civil.LAST.date()}
        if isinstance(self.rule, WorkingDays):
            first, last = (civil.local(self.rule.zone, edge).date() for edge in (since, until))
            days |= self.rule.left_out(first, last)
        for day in sorted(days):
            yield begin_of(day, self.rule.zone), begin_of(day + _DAY, self.rule.zone)

    def last_slots(self, begin: datetime, end: datetime, count: int, work: Work | None = None) -> list[datetime]:
        """The last `count` slots (at most a hundred) in [begin, end), both aware, in order.

        Rules only look ahead: this widens the time before `end` until it holds enough slots, and few enough to walk.
        Raises InvalidRule where they cost more than `work` (None: a budget for each slot) has left.
        """
        few, step = end, timedelta(hours=1)
        many: datetime | None = None
        while True:
            # Slots lie unevenly: too few from `few` on, too many from `many` on.
            since = end - min(step, end - begin) if many is None else many + (few - many) / 2
            if len(slots := self._walk(since, end, work)) > _WALK:
                many = since
            elif len(slots) >= count or since == begin:
                return slots[-count:]
            else:
                few, step = since, 4 * step

    def _walk(self, begin: datetime, end: datetime, work: Work | None) -> list[datetime]:
        """The slots in [begin, end); one more than `_WALK` if there are more."""
        slots = takewhile(lambda slot: slot < end, self.after(begin - civil.TICK, work))
        return list(islice(slots, _WALK + 1))


def check_window(starts: datetime | None, ends: datetime | None) -> None:
    """Raises InvalidRule for an instant without a zone, and for an end before the start."""
    for name, edge in (("starts", starts), ("ends", ends)):
        if edge is not None and edge.tzinfo is None:
            raise InvalidRule(name, "window_offset")
    if starts is not None and ends is not None and ends < starts:
        raise InvalidRule("ends", "window_order")
