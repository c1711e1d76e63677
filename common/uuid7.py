"""Time-ordered identifiers, made before the insert so that a batch is written without reading it back."""

from __future__ import annotations

import os
import time
from datetime import datetime, timedelta
from uuid import UUID

OLDEST_FORM = timedelta(days=1)
FURTHEST_AHEAD = timedelta(minutes=5)  # clocks of several web servers differ


def uuid7() -> UUID:
    """A UUID of version 7 (RFC 9562, section 5.7): 48 bits of Unix milliseconds, 12 of the fraction of one, 62 random.

    The fraction (section 6.2, method 3) counts quarter microseconds, so the ids of one process stand in the order in
    which they were made.
    """
    milliseconds, nanoseconds = divmod(time.time_ns(), 1_000_000)
    fraction = (nanoseconds << 12) // 1_000_000
    random = int.from_bytes(os.urandom(8), "big") >> 2
    return UUID(int=(milliseconds & 0xFFFF_FFFF_FFFF) << 80 | 0x7 << 76 | fraction << 64 | 0x2 << 62 | random)


def is_recent(key: UUID, now: datetime) -> bool:
    """Whether `key`, which a form brought back, is a UUID of version 7 that was made within the last day.

    The primary key's order stands for time in lists and filters, so that no form may choose another time.
    """
    if key.version != 7:
        return False
    age = now.timestamp() - (key.int >> 80) / 1000
    return -FURTHEST_AHEAD.total_seconds() <= age <= OLDEST_FORM.total_seconds()
