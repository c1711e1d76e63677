"""`common.civil_time` for rules, with the years that a rule may reach and the lookup of zones by name.

If the clock skips a time, the reminder fires right after the gap; if it shows a time twice, the first time. Only a cron
whose minute or hour starts with a star differs (`Cron.is_elapsed`).
"""

from __future__ import annotations

import difflib
from datetime import UTC, datetime
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from common import zones
from common.civil_time import TICK, first_instant, gap_before, happens_twice, high_water, local, turned_back_over
from schedules.rules.invalid import InvalidRule

__all__ = [
    "FIRST", "FIRST_INSTANT", "LAST", "LAST_INSTANT", "REACH", "TICK", "first_instant", "gap_before", "happens_twice",
    "high_water", "is_in_reach", "local", "turned_back_over", "zone",
]  # fmt: skip

# A year less than datetime holds on both sides, so that no offset and no step of a rule overflows.
FIRST = datetime(2, 1, 1)  # noqa: DTZ001 - civil
LAST = datetime(9999, 1, 1)  # noqa: DTZ001 - civil
FIRST_INSTANT = FIRST.replace(tzinfo=UTC)
LAST_INSTANT = LAST.replace(tzinfo=UTC)
# An earlier year is a typing error.
_EARLIEST = datetime(1900, 1, 1)  # noqa: DTZ001 - civil
REACH = f"choose a date from the year {_EARLIEST.year} to {LAST.year - 1}"


@cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def zone(name: Any) -> ZoneInfo:
    """The zone of an IANA name. Raises InvalidRule("timezone") with the closest known name."""
    if isinstance(name, str) and name in zones.known():
        return _zone(name)
    if not isinstance(name, str) or not name.strip():
        raise InvalidRule("timezone", "Choose a time zone, such as Europe/Berlin.")
    raise InvalidRule("timezone", f"There is no time zone “{name[:60]}”. {_suggestion(name[:60])}")


def is_in_reach(moment: datetime) -> bool:
    """Whether a rule may contain this civil time."""
    return _EARLIEST <= moment < LAST


def _suggestion(name: str) -> str:
    by_lower = {known.lower(): known for known in sorted(zones.known())}
    wanted = name.strip().lower().replace(" ", "_")
    cities = {known.rpartition("/")[2]: known for known in reversed(by_lower)}
    close = difflib.get_close_matches(wanted, [*by_lower, *cities], n=1)
    if not close:
        return "Use a name of the IANA database, such as Europe/Berlin or UTC."
    return f"Did you mean {by_lower[cities.get(close[0], close[0])]}?"
