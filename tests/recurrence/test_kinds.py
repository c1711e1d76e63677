"""What each kind means where no clock is changed: its slots, its words, its canonical data."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from schedules.rules import KINDS, parse, upcoming

BERLIN = "Europe/Berlin"
EXAMPLES: list[tuple[str, dict[str, Any], str, str]] = [
    ("once", {"at": "2026-03-29T09:00:00"}, BERLIN, "Once, on Sunday 29 March 2026 at 09:00, Berlin time"),
    ("once", {"at": "2026-03-29T09:00:07.250000"}, "UTC", "Once, on Sunday 29 March 2026 at 09:00:07.250000, UTC"),
    (
        "interval",
        {"every": 90, "unit": "minutes", "anchor": "2026-01-01T00:00:00+00:00"},
        "UTC",
        "Every 90 minutes from 1 January 2026 00:00 UTC",
    ),
    (
        "interval",
        {"every": 1, "unit": "days", "anchor": "2026-01-01T00:00:00+00:00"},
        "America/New_York",
        "Every day from 31 December 2025 19:00 New York time",
    ),
    ("daily", {"time": "09:00"}, BERLIN, "Every day at 09:00, Berlin time"),
    ("weekly", {"time": "09:00", "days": [0, 1, 2, 3, 4]}, BERLIN, "Every weekday at 09:00, Berlin time"),
    ("weekly", {"time": "09:00", "days": [0, 3]}, BERLIN, "Every Monday and Thursday at 09:00, Berlin time"),
    ("weekly", {"time": "09:00", "days": [0, 1, 2, 3, 4, 5, 6]}, "Etc/UTC", "Every day at 09:00, UTC"),
    (
        "monthly",
        {"time": "09:00", "day": 2, "short": "last"},
        BERLIN,
        "On the 2nd of every month at 09:00, Berlin time",
    ),
    (
        "monthly",
        {"time": "09:00", "day": "last", "short": "last"},
        BERLIN,
        "On the last day of every month at 09:00, Berlin time",
    ),
    (
        "monthly",
        {"time": "09:00", "day": 31, "short": "last"},
        BERLIN,
        "On the 31st of every month (the last day in shorter months) at 09:00, Berlin time",
    ),
    (
        "monthly",
        {"time": "09:00", "day": 31, "short": "skip"},
        BERLIN,
        "On the 31st of every month that has one at 09:00, Berlin time",
    ),
    (
        "cron",
        {"expression": "*/15 9-17 * * mon-fri"},
        BERLIN,
        "Every 15th minute from 09:00 through 17:59 on Monday through Friday, Berlin time (cron */15 9-17 * * mon-fri)",
    ),
    (
        "rrule",
        {"rule": "DTSTART:20260105T090000\nRRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO\nEXDATE:20260119T090000"},
        BERLIN,
        "Every 2 weeks by the calendar rule RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO, "
        "from 5 January 2026 09:00 Berlin time",
    ),
]


def make_civil_slots(kind: str, data: dict[str, Any], count: int, after: str = "2026-01-01") -> list[str]:
    """Slots in UTC, as "2026-01-31 09:00"."""
    slots = upcoming(parse(kind, data, "UTC"), datetime.fromisoformat(after).replace(tzinfo=UTC), count)
    return [f"{slot:%Y-%m-%d %H:%M}" for slot in slots]


def make_calendar_slots(rule: str, count: int) -> list[str]:
    return make_civil_slots("rrule", {"rule": rule}, count)


def test_the_kinds_are_offered_in_the_order_of_a_form() -> None:
    assert list(KINDS) == ["once", "interval", "daily", "weekly", "monthly", "cron", "rrule"]
    assert all(rule.kind == kind and rule.label for kind, rule in KINDS.items())


@pytest.mark.parametrize(("kind", "data", "timezone", "words"), EXAMPLES)
def test_a_rule_reads_as_a_sentence_and_gives_back_its_data(
    kind: str, data: dict[str, Any], timezone: str, words: str
) -> None:
    rule = parse(kind, data, timezone)
    assert rule.describe() == words
    assert rule.data() == data
    assert parse(kind, rule.data(), timezone) == rule


@pytest.mark.parametrize(
    ("kind", "typed", "canonical"),
    [
        ("once", {"at": "2026-03-29 09:00"}, {"at": "2026-03-29T09:00:00"}),
        ("daily", {"time": "9:00"}, {"time": "09:00"}),
        ("weekly", {"time": "09:00", "days": [4, 0, 4]}, {"time": "09:00", "days": [0, 4]}),
        ("monthly", {"time": "09:00", "day": 31}, {"time": "09:00", "day": 31, "short": "last"}),
        ("cron", {"expression": "  0 9  * * * "}, {"expression": "0 9 * * *"}),
        (
            "interval",
            {"every": 2, "unit": "hours", "anchor": "2026-01-01T01:00:00+01:00"},
            {"every": 2, "unit": "hours", "anchor": "2026-01-01T00:00:00+00:00"},
        ),
        (
            "rrule",
            {"rule": "DTSTART;TZID=Europe/Berlin:20260105T090000;RRULE:freq=daily;\nEXDATE:20260106T080000Z,20260108"},
            {"rule": "DTSTART:20260105T090000\nRRULE:FREQ=DAILY\nEXDATE:20260106T090000,20260108"},
        ),
    ],
)
def test_what_was_typed_becomes_canonical(kind: str, typed: dict[str, Any], canonical: dict[str, Any]) -> None:
    rule = parse(kind, typed, BERLIN)
    assert rule.data() == canonical
    assert rule == parse(kind, canonical, BERLIN)


def test_a_slot_is_strictly_after_the_instant_asked_about() -> None:
    rule = parse("daily", {"time": "09:00"}, "UTC")
    nine = datetime(2026, 1, 1, 9, tzinfo=UTC)
    assert rule.next_after(nine) == nine + timedelta(days=1)
    assert rule.next_after(nine - timedelta(microseconds=1)) == nine


def test_a_naive_instant_is_refused_rather_than_guessed() -> None:
    with pytest.raises(ValueError, match="aware"):
        parse("daily", {"time": "09:00"}, "UTC").next_after(datetime(2026, 1, 1))  # noqa: DTZ001 - the point


def test_a_short_month_uses_its_last_day_or_is_skipped() -> None:
    day_31 = {"time": "09:00", "day": 31}
    assert make_civil_slots("monthly", day_31, 3) == ["2026-01-31 09:00", "2026-02-28 09:00", "2026-03-31 09:00"]
    assert make_civil_slots("monthly", {**day_31, "short": "skip"}, 3) == [
        "2026-01-31 09:00",
        "2026-03-31 09:00",
        "2026-05-31 09:00",
    ]
    assert make_civil_slots("monthly", {"time": "00:00", "day": "last"}, 2, "2028-02-01") == [
        "2028-02-29 00:00",
        "2028-03-31 00:00",
    ]


def test_an_interval_starts_at_its_anchor_and_not_before() -> None:
    rule = {"every": 36, "unit": "hours", "anchor": "2026-02-01T06:00:00+00:00"}
    assert make_civil_slots("interval", rule, 3) == ["2026-02-01 06:00", "2026-02-02 18:00", "2026-02-04 06:00"]


def test_cron_takes_a_day_of_month_or_a_day_of_week_when_both_are_given() -> None:
    assert make_civil_slots("cron", {"expression": "0 9 13 * fri"}, 4) == [
        "2026-01-02 09:00",
        "2026-01-09 09:00",
        "2026-01-13 09:00",
        "2026-01-16 09:00",
    ]


def test_cron_knows_the_last_day_the_last_friday_and_the_second_monday() -> None:
    assert make_civil_slots("cron", {"expression": "0 9 L feb *"}, 1) == ["2026-02-28 09:00"]
    assert make_civil_slots("cron", {"expression": "0 9 * * 5L"}, 2) == ["2026-01-30 09:00", "2026-02-27 09:00"]
    assert make_civil_slots("cron", {"expression": "0 9 * * mon#2"}, 2) == ["2026-01-12 09:00", "2026-02-09 09:00"]


def test_a_cron_of_leap_days_crosses_the_year_2100() -> None:
    assert make_civil_slots("cron", {"expression": "0 0 29 2 *"}, 1, "2096-03-01") == ["2104-02-29 00:00"]


def test_the_last_working_day_of_the_month() -> None:
    rule = "DTSTART:20260101T170000\nRRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1"
    assert make_calendar_slots(rule, 3) == ["2026-01-30 17:00", "2026-02-27 17:00", "2026-03-31 17:00"]


def test_the_first_day_of_the_week_decides_which_weeks_every_other_week_means() -> None:
    # RFC 5545, section 3.8.5.3: the example of where WKST matters, moved to a year with the same weekdays.
    rule = "DTSTART:20250805T090000\nRRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST="
    days = {"MO": [5, 10, 19, 24], "SU": [5, 17, 19, 31]}
    for week_start, august in days.items():
        slots = make_civil_slots("rrule", {"rule": rule + week_start}, 9, "2025-01-01")
        assert slots == [f"2025-08-{day:02} 09:00" for day in august]


def test_count_counts_excluded_dates_too() -> None:
    rule = "DTSTART:20260105T090000\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE:20260106T090000"
    assert make_calendar_slots(rule, 9) == ["2026-01-05 09:00", "2026-01-07 09:00"]


def test_until_is_inclusive_and_a_date_includes_its_whole_day() -> None:
    for until in ("20260106T090000", "20260106T090000Z", "20260106"):
        rule = f"DTSTART:20260105T090000\nRRULE:FREQ=DAILY;UNTIL={until}"
        assert make_calendar_slots(rule, 9) == ["2026-01-05 09:00", "2026-01-06 09:00"]
    rule = "DTSTART:20260105T090000\nRRULE:FREQ=DAILY;UNTIL=20260106T085959"
    assert make_calendar_slots(rule, 9) == ["2026-01-05 09:00"]


def test_an_excluded_date_without_a_time_excludes_its_whole_day() -> None:
    rule = "DTSTART:20260105T090000\nRRULE:FREQ=HOURLY;BYHOUR=9,10\nEXDATE;VALUE=DATE:20260106"
    assert make_calendar_slots(rule, 3) == ["2026-01-05 09:00", "2026-01-05 10:00", "2026-01-07 09:00"]


def test_numbered_and_plain_days_of_a_calendar_rule_add_up() -> None:
    rule = "DTSTART:20260101T090000\nRRULE:FREQ=MONTHLY;BYDAY=WE,1FR;BYMONTH=1"
    assert make_calendar_slots(rule, 3) == ["2026-01-02 09:00", "2026-01-07 09:00", "2026-01-14 09:00"]


def test_a_position_in_the_week_counts_days_before_the_start_of_the_rule() -> None:
    # 8 January 2026 is a Thursday: the first of Monday and Thursday of that week has passed.
    rule = "DTSTART:20260108T090000\nRRULE:FREQ=WEEKLY;BYDAY=MO,TH;BYSETPOS=1"
    assert make_calendar_slots(rule, 2) == ["2026-01-12 09:00", "2026-01-19 09:00"]


@pytest.mark.parametrize(("kind", "data"), [(kind, data) for kind, data, _, _ in EXAMPLES])
@pytest.mark.parametrize("timezone", ["Pacific/Kiritimati", "Pacific/Niue"])
def test_the_ends_of_the_calendar_give_no_slot_and_no_error(kind: str, data: dict[str, Any], timezone: str) -> None:
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    rule = parse(kind, data, timezone)
    assert rule.next_after(first) is not None
    assert rule.next_after(last) is None
    assert rule.explain(first) == rule.explain(last) == ""

    instant = datetime(9997, 12, 31, tzinfo=UTC)
    while (slot := rule.next_after(instant)) is not None:
        assert slot > instant
        instant = slot + timedelta(hours=20)
    assert instant.year < 9999 or (instant.month, instant.day) < (1, 3)
