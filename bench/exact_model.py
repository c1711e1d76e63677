"""An independent model of the slots that a schedule must record, for intervals only."""

from __future__ import annotations

from datetime import datetime, timedelta

TICK = timedelta(microseconds=1)


class Expected:
    """The slots of one interval schedule through its edits.

    The clock goes back and forth, and a beat may have fired up to its latest time before an edit. So some slots `must`
    be recorded, and a few more `may`.
    """

    def __init__(self, every: int, anchor: datetime, now: datetime) -> None:
        self.must: set[datetime] = set()
        self.may: set[datetime] = set()
        self._every, self._anchor = timedelta(minutes=every), anchor
        self._after: datetime | None = now

    def stop(self, now: datetime, furthest: datetime) -> None:
        """Stop at `now`; `furthest` is the latest time that the clock has shown."""
        if self._after is not None:
            self.must |= self._slots(self._after, now)
            self.may |= self._slots(self._after, max(now, furthest))
        self._after = None

    def start(self, now: datetime, every: int | None = None, anchor: datetime | None = None) -> None:
        """Start at `now`, by another interval if one is given."""
        if every is not None and anchor is not None:
            self._every, self._anchor = timedelta(minutes=every), anchor
        self._after = now

    @property
    def going(self) -> bool:
        return self._after is not None

    def _slots(self, after: datetime, until: datetime) -> set[datetime]:
        number = max(0, (after - self._anchor) // self._every)
        slots = set()
        while (slot := self._anchor + number * self._every) <= until:
            if slot > after:
                slots.add(slot)
            number += 1
        return slots
