"""`common.times.civil_time` for rules, with the years that a rule may reach and the lookup of zones by name.

If the clock skips a time, the reminder fires right after the gap; if it shows a time twice, the first time. Only a cron
whose minute or hour starts with a star differs (`Cron.is_elapsed`).
"""

import difflib
import re
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from common import zones
from common.times.civil_time import TICK, first_instant, gap_before, happens_twice, high_water, local, turned_back_over
from schedules.rules.invalid import InvalidRule

__all__ = [
    "FIRST", "FIRST_INSTANT", "LAST", "LAST_INSTANT", "TICK", "first_instant", "gap_before", "happens_twice",
    "high_water", "is_in_reach", "local", "turned_back_over", "zone",
]  # fmt: skip

# A year less than datetime holds on both sides, so that no offset and no step of a rule overflows.
FIRST = datetime(2, 1, 1)  # noqa: DTZ001 - civil
LAST = datetime(9999, 1, 1)  # noqa: DTZ001 - civil
FIRST_INSTANT = FIRST.replace(tzinfo=UTC)
LAST_INSTANT = LAST.replace(tzinfo=UTC)
# An earlier year is a typing error.
_EARLIEST = datetime(1900, 1, 1)  # noqa: DTZ001 - civil
_OFFSET = re.compile(r"(?:utc|gmt)? ?([+-]) ?(\d{1,2})(?::?([0-5]\d))?", re.ASCII | re.IGNORECASE)
# One for each offset that many people live in; which one it is depends on the season.
_CITIES = (
    "Pacific/Honolulu", "America/Anchorage", "America/Los_Angeles", "America/Denver", "America/Chicago",
    "America/New_York", "America/Caracas", "America/Halifax", "America/St_Johns", "America/Sao_Paulo",
    "Atlantic/Azores", "Europe/London", "Europe/Berlin", "Europe/Athens", "Africa/Lagos", "Africa/Johannesburg",
    "Europe/Istanbul", "Asia/Tehran", "Asia/Dubai", "Asia/Karachi", "Asia/Kolkata", "Asia/Kathmandu", "Asia/Dhaka",
    "Asia/Yangon", "Asia/Bangkok", "Asia/Shanghai", "Asia/Tokyo", "Australia/Adelaide", "Australia/Sydney",
    "Pacific/Noumea", "Pacific/Auckland",
)  # fmt: skip


@cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def zone(name: Any) -> ZoneInfo:
    """The zone of an IANA name. Raises InvalidRule("timezone") with the closest known name."""
    if isinstance(name, str) and name in zones.known():
        return _zone(name)
    if not isinstance(name, str) or not name.strip():
        raise InvalidRule("timezone", "timezone")
    raise _unknown_zone(name[:60])


def is_in_reach(moment: datetime) -> bool:
    """Whether a rule may contain this civil time."""
    return _EARLIEST <= moment < LAST


def _unknown_zone(name: str) -> InvalidRule:
    if match := _OFFSET.fullmatch(name.strip()):
        return _is_offset(name, match[1], int(match[2]), int(match[3] or 0))
    by_lower = {zone.lower(): zone for zone in sorted(zones.known())}
    wanted = name.strip().lower().replace(" ", "_")
    cities = {zone.rpartition("/")[2]: zone for zone in reversed(by_lower)}
    if not (close := difflib.get_close_matches(wanted, [*by_lower, *cities], n=1)):
        return InvalidRule("timezone", "timezone_unknown", name=name)
    return InvalidRule("timezone", "timezone_misspelt", name=name, closest=by_lower[cities.get(close[0], close[0])])


def _is_offset(name: str, sign: str, hours: int, minutes: int) -> InvalidRule:
    """The error for an offset instead of a name, with what to choose."""
    now = datetime.now(UTC)
    offset = timedelta(hours=hours, minutes=minutes) * (1 if sign == "+" else -1)
    utc = f"UTC{sign}{hours:02}:{minutes:02}"
    cities = [city for city in _CITIES if _zone(city).utcoffset(now) == offset]
    # In these names the sign is the other way round.
    fixed = f"Etc/GMT{'-' if sign == '+' else '+'}{hours}"
    has_fixed = not minutes and fixed in zones.known()
    if cities:
        code = "timezone_offset_both" if has_fixed else "timezone_offset_cities"
    else:
        code = "timezone_offset_fixed" if has_fixed else "timezone_offset"
    return InvalidRule("timezone", code, name=name, cities=tuple(cities), offset=utc, fixed=fixed)
