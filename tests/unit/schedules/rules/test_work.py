"""What one question to a rule may cost, whatever was written."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta
from itertools import islice

import pytest

from schedules.parts.slots import Slots
from schedules.rules import InvalidRule, Timetable, Work, parse

from .rules import upcoming

START = "DTSTART:20260105T090000\nRRULE:"
NOW = datetime(2026, 11, 22, tzinfo=UTC)
DAYS = "BYDAY=MO,TU,WE,TH,FR,SA,SU"
HOURS = "BYHOUR=" + ",".join(map(str, range(24)))
MINUTES = "BYMINUTE=" + ",".join(map(str, range(60)))
EVERY = f"{DAYS};{HOURS};{MINUTES}"
ALL_POSITIONS = "BYSETPOS=" + ",".join(map(str, [*range(-366, 0), *range(1, 367)]))
NUMBERED = ",".join(f"{n}{day}" for n in range(-53, 54) if n for day in ("MO", "FR"))
EXCLUDED = [date(2026, 1, 5) + timedelta(days=number) for number in range(500)]
COSTLY = [
    f"FREQ=MONTHLY;{EVERY};BYSETPOS=1;COUNT=10000",
    f"FREQ=YEARLY;{EVERY};BYSETPOS=-1;COUNT=7000",
    f"FREQ=YEARLY;{EVERY};{ALL_POSITIONS};COUNT=10000",
    f"FREQ=YEARLY;{EVERY};COUNT=10000",
    f"FREQ=WEEKLY;{EVERY};{ALL_POSITIONS};COUNT=10000",
    "FREQ=DAILY;INTERVAL=1000;COUNT=3000",
    "FREQ=DAILY;INTERVAL=7;BYDAY=TU",
    "FREQ=MINUTELY;INTERVAL=2;BYHOUR=3;BYMINUTE=1",
    "FREQ=MINUTELY;INTERVAL=997;BYMONTH=2;BYMONTHDAY=30",
    f"FREQ=YEARLY;BYDAY={NUMBERED};COUNT=9999",
    "FREQ=MINUTELY\nEXDATE:" + ",".join(f"{day:%Y%m%d}" for day in EXCLUDED),
    "FREQ=MINUTELY;BYHOUR=9\nEXDATE:" + ",".join(f"20260105T09{minute:02}00" for minute in range(60)),
]


@pytest.mark.parametrize("rule", COSTLY)
def test_a_costly_rule_is_refused_or_answers_soon(rule: str) -> None:
    began = time.process_time()
    try:
        parsed = parse("rrule", {"rule": START + rule}, "Europe/Berlin")
    except InvalidRule as error:
        assert error.field == "rule"
    else:
        parsed.next_after(NOW)
    # A budget is some 50 ms each; on a slow machine more, and never the minute that these took.
    assert time.process_time() - began < 1


def test_what_many_write_is_far_from_the_budget() -> None:
    for rule in (
        "FREQ=DAILY",
        "FREQ=WEEKLY;BYDAY=MO,TH",
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
        "FREQ=YEARLY",
    ):
        work, full = Work(), Work().left
        assert parse("rrule", {"rule": START + rule}, "UTC").next_after(NOW, work)
        assert full - work.left < full / 1000


@pytest.mark.parametrize("rule", ["FREQ=DAILY", "FREQ=WEEKLY", "FREQ=MONTHLY", "FREQ=HOURLY", "FREQ=MINUTELY"])
def test_ten_thousand_of_each_frequency_are_taken(rule: str) -> None:
    assert parse("rrule", {"rule": f"{START}{rule};COUNT=10000"}, "UTC").next_after(datetime(2026, 1, 1, tzinfo=UTC))


def test_the_same_question_costs_the_same_each_time() -> None:
    rule = parse("rrule", {"rule": f"{START}FREQ=YEARLY;{EVERY};BYSETPOS=-1"}, "UTC")
    left = []
    for _ in range(3):
        work = Work()
        rule.next_after(NOW, work)
        left.append(work.left)
    assert len(set(left)) == 1


def test_one_budget_covers_all_excluded_dates_of_a_question() -> None:
    rule = parse("cron", {"expression": "0 0 29 2 */7"}, "UTC")
    excluded = frozenset(slot.date() for slot in upcoming(rule, NOW, 200))
    began = time.process_time()
    with pytest.raises(InvalidRule):
        Timetable(rule, excluded=excluded).next_after(NOW)
    assert time.process_time() - began < 1


def test_366_excluded_dates_of_a_daily_rule_are_far_from_the_budget() -> None:
    days = frozenset(NOW.date() + timedelta(days=number) for number in range(366))
    for kind, data in (
        ("daily", {"time": "09:00"}),
        ("cron", {"expression": "*/5 * * * *"}),
        ("rrule", {"rule": START + "FREQ=MINUTELY"}),
    ):
        slot = Timetable(parse(kind, data, "UTC"), excluded=days).next_after(NOW)
        assert slot is not None
        assert slot.date() == NOW.date() + timedelta(days=366)


def test_a_budget_is_shared_by_the_questions_that_it_is_given_to() -> None:
    rule = parse("rrule", {"rule": START + "FREQ=DAILY"}, "UTC")
    with pytest.raises(InvalidRule):
        list(islice(Slots(Timetable(rule)).after(NOW, Work(100)), 100))


def test_blanks_do_not_make_reading_slow() -> None:
    began = time.process_time()
    for filler in (" ", ";", "\t", "\n"):
        with pytest.raises(InvalidRule):
            parse("rrule", {"rule": "DTSTART:20260105T090000" + filler * 4900 + "x"}, "UTC")
    assert time.process_time() - began < 0.1
