"""Conversion between civil time (the wall clock of a zone) and instants.

If the clock skips a time, it comes right after the gap. A time that happens twice comes the first time. In other words:
a civil time comes at the first instant at which the clock shows it or a later time. Civil times are naive datetimes;
instants are aware, in UTC.
"""

from datetime import UTC, date, datetime, time, timedelta
from functools import cache, lru_cache
from importlib import resources
from zoneinfo import ZoneInfo

TICK = timedelta(microseconds=1)
_SECOND = timedelta(seconds=1)


@cache
def known_zones() -> frozenset[str]:
    """The names in the package tzdata. The files of the machine differ, and contain "localtime" and "posixrules"."""
    names = resources.files("tzdata").joinpath("zones").read_text(encoding="ascii").split()
    return frozenset(names) - {"Factory"}  # it is not a zone: "not configured"


def local(where: ZoneInfo, instant: datetime) -> datetime:
    return instant.astimezone(where).replace(tzinfo=None, fold=0)


def first_instant(where: ZoneInfo, civil: datetime) -> datetime:
    """The first instant at which the wall clock shows `civil` or later."""
    before_change = civil.replace(tzinfo=where)  # fold=0: the first of two; in a gap, the offset before it
    instant = before_change.astimezone(UTC)
    if local(where, instant) == civil:
        return instant
    return _change(where, civil.replace(tzinfo=where, fold=1).astimezone(UTC), instant)


@lru_cache(maxsize=1_000)
def begin_of(day: date, where: ZoneInfo) -> datetime:
    """The first instant of a date."""
    return first_instant(where, datetime.combine(day, time()))


def high_water(where: ZoneInfo, instant: datetime) -> datetime:
    """The latest civil time that the wall clock has shown up to `instant`.

    A civil time C comes after `instant` if and only if C > high_water(instant).
    """
    shown = instant.astimezone(where)
    if not shown.fold:
        return shown.replace(tzinfo=None)
    naive = shown.replace(tzinfo=None, fold=0)
    shift = _offset(where, naive) - _offset(where, naive, fold=1)
    turned_back_at = _change(where, instant - shift, instant)
    return local(where, turned_back_at) + shift - TICK


def turned_back_over(where: ZoneInfo, instant: datetime) -> datetime | None:
    """The next instant at which the clock is set back over the time that it shows at `instant`, or None."""
    shown = instant.astimezone(where)
    if shown.fold:
        return None
    naive = shown.replace(tzinfo=None)
    shift = _offset(where, naive) - _offset(where, naive, fold=1)
    return _change(where, instant, instant + shift) if shift > timedelta(0) else None


def gap_before(where: ZoneInfo, instant: datetime) -> tuple[datetime, datetime] | None:
    """The civil times [first, end) that the clock skipped at `instant`, or None."""
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
