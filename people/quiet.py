"""Quiet hours: the window of each day in which a person does not want to be disturbed. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from common import civil_time, zones


@dataclass(frozen=True, slots=True)
class Window:
    """From `begins` until `ends` (excluded) on the wall clock of `zone`, every day; past midnight where `ends` is the
    earlier one."""

    begins: time
    ends: time
    zone: ZoneInfo


def window(begins: time | None, ends: time | None, zone: str) -> Window | None:
    """The window of a person's settings; None where they have none. An empty `zone` is UTC.

    A damaged zone has none either: a message at night does less harm than one that waits for a wrong morning.
    """
    if begins is None or ends is None or begins == ends or zones.is_damaged(zone):
        return None
    return Window(begins, ends, zones.read(zone))


def quiet_until(instant: datetime, window: Window) -> datetime | None:
    """The end of the window that the aware `instant` falls into, in UTC, after `instant`; None when it falls into none.

    Both edges are civil times (see `civil`): one that is skipped comes right after the gap, one that happens twice
    comes the first time.
    """
    shown = civil_time.high_water(window.zone, instant)
    day = shown.date()
    if window.begins < window.ends:
        if not window.begins <= shown.time() < window.ends:
            return None
    elif shown.time() >= window.begins:
        day += timedelta(days=1)
    elif shown.time() >= window.ends:
        return None
    return civil_time.first_instant(window.zone, datetime.combine(day, window.ends))


@dataclass(frozen=True, slots=True)
class Wait:
    """The end of the quiet hours, in UTC and as the person's clock shows it."""

    until: datetime
    shown: str


def wait(instant: datetime, window: Window | None) -> Wait | None:
    """What somebody with these quiet hours is due at the aware `instant`: a wait, or None where it may disturb."""
    until = None if window is None else quiet_until(instant, window)
    if window is None or until is None:
        return None
    return Wait(until, f"{civil_time.local(window.zone, until):%H:%M}")
