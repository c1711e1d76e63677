"""A rule within its window."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from schedules.rules import civil
from schedules.rules.invalid import InvalidRule
from schedules.rules.rule import Rule
from schedules.rules.work import Work

# Units for an excluded date, beside what the rule itself spends.
_EXCLUDED_DATE = 20


@dataclass(frozen=True)
class Timetable:
    """`rule` from `starts` to `ends` (aware, both inclusive), without the slots on `excluded` local dates.

    Raises InvalidRule("ends") when the end lies before the start. A maximum count is no matter of time: the
    database counts.
    """

    rule: Rule
    starts: datetime | None = None
    ends: datetime | None = None
    excluded: frozenset[date] = frozenset()

    def __post_init__(self) -> None:
        for name, edge in (("starts", self.starts), ("ends", self.ends)):
            if edge is not None and edge.tzinfo is None:
                raise InvalidRule(
                    name,
                    "A window's start and end need an offset from UTC, such as 2026-01-01T00:00:00+00:00.",
                )
        if self.starts is not None and self.ends is not None and self.ends < self.starts:
            raise InvalidRule("ends", "The end lies before the start. Choose a later end, or none.")

    def next_after(self, instant: datetime, work: Work | None = None) -> datetime | None:
        """The first slot strictly after an aware `instant` that the window lets through, in UTC, or None.

        Raises InvalidRule where it costs more than `work` (None: a budget for this question alone) has left.
        """
        if self.starts is not None and instant < self.starts:
            instant = max(self.starts, civil.FIRST_INSTANT).astimezone(UTC) - civil.TICK
        work = work or Work()
        while True:
            slot = self.rule.next_after(instant, work)
            if slot is None or (self.ends is not None and slot > self.ends):
                return None
            day = civil.local(self.rule.zone, slot).date() if self.excluded else None
            if day is None or day not in self.excluded:
                return slot
            work.spend(_EXCLUDED_DATE, "excluded")
            # Past the whole day at once: an excluded day can hold 1,440 slots.
            midnight = datetime.combine(day + timedelta(days=1), time())
            instant = max(slot, civil.first_instant(self.rule.zone, midnight) - civil.TICK)

    def upcoming(self, after: datetime, count: int, work: Work | None = None) -> list[datetime]:
        """Up to `count` slots strictly after `after`, in order; `work` (None: a budget for each) as in `next_after`."""
        slots: list[datetime] = []
        slot = self.next_after(after, work) if count > 0 else None
        while slot is not None:
            slots.append(slot)
            slot = self.next_after(slot, work) if len(slots) < count else None
        return slots


def upcoming(
    rule: Rule, after: datetime, count: int, *, starts: datetime | None = None, ends: datetime | None = None
) -> list[datetime]:
    """Up to `count` slots of `rule` strictly after `after`, within the window."""
    return Timetable(rule, starts, ends).upcoming(after, count)
