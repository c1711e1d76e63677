"""Civil time: what the clock on the wall of a zone shows, and the instants behind it.

The rule for all kinds that speak of civil time: **a civil time fires at the first instant at which the wall
clock shows it or a later time.** A time that a clock change skips therefore fires at the first instant after the
gap, and one that happens twice fires the first time. Civil times are naive datetimes; instants are aware, in UTC.
"""

from __future__ import annotations

import difflib
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from .invalid import InvalidRule

# Room of a year on both sides of what datetime holds, so that no offset and no step of a rule overflows.
FIRST = datetime(2, 1, 1)  # noqa: DTZ001 - civil
LAST = datetime(9999, 1, 1)  # noqa: DTZ001 - civil
FIRST_INSTANT = FIRST.replace(tzinfo=UTC)
LAST_INSTANT = LAST.replace(tzinfo=UTC)

TICK = timedelta(microseconds=1)
_SECOND = timedelta(seconds=1)
# In the zone database, but no place: the machine's own setting, and "not configured".
_NOT_A_PLACE = {"localtime", "Factory"}


@cache
def zone_names() -> frozenset[str]:
    """The IANA names of the installed zone database; read once a process, since it walks files."""
    return frozenset(available_timezones() - _NOT_A_PLACE)


@cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def zone(name: Any) -> ZoneInfo:
    """The zone of an IANA name. Raises InvalidRule("timezone") with the closest name there is."""
    if isinstance(name, str) and name in zone_names():
        return _zone(name)
    if not isinstance(name, str) or not name.strip():
        raise InvalidRule("timezone", "Choose a time zone, such as Europe/Berlin.")
    raise InvalidRule("timezone", f"There is no time zone “{name[:60]}”. {_suggestion(name[:60])}")


def _suggestion(name: str) -> str:
    by_lower = {known.lower(): known for known in sorted(zone_names())}
    wanted = name.strip().lower().replace(" ", "_")
    cities = {known.rpartition("/")[2]: known for known in reversed(by_lower)}
    close = difflib.get_close_matches(wanted, [*by_lower, *cities], n=1)
    if not close:
        return "Use a name of the IANA database, such as Europe/Berlin or UTC."
    return f"Did you mean {by_lower[cities.get(close[0], close[0])]}?"


def local(where: ZoneInfo, instant: datetime) -> datetime:
    """What the wall clock shows at an instant, naive."""
    return instant.astimezone(where).replace(tzinfo=None, fold=0)


def first_instant(where: ZoneInfo, civil: datetime) -> datetime:
    """The first instant at which the wall clock shows `civil` or later: when a slot at `civil` fires."""
    before_change = civil.replace(tzinfo=where)  # fold=0: the first of two; in a gap, the offset before it
    instant = before_change.astimezone(UTC)
    if local(where, instant) == civil:
        return instant
    return _change(where, civil.replace(tzinfo=where, fold=1).astimezone(UTC), instant)


def high_water(where: ZoneInfo, instant: datetime) -> datetime:
    """The latest time that the wall clock has shown up to `instant`.

    A slot at civil time C fires after `instant` exactly when C > high_water(instant): in the second pass through
    a repeated hour, the clock has already shown all of it.
    """
    shown = instant.astimezone(where)
    if not shown.fold:
        return shown.replace(tzinfo=None)
    naive = shown.replace(tzinfo=None, fold=0)
    shift = _offset(where, naive) - _offset(where, naive, fold=1)
    turned_back_at = _change(where, instant - shift, instant)
    return local(where, turned_back_at) + shift - TICK


def gap_before(where: ZoneInfo, instant: datetime) -> tuple[datetime, datetime] | None:
    """The civil times [first, end) that the clock skipped by jumping forward just at `instant`, if it did."""
    end = local(where, instant)
    jumped = end - local(where, instant - _SECOND) - _SECOND
    return (end - jumped, end) if jumped > timedelta(0) else None


def happens_twice(where: ZoneInfo, civil: datetime) -> bool:
    return _offset(where, civil) > _offset(where, civil, fold=1)


def _offset(where: ZoneInfo, civil: datetime, fold: int = 0) -> timedelta:
    offset = civil.replace(tzinfo=where, fold=fold).utcoffset()
    assert offset is not None  # noqa: S101 - a ZoneInfo with a datetime always has one
    return offset


def _change(where: ZoneInfo, low: datetime, high: datetime) -> datetime:
    """The instant in (low, high] at which the offset of `low` ends; changes fall on whole seconds."""
    low, high = low.replace(microsecond=0), high.replace(microsecond=0)
    old = low.astimezone(where).utcoffset()
    while high - low > _SECOND:
        middle = low + (high - low) // 2
        middle = middle.replace(microsecond=0)
        if middle.astimezone(where).utcoffset() == old:
            low = middle
        else:
            high = middle
    return high
