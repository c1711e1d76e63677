"""The one place that decides when a person may be disturbed: quiet hours of every day, or hours by weekday. Pure."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from common import zones
from common.times import civil_time, dates, public_holidays

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""The keys of `weekly_hours`."""

_DAY = timedelta(days=1)
_SUNDAY = 6
# Beyond this nothing opens any more: every Friday in reach is a public holiday.
_FURTHEST = 60


@dataclass(frozen=True, slots=True)
class Hours:
    """When messages may disturb a person: for each weekday from Monday, the wall-clock times [opens, closes) in `zone`.

    None: not on that day. What closes no later than it opens closes on the next day. A public holiday of `country` is
    like a Sunday.
    """

    days: tuple[tuple[time, time] | None, ...]
    zone: ZoneInfo
    country: str = ""

    def _on(self, day: date) -> tuple[datetime, datetime] | None:
        is_holiday = bool(self.country) and public_holidays.is_holiday(self.country, day)
        if (span := self.days[_SUNDAY if is_holiday else day.weekday()]) is None:
            return None
        opens, closes = span
        return datetime.combine(day, opens), datetime.combine(day + _DAY * (closes <= opens), closes)

    def _is_open(self, shown: datetime) -> bool:
        spans = (self._on(shown.date() - _DAY), self._on(shown.date()))
        return any(span is not None and span[0] <= shown < span[1] for span in spans)

    def _openings(self, shown: datetime) -> Iterator[datetime]:
        for number in range(_FURTHEST):
            span = self._on(shown.date() + number * _DAY)
            if span is not None and span[0] > shown:
                yield span[0]

    def opens_after(self, instant: datetime) -> datetime | None:
        """When they open next (UTC), at an aware `instant` at which they are closed; None while they are open.

        Edges are civil times: a skipped one moves to right after the gap, a repeated one counts the first time.
        """
        shown = civil_time.high_water(self.zone, instant)
        if self._is_open(shown):
            return None
        instants = (civil_time.first_instant(self.zone, opens) for opens in self._openings(shown))
        return next((one for one in instants if self._is_open(civil_time.high_water(self.zone, one))), None)


def columns(table: str) -> str:
    """SQL of the hours of a row of people_user, for `read`; NULL for those who have none."""
    names = ("quiet_from", "quiet_until", "time_zone", "weekly_hours", "public_holidays")
    listed = ", ".join(f"{table}.{name}" for name in names)
    return f"""CASE WHEN {table}.quiet_from IS NOT NULL OR {table}.weekly_hours <> jsonb_build_object()
                    THEN jsonb_build_array({listed})::text END"""


@lru_cache(maxsize=1_000)
def read(written: str | None) -> Hours | None:
    """The hours of a row, as `columns` has loaded them."""
    if written is None:
        return None
    begins, ends, zone, weekly, country = json.loads(written)
    first, last = (None if edge is None else time.fromisoformat(edge) for edge in (begins, ends))
    return hours(first, last, zone, weekly, country)


def hours(begins: time | None, ends: time | None, zone: str, weekly: Any = None, country: str = "") -> Hours | None:
    """The hours of a person's settings; None if they may be disturbed at any time. An empty `zone` is UTC.

    Hours by weekday take the place of quiet hours. A damaged zone or damaged hours disable them: a message at night is
    better than one delayed to a wrong time.
    """
    if zones.is_damaged(zone):
        return None
    if weekly:
        return None if (days := weekly_days(weekly)) is None else Hours(days, zones.read(zone), country)
    if begins is None or ends is None or begins == ends:
        return None
    return Hours(((ends, begins),) * 7, zones.read(zone))


def weekly_days(weekly: Any) -> tuple[tuple[time, time] | None, ...] | None:
    """The days from Monday of stored `weekly_hours` ({"mon": ["08:00", "18:00"]}); None if they are damaged or none."""
    try:
        if not isinstance(weekly, Mapping) or not weekly or not weekly.keys() <= set(DAYS):
            return None
        spans = {
            day: (time.fromisoformat(opens), time.fromisoformat(closes)) for day, (opens, closes) in weekly.items()
        }
    except (TypeError, ValueError):
        return None
    return tuple(spans.get(day) for day in DAYS)


@dataclass(frozen=True, slots=True)
class Wait:
    """The end of the quiet hours, in UTC, and on the person's clock as `dates.civil` reads it."""

    until: datetime
    stored: str

    @property
    def shown(self) -> str:
        return dates.civil(self.stored)


def wait(instant: datetime, hours: Hours | None) -> Wait | None:
    """The wait that is required at the aware `instant`; None where the person may be disturbed."""
    until = None if hours is None else hours.opens_after(instant)
    if hours is None or until is None:
        return None
    is_soon = until - instant < _DAY
    return Wait(until, f"{civil_time.local(hours.zone, until):{'%H:%M' if is_soon else '%Y-%m-%d %H:%M'}}")
