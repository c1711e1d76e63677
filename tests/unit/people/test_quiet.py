"""Quiet hours as civil time: overnight, off, and across clock changes."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from common.times.civil_time import local
from people import quiet
from people.quiet import Window, quiet_until

BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = Window(time(22), time(7), BERLIN)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


@pytest.mark.parametrize(
    ("instant", "until"),
    [
        ("2026-06-01T21:59:59+02:00", None),
        ("2026-06-01T22:00:00+02:00", "2026-06-02T07:00+02:00"),
        ("2026-06-02T00:00:00+02:00", "2026-06-02T07:00+02:00"),
        ("2026-06-02T06:59:59+02:00", "2026-06-02T07:00+02:00"),
        ("2026-06-02T07:00:00+02:00", None),
    ],
)
def test_a_window_past_midnight_ends_in_the_morning(instant: str, until: str | None) -> None:
    assert quiet_until(at(instant), NIGHT) == (until and at(until))


@pytest.mark.parametrize(
    ("instant", "until"),
    [
        ("2026-06-01T12:59+02:00", None),
        ("2026-06-01T13:00+02:00", "2026-06-01T15:00+02:00"),
        ("2026-06-01T15:00+02:00", None),
        ("2026-06-01T23:00+02:00", None),
    ],
)
def test_a_window_within_a_day_ends_on_that_day(instant: str, until: str | None) -> None:
    assert quiet_until(at(instant), Window(time(13), time(15), BERLIN)) == (until and at(until))


def test_equal_ends_and_missing_ones_are_no_window() -> None:
    assert quiet.window(time(7), time(7), "Europe/Berlin") is None
    assert quiet.window(time(7), None, "Europe/Berlin") is None
    assert quiet.window(None, time(7), "Europe/Berlin") is None
    assert quiet.window(time(22), time(7), "Europe/Berlin") == NIGHT


@pytest.mark.parametrize(
    ("begins", "ends", "instant", "until"),
    [
        # The clock jumps from 02:00 to 03:00 on 2026-03-29.
        (time(22), time(2, 30), "2026-03-29T01:59+01:00", "2026-03-29T03:00+02:00"),
        (time(22), time(2, 30), "2026-03-29T03:00+02:00", None),
        (time(2), time(3), "2026-03-29T03:00+02:00", None),
        (time(2, 30), time(6), "2026-03-29T03:00+02:00", "2026-03-29T06:00+02:00"),
        # It shows 02:00 to 03:00 twice on 2026-10-25: each edge comes the first time.
        (time(22), time(2, 30), "2026-10-25T02:29+02:00", "2026-10-25T02:30+02:00"),
        (time(22), time(2, 30), "2026-10-25T02:10+01:00", None),
        (time(2, 30), time(6), "2026-10-25T02:10+01:00", "2026-10-25T06:00+01:00"),
        (time(22), time(7), "2026-10-24T23:00+02:00", "2026-10-25T07:00+01:00"),
    ],
)
def test_the_edges_are_civil_times(begins: time, ends: time, instant: str, until: str | None) -> None:
    assert quiet_until(at(instant), Window(begins, ends, BERLIN)) == (until and at(until))


@given(
    st.integers(min_value=160_000_000, max_value=3_800_000_000).map(lambda second: datetime.fromtimestamp(second, UTC)),
    st.times().map(lambda t: t.replace(second=0, microsecond=0)),
    st.times().map(lambda t: t.replace(second=0, microsecond=0)),
    st.sampled_from(["Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "America/New_York", "Pacific/Apia"]),
)
def test_what_waits_waits_to_the_end_of_the_same_window(instant: datetime, begins: time, ends: time, zone: str) -> None:
    window = quiet.window(begins, ends, zone)
    if window is None:
        return
    until = quiet_until(instant, window)
    if until is None:
        return
    assert instant < until <= instant + timedelta(hours=49)
    assert local(window.zone, until).time() >= ends or begins > ends
    assert quiet_until(until, window) is None


def test_it_says_until_when_on_the_persons_own_clock() -> None:
    end = at("2026-06-02T05:00+00:00")
    assert quiet.wait(end - timedelta(hours=1), NIGHT) == quiet.Wait(end, "07:00")
    assert quiet.wait(end, NIGHT) is None
    assert quiet.wait(end - timedelta(hours=1), None) is None
