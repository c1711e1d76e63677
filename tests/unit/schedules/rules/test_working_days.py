"""Rules on working days: what is on a weekend or public holiday is left out, or comes on the next working day."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from common.times.public_holidays import is_working_day
from schedules.rules import InvalidRule, Timetable, WorkingDays, parse
from schedules.rules.civil import TICK, first_instant, local, zone

BERLIN = "Europe/Berlin"
DAILY = ("daily", {"time": "09:00"})
FIRST = ("monthly", {"time": "09:00", "day": 1, "short": "last"})
CHRISTMAS = ("rrule", {"rule": "DTSTART:20260105T090000\nRRULE:FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=25"})
NEXT = "Mon 2026-12-28 09:00"
SATURDAY = ("weekly", {"time": "09:00", "days": [5]})


def working(kind: str, data: dict[str, Any], off_days: str, country: str, timezone: str = BERLIN) -> WorkingDays:
    rule = parse(kind, data | {"off_days": off_days, "public_holidays": country}, timezone)
    assert isinstance(rule, WorkingDays)
    return rule


def slots(rule: Any, since: str, count: int) -> list[str]:
    found, instant = [], datetime.fromisoformat(since).replace(tzinfo=zone(rule.timezone)) - TICK
    for _ in range(count):
        instant = rule.next_after(instant)
        found.append(f"{local(rule.zone, instant):%a %Y-%m-%d %H:%M}")
    return found


@pytest.mark.parametrize(
    ("rule", "off_days", "country", "since", "expected"),
    [
        (DAILY, "skip", "DE-BY", "2026-12-23", ["Wed 2026-12-23 09:00", "Thu 2026-12-24 09:00", NEXT]),
        (DAILY, "next", "DE-BY", "2026-12-24", ["Thu 2026-12-24 09:00", NEXT, "Tue 2026-12-29 09:00"]),
        (DAILY, "skip", "", "2026-12-25", ["Fri 2026-12-25 09:00", "Mon 2026-12-28 09:00"]),
        (DAILY, "skip", "DE-BY", "2027-01-05", ["Tue 2027-01-05 09:00", "Thu 2027-01-07 09:00"]),
        (DAILY, "skip", "DE-BE", "2027-01-05", ["Tue 2027-01-05 09:00", "Wed 2027-01-06 09:00"]),
        # Weekends elsewhere, and a Sunday on which China works.
        (DAILY, "skip", "IL", "2026-12-03", ["Thu 2026-12-03 09:00", "Sun 2026-12-06 09:00"]),
        (DAILY, "skip", "CN", "2026-01-04", ["Sun 2026-01-04 09:00", "Mon 2026-01-05 09:00"]),
        # The first of May, New Year, All Saints; the first of August 2026 is a Saturday.
        (FIRST, "next", "DE", "2026-04-30", ["Mon 2026-05-04 09:00", "Mon 2026-06-01 09:00", "Wed 2026-07-01 09:00"]),
        (FIRST, "next", "DE", "2026-08-01", ["Mon 2026-08-03 09:00", "Tue 2026-09-01 09:00"]),
        (FIRST, "next", "DE", "2026-08-02", ["Mon 2026-08-03 09:00"]),
        (FIRST, "next", "DE", "2026-08-03T09:00:01", ["Tue 2026-09-01 09:00"]),
        (FIRST, "skip", "DE", "2026-04-30", ["Mon 2026-06-01 09:00", "Wed 2026-07-01 09:00", "Tue 2026-09-01 09:00"]),
        # Easter: Saturday the 4th of April 2026 comes on Tuesday.
        (SATURDAY, "next", "DE", "2026-04-03", ["Tue 2026-04-07 09:00", "Mon 2026-04-13 09:00"]),
        (SATURDAY, "next", "", "2026-04-03", ["Mon 2026-04-06 09:00", "Mon 2026-04-13 09:00"]),
        # Two slots that meet come once; times of a cron stay apart.
        (
            ("cron", {"expression": "0 8,20 * * sat,sun,mon"}), "next", "", "2026-12-04",
            ["Mon 2026-12-07 08:00", "Mon 2026-12-07 20:00", "Mon 2026-12-14 08:00"],
        ),
        (
            ("cron", {"expression": "*/30 9 * * *"}), "skip", "ES-MD", "2026-12-07T09:10",
            ["Wed 2026-12-09 09:00", "Wed 2026-12-09 09:30"],
        ),
        (CHRISTMAS, "next", "DE", "2026-01-01", ["Mon 2026-12-28 09:00", "Mon 2027-12-27 09:00"]),
        # The clock is put forward on a Sunday, whose 02:30 comes on Monday.
        (("weekly", {"time": "03:30", "days": [6]}), "next", "", "2026-03-28", ["Mon 2026-03-30 03:30"]),
    ],
)  # fmt: skip
def test_what_comes_on_working_days(
    rule: tuple[str, dict[str, Any]], off_days: str, country: str, since: str, expected: list[str]
) -> None:
    made = working(*rule, off_days, country)
    assert slots(made, since, len(expected)) == expected
    assert parse(made.kind, made.data(), BERLIN) == made


@pytest.mark.parametrize("rule", [SATURDAY, CHRISTMAS])
def test_a_rule_that_has_only_days_off_is_refused_with_the_remedy(rule: tuple[str, dict[str, Any]]) -> None:
    with pytest.raises(InvalidRule) as error:
        working(*rule, "skip", "DE").next_after(datetime(2026, 1, 1, tzinfo=UTC))
    assert (error.value.field, error.value.code) == ("off_days", "only_off_days")


@pytest.mark.parametrize(
    ("kind", "data", "field"),
    [
        ("daily", {"time": "09:00", "off_days": "later"}, "off_days"),
        ("daily", {"time": "09:00", "off_days": 5}, "off_days"),
        ("daily", {"time": "09:00", "off_days": "skip", "public_holidays": "Bayern"}, "public_holidays"),
        ("daily", {"time": "09:00", "off_days": "skip", "public_holidays": 7}, "public_holidays"),
        ("daily", {"time": "09:00", "public_holidays": "DE"}, "public_holidays"),
        ("once", {"at": "2026-03-29T09:00", "off_days": "skip"}, "off_days"),
    ],
)
def test_what_is_wrong_names_its_parameter(kind: str, data: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRule) as error:
        parse(kind, data, BERLIN)
    assert error.value.field == field
    assert str(error.value)


def test_it_says_its_days() -> None:
    assert working(*DAILY, "skip", "DE-BY").describe() == (
        "Every day at 09:00, Berlin time; not on weekends and public holidays (DE-BY)"
    )
    assert working(*DAILY, "skip", "").brief() == "Every day at 09:00; not on weekends"
    moved = working(*FIRST, "next", "").brief()
    assert moved == "On the 1st of every month at 09:00; on a weekend on the next working day"


def test_public_holidays_are_among_the_excluded_days_and_weekends_are_not() -> None:
    timetable = Timetable(working(*DAILY, "skip", "DE"), excluded=frozenset({date(2026, 12, 28)}))
    since = datetime(2026, 12, 1, tzinfo=UTC)
    spans = timetable.excluded_days(since, since + timedelta(days=40))
    days = [local(zone(BERLIN), first).date() for first, _ in spans]
    assert days == [date(2026, 12, 25), date(2026, 12, 28), date(2027, 1, 1)]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1_000_000_000, 3_000_000_000).map(lambda second: datetime.fromtimestamp(second, UTC)),
    st.sampled_from(["DE-BY", "US", "CN", "IL", ""]),
    st.sampled_from([BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Shanghai"]),
    st.sampled_from(
        [DAILY, FIRST, ("weekly", {"time": "23:30", "days": [3, 5]}), ("cron", {"expression": "30 2,14 * * *"})]
    ),
)
@example(datetime(2044, 3, 10, tzinfo=UTC), "IL", "America/New_York", ("cron", {"expression": "30 2,14 * * *"}))
def test_each_slot_is_the_slot_of_its_rule_or_the_next_working_day_after_it(
    instant: datetime, country: str, timezone: str, plain: tuple[str, dict[str, Any]]
) -> None:
    rule = parse(*plain, timezone)
    skips, moves = (working(*plain, off_days, country, timezone) for off_days in ("skip", "next"))
    expected_skips, expected_moves, slot = [], set(), rule.next_after(instant - timedelta(days=40))
    end = instant + timedelta(days=60)
    while slot is not None and slot < end:
        day = local(rule.zone, slot).date()
        if is_working_day(country, day):
            expected_skips.append(slot)
        moved = day
        while not is_working_day(country, moved):
            moved += timedelta(days=1)
        # What a clock skips on that day comes right after the gap.
        shown = local(rule.zone, first_instant(rule.zone, datetime.combine(moved, local(rule.zone, slot).time())))
        expected_moves.add((shown.date(), shown.time()))
        slot = rule.next_after(slot)
    assert _between(skips, instant, end) == [one for one in expected_skips if one > instant]
    found = _between(moves, instant, instant + timedelta(days=30))
    assert found == sorted(set(found))
    assert {(local(rule.zone, one).date(), local(rule.zone, one).time()) for one in found} <= expected_moves
    first, last = (local(rule.zone, edge).date() for edge in (instant, instant + timedelta(days=30)))
    inside = {one for one in expected_moves if first < one[0] < last}
    assert inside <= {(local(rule.zone, one).date(), local(rule.zone, one).time()) for one in found}
    if (found := skips.between(instant + TICK, end)) is not None:
        assert found == [one for one in expected_skips if one > instant]


def _between(rule: WorkingDays, after: datetime, end: datetime) -> list[datetime]:
    found, slot = [], rule.next_after(after)
    while slot is not None and slot < end:
        found.append(slot)
        slot = rule.next_after(slot)
    return found
