"""Quiet hours: a daily window in which a person gets no notifications. Pure."""

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from common import zones
from common.times import civil_time


@dataclass(frozen=True, slots=True)
class Window:
    """Daily from `begins` to `ends` (excluded) in `zone`; past midnight if `ends` is earlier."""

    begins: time
    ends: time
    zone: ZoneInfo


def window(begins: time | None, ends: time | None, zone: str) -> Window | None:
    """The window of a person's settings, or None. An empty `zone` is UTC.

    A damaged zone disables quiet hours: a message at night is better than one delayed to a wrong time.
    """
    if begins is None or ends is None or begins == ends or zones.is_damaged(zone):
        return None
    return Window(begins, ends, zones.read(zone))


def quiet_until(instant: datetime, window: Window) -> datetime | None:
    """The end (UTC) of the window that contains the aware `instant`; None outside of it.

    Both edges are civil times: a skipped one moves to right after the gap, a repeated one counts the first time.
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
    """The wait that quiet hours require at the aware `instant`; None outside of them."""
    until = None if window is None else quiet_until(instant, window)
    if window is None or until is None:
        return None
    return Wait(until, f"{civil_time.local(window.zone, until):%H:%M}")
