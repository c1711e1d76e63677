"""Every instant from 1970 to 2100 at which a zone's clocks are changed, found by asking the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from common import zones

ZONES = sorted(zones.known())
BEGIN = datetime(1970, 1, 1, tzinfo=UTC)
END = datetime(2100, 1, 1, tzinfo=UTC)
# Shorter than the shortest time that clocks have stayed changed since 1970: four weeks, over a Ramadan.
_STRIDE = timedelta(days=9)
_SECOND = timedelta(seconds=1)


@cache
def clock_changes(timezone: str) -> tuple[datetime, ...]:
    zone = ZoneInfo(timezone)
    found = []
    instant, offset = BEGIN, BEGIN.astimezone(zone).utcoffset()
    while instant < END:
        later = instant + _STRIDE
        if (new := later.astimezone(zone).utcoffset()) != offset:
            low, high = instant, later
            while high - low > _SECOND:
                middle = low + timedelta(seconds=(high - low) // _SECOND // 2)
                if middle.astimezone(zone).utcoffset() == offset:
                    low = middle
                else:
                    high = middle
            found.append(high)
            offset = new
        instant = later
    return tuple(found)
