"""Everything that is refused: at which field, with which words, and how quickly."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from schedules.rules import KINDS, InvalidRule, parse

START = "DTSTART:20260105T090000\n"
INTERVAL = {"every": 90, "unit": "minutes", "anchor": "2026-01-01T00:00:00+00:00"}


def refuse(kind: str, data: Any, timezone: str = "Europe/Berlin") -> InvalidRule:
    with pytest.raises(InvalidRule) as refused:
        parse(kind, data, timezone)
    return refused.value


@pytest.mark.parametrize(
    ("timezone", "words"),
    [
        ("Europe/Berln", "Did you mean Europe/Berlin?"),
        ("europe/berlin", "Did you mean Europe/Berlin?"),
        ("New York", "Did you mean America/New_York?"),
        ("kiev", "Did you mean Europe/Kiev?"),
        ("Mars/Olympus_Mons", "Use a name of the IANA database, such as Europe/Berlin or UTC."),
        ("../../etc/passwd", "There is no time zone"),
        ("localtime", "There is no time zone"),
        ("", "Choose a time zone, such as Europe/Berlin."),
        (None, "Choose a time zone, such as Europe/Berlin."),
        (7, "Choose a time zone, such as Europe/Berlin."),
    ],
)
def test_a_zone_that_is_none_is_refused_with_the_nearest_that_is(timezone: Any, words: str) -> None:
    error = refuse("daily", {"time": "09:00"}, timezone)
    assert error.field == "timezone"
    assert words in str(error)


@pytest.mark.parametrize("kind", ["fortnightly", "", "Daily", None])
def test_an_unknown_kind_is_refused_with_the_kinds_there_are(kind: Any) -> None:
    error = refuse(kind, {})
    assert error.field == "kind"
    assert "once, interval, daily" in str(error)


@pytest.mark.parametrize("data", [None, [], "daily", 3])
def test_a_rule_that_is_no_object_is_refused(data: Any) -> None:
    assert refuse("daily", data).field == "rule"


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("weekly", {"time": "9", "days": [7]}),
        ("monthly", {"time": "9", "day": 32, "short": "next"}),
        ("interval", {"every": 0, "unit": "hours", "anchor": "now"}),
        ("weekly", {"time": "9", "days": [7], "off_days": "never", "public_holidays": "Mars"}),
    ],
)
def test_all_that_is_wrong_in_a_rule_is_told(kind: str, data: dict[str, Any]) -> None:
    error = refuse(kind, data)
    assert sorted(one.field for one in (error, *error.others)) == sorted(data.keys() - {"unit"})


def test_a_parameter_of_another_kind_is_refused_by_name() -> None:
    error = refuse("daily", {"time": "09:00", "days": [1]})
    assert error.field == "days"
    assert str(error) == "A rule of kind “daily” has no “days”: it takes time."


@pytest.mark.parametrize(
    ("kind", "data", "field", "words"),
    [
        ("once", {}, "at", "such as 2026-03-29T09:00"),
        ("once", {"at": 5}, "at", "“5” cannot be used here"),
        ("once", {"at": "tomorrow"}, "at", "“tomorrow” is not a date and time"),
        ("once", {"at": "2026-02-30T09:00"}, "at", "day is out of range for month"),
        ("once", {"at": "2026-01-01T25:00"}, "at", "hour must be in 0..23"),
        ("once", {"at": "2026-01-01"}, "at", "is not a date and time"),
        ("once", {"at": "2026-01-01T09:00+01:00"}, "at", "without an offset"),
        ("once", {"at": "9999-12-31T23:59"}, "at", "from the year 1900 to 9998"),
        ("once", {"at": "10000-01-01T00:00"}, "at", "is not a date and time"),
        ("once", {"at": "0226-01-05T09:00"}, "at", "from the year 1900 to 9998"),
        ("once", {"at": "2026-01-01T09:00" + "0" * 99}, "at", "115 characters long"),
        ("interval", {**INTERVAL, "every": 0}, "every", "“0” cannot be used here. Write a whole number of minutes"),
        ("interval", {**INTERVAL, "every": -5}, "every", "from 1 to 5,256,000 (ten years)"),
        ("interval", {**INTERVAL, "every": True}, "every", "whole number"),
        ("interval", {**INTERVAL, "every": 1.5}, "every", "whole number"),
        ("interval", {**INTERVAL, "every": "90"}, "every", "whole number"),
        ("interval", {**INTERVAL, "every": 3651, "unit": "days"}, "every", "from 1 to 3,650"),
        ("interval", {**INTERVAL, "unit": "seconds"}, "unit", "minutes, hours or days"),
        ("interval", {**INTERVAL, "unit": ["days"]}, "unit", "minutes, hours or days"),
        ("interval", {"every": 1, "unit": "days"}, "anchor", "such as 2026-01-01T00:00:00+00:00"),
        ("interval", {**INTERVAL, "anchor": "2026-01-01T00:00:00"}, "anchor", "has no offset from UTC"),
        ("interval", {**INTERVAL, "anchor": "soon"}, "anchor", "is not a date and time"),
        ("interval", {**INTERVAL, "anchor": "9999-12-31T23:59:00-12:00"}, "anchor", "out of reach"),
        ("interval", {**INTERVAL, "anchor": "1900-01-01T00:00:00+14:00"}, "anchor", "out of reach"),
        ("daily", {}, "time", "from 00:00 to 23:59, such as 09:00"),
        ("daily", {"time": "24:00"}, "time", "“24:00” cannot be used here"),
        ("daily", {"time": "09:60"}, "time", "such as 09:00"),
        ("daily", {"time": "09:00:30"}, "time", "such as 09:00"),
        ("daily", {"time": "9am"}, "time", "such as 09:00"),
        ("daily", {"time": "٠٩:٠٠"}, "time", "such as 09:00"),
        ("daily", {"time": 900}, "time", "such as 09:00"),
        ("weekly", {"time": "09:00", "days": []}, "days", "at least one day"),
        ("weekly", {"time": "09:00"}, "days", "at least one day"),
        ("weekly", {"time": "09:00", "days": "mon"}, "days", "such as [0, 3]"),
        ("weekly", {"time": "09:00", "days": [7]}, "days", "“7” cannot be used here"),
        ("weekly", {"time": "25:00", "days": [1]}, "time", "such as 09:00"),
        ("monthly", {"time": "09:00", "day": 0}, "day", "from 1 to 31"),
        ("monthly", {"time": "09:00", "day": 32}, "day", "from 1 to 31"),
        ("monthly", {"time": "09:00", "day": "first"}, "day", "or “last”"),
        ("monthly", {"time": "09:00"}, "day", "from 1 to 31"),
        ("monthly", {"time": "09:00", "day": 31, "short": "wrap"}, "short", "“last” (its last day) or “skip”"),
        ("monthly", {"time": "09:00", "day": 31, "short": None}, "short", "“skip”"),
        ("cron", {}, "expression", "such as 0 9 * * mon-fri"),
        ("cron", {"expression": "* * * *"}, "expression", "has 4 fields"),
        ("cron", {"expression": "0 * * * * *"}, "expression", "has 6 fields"),
        ("cron", {"expression": "@reboot"}, "expression", "@hourly, @daily"),
        ("cron", {"expression": "daily"}, "expression", "has one field"),
        ("cron", {"expression": "60 * * * *"}, "expression", "has a bad minute: minutes go from 0 to 59"),
        ("cron", {"expression": "0 24 * * *"}, "expression", "has a bad hour: hours go from 0 to 23"),
        ("cron", {"expression": "0 0 32 * *"}, "expression", "has a bad day-of-month: days go from 1 to 31"),
        ("cron", {"expression": "0 0 * 13 *"}, "expression", "has a bad month: months go from 1 to 12"),
        ("cron", {"expression": "0 0 * * 8"}, "expression", "has a bad day-of-week"),
        ("cron", {"expression": "*/0 * * * *"}, "expression", "has a bad minute"),
        ("cron", {"expression": "0 0 L/2 * *"}, "expression", "has a bad day-of-month"),
        ("cron", {"expression": "0 0 LW/3 * *"}, "expression", "has a bad day-of-month"),
        ("cron", {"expression": "0 0 * * 5L/2"}, "expression", "has a bad day-of-week"),
        ("cron", {"expression": "0 0 * * \u017fun"}, "expression", "has a bad day-of-week"),
        ("cron", {"expression": "0 0 * \u017fep *"}, "expression", "has a bad month"),
        ("cron", {"expression": "\u0663 0 * * *"}, "expression", "has a bad minute"),
        ("cron", {"expression": "@wee\u212aly"}, "expression", "@hourly, @daily"),
        ("cron", {"expression": "? * * * *"}, "expression", "has a bad minute"),
        ("cron", {"expression": "0 0 * * mond"}, "expression", "has a bad day-of-week"),
        ("cron", {"expression": "1,,2 * * * *"}, "expression", "has a bad minute"),
        ("cron", {"expression": "0 0 31 2 *"}, "expression", "the months given must have such a day"),
        ("cron", {"expression": "0 0 LW 2 */7"}, "expression", "never rings"),
        ("cron", {"expression": "1," * 200 + "1 * * * *"}, "expression", "409 characters long; at most 200"),
        ("rrule", {}, "rule", "such as FREQ=WEEKLY;BYDAY=MO."),
        ("rrule", {"rule": "every tuesday"}, "rule", "“every tuesday” is not understood"),
        ("rrule", {"rule": "RRULE:FREQ=DAILY"}, "rule", "DTSTART is missing"),
        ("rrule", {"rule": START}, "rule", "RRULE is missing"),
        ("rrule", {"rule": START + "\n".join(["RRULE:FREQ=DAILY"] * 11)}, "rule", "more than 10 RRULEs"),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY\nTRIGGER:soon"}, "rule", "is not a TRIGGER"),
        ("rrule", {"rule": START + START + "RRULE:FREQ=DAILY"}, "rule", "two DTSTARTs"),
        (
            "rrule",
            {"rule": START + "EXRULE:FREQ=DAILY\nRRULE:FREQ=DAILY"},
            "rule",
            "only DTSTART, RRULE, RDATE, EXDATE",
        ),
        ("rrule", {"rule": START + "RRULE:FREQ=SECONDLY"}, "rule", "too often"),
        ("rrule", {"rule": START + "RRULE:FREQ=SECONDLY;COUNT=1000"}, "rule", "FREQ=MINUTELY, is the most"),
        ("rrule", {"rule": START + "RRULE:FREQ=MINUTELY;BYSECOND=1,2"}, "rule", "“BYSECOND=1,2” is not understood"),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY;BYEASTER=0"}, "rule", "is not understood"),
        ("rrule", {"rule": START + "RRULE:FREQ=YEARLY;BYWEEKNO=20"}, "rule", "is not understood"),
        ("rrule", {"rule": START + "RRULE:FREQ=SOMETIMES"}, "rule", "FREQ must be one of YEARLY"),
        ("rrule", {"rule": START + "RRULE:COUNT=3"}, "rule", "FREQ must be one of"),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY;FREQ=DAILY"}, "rule", "FREQ is given twice"),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY;COUNT=0"}, "rule", "COUNT has “0”"),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY;COUNT=10001"}, "rule", "from 1 to 10,000"),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY;INTERVAL=0"}, "rule", "INTERVAL has “0”"),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY;COUNT=2;UNTIL=20270101"}, "rule", "keep one"),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY;UNTIL=20260101"}, "rule", "never rings"),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY;UNTIL=20260231"}, "rule", "is not in the calendar"),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY;UNTIL=soon"}, "rule", "“SOON” is not a date and time"),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY;UNTIL=99991231"}, "rule", "from the year 1900 to 9998"),
        ("rrule", {"rule": "DTSTART:02260105T090000\nRRULE:FREQ=DAILY"}, "rule", "from the year 1900 to 9998"),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY\nEXDATE:09990105T090000"}, "rule", "from the year 1900 to 9998"),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY\nEXDATE:09990105"}, "rule", "from the year 1900 to 9998"),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY\nEXDATE:99981231T235959Z"}, "rule", "from the year 1900 to 9998"),
        ("rrule", {"rule": START + "RRULE:FREQ=YEARLY;COUNT=10000"}, "rule", "not reached before the year 9999"),
        (
            "rrule",
            {"rule": "DTSTART:99980101T000000\nRRULE:FREQ=DAILY;INTERVAL=1000;COUNT=2"},
            "rule",
            "not reached before the year 9999",
        ),
        (
            "rrule",
            {"rule": "DTSTART:99900105T000000\nRRULE:FREQ=WEEKLY;INTERVAL=1000;BYMONTH=2"},
            "rule",
            "never rings",
        ),
        (
            "rrule",
            {"rule": START + "RRULE:FREQ=MINUTELY;BYHOUR=1;BYSETPOS=1"},
            "rule",
            "does not go with FREQ=MINUTELY",
        ),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY;BYMONTH=13"}, "rule", "BYMONTH has “13”"),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY;BYMONTH=0"}, "rule", "it counts from 1"),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY;BYDAY=XX"}, "rule", "BYDAY has “XX”"),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY;BYDAY="}, "rule", "BYDAY has “”"),
        ("rrule", {"rule": START + "RRULE:FREQ=WEEKLY;BYDAY=1MO"}, "rule", "goes with FREQ=MONTHLY and YEARLY"),
        ("rrule", {"rule": START + "RRULE:FREQ=MONTHLY;BYDAY=0MO"}, "rule", "from 1 to 53"),
        ("rrule", {"rule": START + "RRULE:FREQ=WEEKLY;BYMONTHDAY=1"}, "rule", "does not go with FREQ=WEEKLY"),
        ("rrule", {"rule": START + "RRULE:FREQ=MONTHLY;BYSETPOS=1"}, "rule", "needs another BY part"),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY;WKST=8"}, "rule", "WKST must be a day"),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"}, "rule", "never rings"),
        ("rrule", {"rule": START + "RRULE:FREQ=HOURLY;INTERVAL=2;BYHOUR=4"}, "rule", "never rings"),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY;COUNT=1\nEXDATE:20260105T090000"}, "rule", "never rings"),
        ("rrule", {"rule": "DTSTART:20260105T090000Z\nRRULE:FREQ=DAILY"}, "rule", "ends in Z, which means UTC"),
        (
            "rrule",
            {"rule": "DTSTART;TZID=Asia/Tokyo:20260105T090000\nRRULE:FREQ=DAILY"},
            "rule",
            "names the zone Asia/Tokyo",
        ),
        (
            "rrule",
            {"rule": "DTSTART;X=1:20260105T090000\nRRULE:FREQ=DAILY"},
            "rule",
            "a parameter that is not understood",
        ),
        ("rrule", {"rule": START + "RRULE:FREQ=DAILY" + " " * 40000 + ";"}, "rule", "at most 40,000"),
    ],
)
def test_a_bad_parameter_is_refused_at_its_field_with_what_would_be_right(
    kind: str, data: dict[str, Any], field: str, words: str
) -> None:
    error = refuse(kind, data)
    assert error.field == field
    assert words in str(error)


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=MINUTELY;INTERVAL=2;BYHOUR=3;BYMINUTE=1",
        "FREQ=MINUTELY;INTERVAL=1000;BYHOUR=9;BYMINUTE=1;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO",
        "FREQ=YEARLY;BYDAY=53MO;BYMONTH=2",
        "FREQ=MINUTELY;INTERVAL=999;BYSETPOS=1;BYMINUTE=1",
    ],
)
def test_a_rule_that_never_fires_is_refused_within_two_seconds(rule: str) -> None:
    began = time.process_time()
    refuse("rrule", {"rule": START + "RRULE:" + rule}, "UTC")
    assert time.process_time() - began < 2


bounded = settings(max_examples=150, derandomize=True, database=None, deadline=2000)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)


@bounded
@given(kind=st.sampled_from(list(KINDS)), data=st.data())
def test_no_json_whatever_gets_anything_but_a_rule_or_a_refusal(kind: str, data: st.DataObject) -> None:
    rule = {key: data.draw(JSON) for key in KINDS[kind].parameters}
    try:
        parse(kind, rule, "Europe/Berlin")
    except InvalidRule as error:
        assert error.field in rule


@bounded
@given(st.lists(st.text("0123456789*/,-#LW", min_size=1, max_size=6), min_size=5, max_size=5).map(" ".join))
def test_no_expression_whatever_gets_anything_but_slots_or_a_refusal(expression: str) -> None:
    try:
        rule = parse("cron", {"expression": expression}, "Europe/Berlin")
    except InvalidRule as error:
        assert error.field == "expression"
    else:
        assert rule.next_after(datetime(2026, 1, 1, tzinfo=UTC)) is not None
        assert rule.describe()


PARTS = [
    "FREQ=",
    "DAILY",
    "YEARLY",
    "MINUTELY",
    ";",
    "BYDAY=",
    "MO",
    ",",
    "-1",
    "30",
    "BYMONTHDAY=",
    "INTERVAL=",
    "COUNT=",
    "=",
    ":",
]


@bounded
@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
def test_no_calendar_rule_whatever_gets_anything_but_slots_or_a_refusal(rule: str) -> None:
    try:
        parsed = parse("rrule", {"rule": f"{START}RRULE:FREQ=DAILY{rule}"}, "Europe/Berlin")
    except InvalidRule as error:
        assert error.field == "rule"
    else:
        assert parsed.next_after(datetime(2026, 1, 1, tzinfo=UTC)) is not None
