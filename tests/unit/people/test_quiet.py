"""Quiet hours as civil time: overnight, off, and across clock changes."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import translation
from hypothesis import given, strategies as st

from common.times.civil_time import local
from people import quiet
from people.quiet import Hours, hours

BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = Hours(((time(7), time(22)),) * 7, BERLIN)
WEEK = {day: ["08:00", "18:00"] for day in ("mon", "tue", "wed", "thu", "fri")} | {"sat": ["10:00", "12:00"]}


def daily(begins: time, ends: time) -> Hours:
    found = hours(begins, ends, "Europe/Berlin")
    assert found is not None
    return found


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
    assert NIGHT.opens_after(at(instant)) == (until and at(until))


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
    assert daily(time(13), time(15)).opens_after(at(instant)) == (until and at(until))


def test_equal_ends_and_missing_ones_are_no_window() -> None:
    assert hours(time(7), time(7), "Europe/Berlin") is None
    assert hours(time(7), None, "Europe/Berlin") is None
    assert hours(None, time(7), "Europe/Berlin") is None
    assert hours(time(22), time(7), "Europe/Berlin") == NIGHT


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
    assert daily(begins, ends).opens_after(at(instant)) == (until and at(until))


@given(
    st.integers(min_value=160_000_000, max_value=3_800_000_000).map(lambda second: datetime.fromtimestamp(second, UTC)),
    st.times().map(lambda t: t.replace(second=0, microsecond=0)),
    st.times().map(lambda t: t.replace(second=0, microsecond=0)),
    st.sampled_from(["Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "America/New_York", "Pacific/Apia"]),
)
def test_what_waits_waits_to_the_end_of_the_same_window(instant: datetime, begins: time, ends: time, zone: str) -> None:
    window = hours(begins, ends, zone)
    until = None if window is None else window.opens_after(instant)
    if window is None or until is None:
        return
    assert instant < until <= instant + timedelta(hours=49)
    assert local(window.zone, until).time() >= ends or begins > ends
    assert window.opens_after(until) is None


def test_it_says_until_when_on_the_persons_own_clock() -> None:
    end = at("2026-06-02T05:00+00:00")
    assert quiet.wait(end - timedelta(hours=1), NIGHT) == quiet.Wait(end, "07:00")
    assert quiet.wait(end, NIGHT) is None
    assert quiet.wait(end - timedelta(hours=1), None) is None


@pytest.mark.parametrize(
    ("instant", "until"),
    [
        # 2026-11-30 is a Monday.
        ("2026-11-30T07:59:59+01:00", "2026-11-30T08:00+01:00"),
        ("2026-11-30T08:00:00+01:00", None),
        ("2026-11-30T17:59:59+01:00", None),
        ("2026-11-30T18:00:00+01:00", "2026-12-01T08:00+01:00"),
        ("2026-12-04T17:00:00+01:00", None),
        ("2026-12-04T18:00:00+01:00", "2026-12-05T10:00+01:00"),
        ("2026-12-05T00:00:00+01:00", "2026-12-05T10:00+01:00"),
        ("2026-12-05T11:59:59+01:00", None),
        ("2026-12-05T12:00:00+01:00", "2026-12-07T08:00+01:00"),
        ("2026-12-06T10:30:00+01:00", "2026-12-07T08:00+01:00"),
        # Christmas of 2026: the 25th is a Friday, the 26th a Saturday.
        ("2026-12-24T17:00:00+01:00", None),
        ("2026-12-24T18:00:00+01:00", "2026-12-28T08:00+01:00"),
        ("2026-12-25T10:00:00+01:00", "2026-12-28T08:00+01:00"),
        ("2026-12-26T11:00:00+01:00", "2026-12-28T08:00+01:00"),
        # Epiphany is one in Bavaria; Corpus Christi moves with Easter.
        ("2027-01-06T10:00:00+01:00", "2027-01-07T08:00+01:00"),
        ("2026-06-04T10:00:00+02:00", "2026-06-05T08:00+02:00"),
        # Good Friday to Easter Monday.
        ("2026-04-02T20:00:00+02:00", "2026-04-04T10:00+02:00"),
        ("2026-04-04T12:00:00+02:00", "2026-04-07T08:00+02:00"),
        # The clock is put forward and back on a Sunday.
        ("2026-03-28T12:00:00+01:00", "2026-03-30T08:00+02:00"),
        ("2026-10-24T12:00:00+02:00", "2026-10-26T08:00+01:00"),
        # Another zone's Monday has begun, or not.
        ("2026-11-30T08:30:00+09:00", "2026-11-30T08:00+01:00"),
        ("2026-12-04T23:30:00-08:00", "2026-12-05T10:00+01:00"),
    ],
)
def test_hours_by_weekday_in_bavaria(instant: str, until: str | None) -> None:
    week = hours(None, None, "Europe/Berlin", WEEK, "DE-BY")
    assert week is not None
    assert week.opens_after(at(instant)) == (until and at(until))


@pytest.mark.parametrize(
    ("weekly", "country", "zone", "instant", "until"),
    [
        # Elsewhere Epiphany is a Wednesday like others.
        (WEEK, "DE-BE", "Europe/Berlin", "2027-01-06T10:00+01:00", None),
        (WEEK, "", "Europe/Berlin", "2026-12-25T10:00+01:00", None),
        # Thanksgiving; in California the day after it is one too.
        (WEEK, "US-NY", "America/New_York", "2026-11-26T10:00-05:00", "2026-11-27T08:00-05:00"),
        (WEEK, "US-CA", "America/Los_Angeles", "2026-11-26T10:00-08:00", "2026-11-28T10:00-08:00"),
        (WEEK, "ES", "Europe/Madrid", "2026-10-12T10:00+02:00", "2026-10-13T08:00+02:00"),
        # Hours on Sunday apply to public holidays.
        (WEEK | {"sun": ["11:00", "12:00"]}, "DE", "Europe/Berlin", "2026-12-25T09:00+01:00", "2026-12-25T11:00+01:00"),
        (WEEK | {"sun": ["11:00", "12:00"]}, "DE", "Europe/Berlin", "2026-12-25T11:30+01:00", None),
        # Past midnight, the hours are those of the day on which they began.
        ({"fri": ["20:00", "02:00"]}, "", "UTC", "2026-12-05T01:59+00:00", None),
        ({"fri": ["20:00", "02:00"]}, "", "UTC", "2026-12-05T02:00+00:00", "2026-12-11T20:00+00:00"),
        ({"fri": ["20:00", "02:00"], "sat": ["01:00", "03:00"]}, "", "UTC", "2026-12-05T02:30+00:00", None),
        ({"thu": ["20:00", "02:00"]}, "DE", "Europe/Berlin", "2026-12-25T01:00+01:00", None),
        # A whole day; a day of hours that follow each other.
        ({"wed": ["00:00", "00:00"]}, "", "UTC", "2026-12-02T23:59+00:00", None),
        ({"wed": ["00:00", "00:00"]}, "", "UTC", "2026-12-03T00:00+00:00", "2026-12-09T00:00+00:00"),
        # In the gap of a clock that is put forward nothing opens; the next hours do.
        ({"sun": ["02:15", "02:45"]}, "", "Europe/Berlin", "2026-03-28T12:00+01:00", "2026-04-05T02:15+02:00"),
        ({"sun": ["02:15", "04:00"]}, "", "Europe/Berlin", "2026-03-28T12:00+01:00", "2026-03-29T03:00+02:00"),
        # In the repeated hour they open the first time and stay closed the second.
        ({"sun": ["02:15", "02:45"]}, "", "Europe/Berlin", "2026-10-25T02:00+02:00", "2026-10-25T02:15+02:00"),
        ({"sun": ["02:15", "02:45"]}, "", "Europe/Berlin", "2026-10-25T02:20+01:00", "2026-11-01T02:15+01:00"),
        # A date that the clock skipped.
        ({"fri": ["10:00", "12:00"]}, "", "Pacific/Apia", "2011-12-29T23:00-10:00", "2012-01-06T10:00+14:00"),
        # Half-hour clock changes.
        ({"sun": ["02:10", "02:20"]}, "", "Australia/Lord_Howe", "2026-10-03T12:00Z", "2026-10-10T15:10Z"),
        # A code that is not known any more, or damaged.
        (WEEK, "DE-XX", "Europe/Berlin", "2026-12-25T10:00+01:00", None),
        (WEEK, "?", "Europe/Berlin", "2026-12-25T10:00+01:00", None),
    ],
)
def test_hours_by_weekday(
    weekly: dict[str, list[str]], country: str, zone: str, instant: str, until: str | None
) -> None:
    found = hours(None, None, zone, weekly, country)
    assert found is not None
    assert found.opens_after(at(instant)) == (until and at(until))


@pytest.mark.parametrize(
    "damaged", [{"mon": ["8"]}, {"mon": 5}, {"mon": ["a", "b"]}, {"day": ["08:00", "09:00"]}, [1], "x"]
)
def test_damaged_hours_hold_nothing(damaged: object) -> None:
    assert hours(None, None, "Europe/Berlin", damaged) is None


times = st.times().map(lambda t: f"{t:%H:%M}")


@given(
    st.integers(min_value=160_000_000, max_value=3_800_000_000).map(lambda second: datetime.fromtimestamp(second, UTC)),
    st.dictionaries(st.sampled_from(quiet.DAYS), st.tuples(times, times), min_size=1),
    st.sampled_from(["Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "America/New_York", "Pacific/Apia"]),
    st.sampled_from(["", "DE-BY", "US", "CN"]),
)
def test_what_waits_may_come_when_the_hours_open_and_not_before(
    instant: datetime, weekly: dict[str, tuple[str, str]], zone: str, country: str
) -> None:
    week = hours(None, None, zone, weekly, country)
    assert week is not None
    if (until := week.opens_after(instant)) is None:
        return
    assert instant < until <= instant + timedelta(days=61)
    assert week.opens_after(until) is None
    halfway = instant + (until - instant) / 2
    assert week.opens_after(halfway) == until
    assert quiet.wait(instant, week) is not None


def test_a_wait_of_more_than_a_day_names_the_date() -> None:
    wait = quiet.wait(at("2026-12-04T18:00:00+01:00"), hours(None, None, "Europe/Berlin", {"mon": ["08:00", "18:00"]}))
    assert wait is not None
    assert wait.stored == "2026-12-07 08:00"
    with translation.override("de"):
        assert wait.shown.startswith("Mo, 7. Dez")
