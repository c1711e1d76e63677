"""What each kind means where no clock is changed: its slots, its words, its canonical data."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest

from schedules.rules import KINDS, parse

from .rules import upcoming

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
        "On the 31st of every month (if there is one) at 09:00, Berlin time",
    ),
    (
        "cron",
        {"expression": "*/15 9-17 * * mon-fri"},
        BERLIN,
        "Every 15th minute from 09:00 through 17:59 on Monday through Friday, Berlin time (cron */15 9-17 * * mon-fri)",
    ),
    ("cron", {"expression": "*/1 9 * * *"}, "UTC", "Every minute from 09:00 through 09:59, UTC (cron */1 9 * * *)"),
    ("cron", {"expression": "*/60 * * * *"}, "UTC", "At the start of every hour, UTC (cron */60 * * * *)"),
    ("cron", {"expression": "*/45 9 * * *"}, "UTC", "At 09:00 and 09:45 every day, UTC (cron */45 9 * * *)"),
    ("cron", {"expression": "0 9 * * */7"}, "UTC", "At 09:00 on Sunday, UTC (cron 0 9 * * */7)"),
    ("cron", {"expression": "0 9 31 * *"}, "UTC", "At 09:00 on the 31st day of every month, UTC (cron 0 9 31 * *)"),
    (
        "cron",
        {"expression": "0 22-2 * * fri-mon"},
        "UTC",
        "At minute 0 past every hour from 22 through 2 on Friday through Monday, UTC (cron 0 22-2 * * fri-mon)",
    ),
    ("cron", {"expression": "@daily"}, BERLIN, "At 00:00 every day, Berlin time (cron @daily)"),
    (
        "rrule",
        {"rule": "DTSTART:20260105T090000\nRRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO\nEXDATE:20260119T090000"},
        BERLIN,
        "Every 2 weeks on Monday at 09:00, Berlin time, from 5 January 2026, without 1 date",
    ),
    (
        "rrule",
        {"rule": "DTSTART:20260106T090000\nRRULE:FREQ=WEEKLY;UNTIL=20270331T235959;BYDAY=TU"},
        BERLIN,
        "Every Tuesday at 09:00 until 31 March 2027, Berlin time, from 6 January 2026",
    ),
    (
        "rrule",
        {"rule": "DTSTART:20260106T090000\nRRULE:FREQ=WEEKLY;BYDAY=TU\nRRULE:FREQ=MONTHLY;BYMONTHDAY=1"},
        BERLIN,
        "Every Tuesday at 09:00; On the 1st of every month at 09:00, Berlin time, from 6 January 2026",
    ),
    (
        "rrule",
        {"rule": "DTSTART:20260106T090000\nRRULE:FREQ=YEARLY;UNTIL=20290101T000000;BYYEARDAY=100"},
        BERLIN,
        "Every year by the calendar rule RRULE:FREQ=YEARLY;UNTIL=20290101T000000;BYYEARDAY=100, "
        "from 6 January 2026 09:00 Berlin time",
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
    assert all(rule.kind == kind for kind, rule in KINDS.items())


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
    for kind, params in (("daily", {"time": "09:00"}), ("cron", {"expression": "*/15 * * * *"})):
        with pytest.raises(ValueError, match="aware"):
            parse(kind, params, "UTC").next_after(datetime(2026, 1, 1))  # noqa: DTZ001 - the point


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


@pytest.mark.parametrize(
    ("expression", "plain"),
    [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@Annually", "0 0 1 1 *"),
        ("0 9 * * Monday,thursday", "0 9 * * 1,4"),
        ("0 9 1 February *", "0 9 1 2 *"),
        ("0 9 ? * mon", "0 9 * * 1"),
        ("0 9 15 * ?", "0 9 15 * *"),
        ("0 9 * * fri-mon", "0 9 * * 5,6,0,1"),
        ("0 9 * * sat-sun", "0 9 * * 6,0"),
        ("0 22-2 * * *", "0 22,23,0,1,2 * * *"),
        ("0 22-4/3 * * *", "0 22,1,4 * * *"),
        ("0 9 1 nov-feb *", "0 9 1 11,12,1,2 *"),
        ("50-10/5 9 * * *", "50,55,0,5,10 9 * * *"),
        ("0 9 28-2 * *", "0 9 28-31,1,2 * *"),
        ("0 9 * * friday#2", "0 9 * * 5#2"),
        ("5/20 9 * * *", "5,25,45 9 * * *"),
    ],
)
def test_what_other_crons_write_means_the_same_here(expression: str, plain: str) -> None:
    assert make_civil_slots("cron", {"expression": expression}, 60) == make_civil_slots(
        "cron", {"expression": plain}, 60
    )


def test_cron_steps_of_days_of_the_week_keep_to_the_star() -> None:
    # The star of */2 makes both fields hold: the odd days of the month that are Mondays.
    assert make_civil_slots("cron", {"expression": "0 9 */2 * mon"}, 2) == ["2026-01-05 09:00", "2026-01-19 09:00"]


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


def test_a_birthday_as_calendars_write_it_comes_once_a_year() -> None:
    rule = "DTSTART:20260307T090000\nRRULE:FREQ=YEARLY;WKST=MO;INTERVAL=1;BYMONTHDAY=7"
    assert make_calendar_slots(rule, 3) == ["2026-03-07 09:00", "2027-03-07 09:00", "2028-03-07 09:00"]
    # Two days are no birthday: those of every month, as the RFC says.
    rule = "DTSTART:20260307T090000\nRRULE:FREQ=YEARLY;BYMONTHDAY=7,8"
    assert make_calendar_slots(rule, 3) == ["2026-03-07 09:00", "2026-03-08 09:00", "2026-04-07 09:00"]


def test_a_position_in_the_day_and_in_the_hour_chooses_among_its_times() -> None:
    rule = "DTSTART:20260101T000000\nRRULE:FREQ=DAILY;BYHOUR=6,12,18;BYMINUTE=0,30;BYSETPOS=2,-1"
    assert make_calendar_slots(rule, 3) == ["2026-01-01 06:30", "2026-01-01 18:30", "2026-01-02 06:30"]
    rule = "DTSTART:20260101T000000\nRRULE:FREQ=HOURLY;INTERVAL=2;BYMINUTE=10,20,30;BYSETPOS=-1"
    assert make_calendar_slots(rule, 2) == ["2026-01-01 00:30", "2026-01-01 02:30"]


def test_a_position_counts_in_its_whole_period_though_the_rule_ends_in_it() -> None:
    rule = "DTSTART:20260101T090000\nRRULE:FREQ=YEARLY;BYDAY=MO;BYSETPOS=-1;UNTIL=20270630"
    assert make_calendar_slots(rule, 9) == ["2026-12-28 09:00"]


def test_a_monthly_position_every_year_counts_in_each_month() -> None:
    rule = "DTSTART:20260101T090000\nRRULE:FREQ=MONTHLY;INTERVAL=12;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1"
    assert make_calendar_slots(rule, 3) == ["2026-01-30 09:00", "2027-01-29 09:00", "2028-01-31 09:00"]


def test_of_a_date_without_a_time_hours_and_minutes_are_ignored() -> None:
    rule = "DTSTART;VALUE=DATE:20260105\nRRULE:FREQ=DAILY;BYHOUR=9;BYMINUTE=30;COUNT=2"
    assert make_calendar_slots(rule, 9) == ["2026-01-05 00:00", "2026-01-06 00:00"]
    assert parse("rrule", parse("rrule", {"rule": rule}, "UTC").data(), "UTC") == parse("rrule", {"rule": rule}, "UTC")


def test_a_rule_of_every_minute_of_a_year_goes_on_in_the_next() -> None:
    every = "BYDAY=MO,TU,WE,TH,FR,SA,SU;BYHOUR={};BYMINUTE={}".format(
        ",".join(map(str, range(24))), ",".join(map(str, range(60)))
    )
    rule = "DTSTART:20260105T090000\nRRULE:FREQ=YEARLY;" + every
    assert make_civil_slots("rrule", {"rule": rule}, 2, "2026-12-31T23:58") == ["2026-12-31 23:59", "2027-01-01 00:00"]


def test_an_interval_of_a_thousand_years_comes_again() -> None:
    rule = "DTSTART:20260105T090000\nRRULE:FREQ=YEARLY;INTERVAL=1000"
    assert make_calendar_slots(rule, 9)[:2] == ["2026-01-05 09:00", "3026-01-05 09:00"]
    assert len(make_calendar_slots(rule, 9)) == 8


def test_an_interval_that_leaves_the_calendar_ends() -> None:
    rule = {"every": 3650, "unit": "days", "anchor": "9998-12-30T00:00:00+00:00"}
    assert make_civil_slots("interval", rule, 3) == ["9998-12-30 00:00"]


def test_a_position_in_the_week_counts_days_before_the_start_of_the_rule() -> None:
    # 8 January 2026 is a Thursday: the first of Monday and Thursday of that week has passed.
    rule = "DTSTART:20260108T090000\nRRULE:FREQ=WEEKLY;BYDAY=MO,TH;BYSETPOS=1"
    assert make_calendar_slots(rule, 2) == ["2026-01-12 09:00", "2026-01-19 09:00"]


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("once", {"at": datetime.fromisoformat("2026-03-29T09:00")}, {"at": "2026-03-29T09:00"}),
        (
            "interval",
            {"every": 2, "unit": "days", "anchor": datetime(2026, 1, 1, tzinfo=UTC)},
            {"every": 2, "unit": "days", "anchor": "2026-01-01T00:00+00:00"},
        ),
        ("daily", {"time": time(9), "off_days": "skip"}, {"time": "09:00", "off_days": "skip"}),
    ],
)
def test_a_time_that_is_a_value_is_the_same_rule_as_its_text(
    kind: str, value: dict[str, Any], text: dict[str, Any]
) -> None:
    assert parse(kind, value, BERLIN) == parse(kind, text, BERLIN)


@pytest.mark.parametrize(("kind", "data"), [(kind, data) for kind, data, _, _ in EXAMPLES])
@pytest.mark.parametrize("timezone", ["Pacific/Kiritimati", "Pacific/Niue"])
def test_the_ends_of_the_calendar_give_no_slot_and_no_error(kind: str, data: dict[str, Any], timezone: str) -> None:
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    rule = parse(kind, data, timezone)
    assert rule.next_after(first) is not None
    assert rule.next_after(last) is None
    assert rule.clock_change(first) is rule.clock_change(last) is None

    instant = datetime(9997, 12, 31, tzinfo=UTC)
    while (slot := rule.next_after(instant)) is not None:
        assert slot > instant
        instant = slot + timedelta(hours=20)
    assert instant.year < 9999 or (instant.month, instant.day) < (1, 3)
