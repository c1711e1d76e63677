"""Which coming slots an edit of the timing would add and remove. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Changes:
    """Up to `until`, or for good where it is None: the slots that an edit adds and those that it removes, in order."""

    added: Sequence[datetime]
    removed: Sequence[datetime]
    until: datetime | None


def compare(before: Sequence[datetime], after: Sequence[datetime], look: int) -> Changes:
    """`before` and `after` are the next slots under either rule, in order: all of them, or the first `look`."""
    ends = [slots[look - 1] for slots in (before, after) if len(slots) >= look]
    until = min(ends, default=None)
    old, new = ({slot for slot in slots if until is None or slot <= until} for slots in (before, after))
    return Changes(sorted(new - old), sorted(old - new), until)
