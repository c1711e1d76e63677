"""Which times come in a span of days, by the reader's clock."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from pytest_django import DjangoAssertNumQueries

from people.models import User
from schedules.agenda import coming as agenda
from schedules.agenda.coming import coming
from schedules.agenda.entry import Days, Entry
from schedules.changes import editing
from schedules.explain import history
from schedules.models import Holiday, Schedule
from tests.make import NINE, NOON, make_channel, make_schedule, make_user

BERLIN = ZoneInfo("Europe/Berlin")
WEEK = Days(date(2026, 6, 1), date(2026, 6, 7), BERLIN)
MANY = 1_000
MINUTES = {"every": 1, "unit": "minutes", "anchor": "2026-06-01T00:00:00+00:00"}


def shown(entries: list[Entry]) -> list[str]:
    return [f"{entry.clock:%d %H:%M} {entry.title}" for entry in sorted(entries, key=lambda entry: entry.at)]


def test_each_time_stands_on_its_day_of_the_readers_clock(ada: User) -> None:
    inbox = [make_channel(ada)]
    make_schedule(ada, inbox, title="Late", kind="weekly", rule={"days": [2], "time": "23:30"})
    make_schedule(ada, inbox, title="Once", kind="once", rule={"at": "2026-06-07T21:59"})
    make_schedule(ada, inbox, title="Next week", kind="once", rule={"at": "2026-06-07T22:00"})
    make_schedule(ada, inbox, title="Paused", state="paused", next_fire_at=None)
    make_schedule(make_user(), title="Not mine")
    assert shown(coming(ada, WEEK, NOON, MANY).entries) == ["04 01:30 Late", "07 23:59 Once"]


def test_nothing_stands_before_the_next_time_and_a_maximum_is_kept(ada: User) -> None:
    make_schedule(ada, title="Twice", max_count=2)
    assert shown(coming(ada, WEEK, NOON, MANY).entries) == ["02 11:00 Twice", "03 11:00 Twice"]
    later = Days(date(2026, 6, 3), date(2026, 6, 7), BERLIN)
    assert shown(coming(ada, later, NOON, MANY).entries) == ["03 11:00 Twice"]


def test_the_times_of_a_holiday_do_not_count_towards_the_maximum(ada: User) -> None:
    Holiday.objects.create(user=ada, first=date(2026, 6, 3), last=date(2026, 6, 4))
    schedule = make_schedule(ada, title="Thrice", max_count=3)
    found = shown(coming(ada, WEEK, NOON, MANY).entries)
    assert found == [f"{day:02} 11:00 Thrice" for day in (2, 3, 4, 5, 6)]
    later = Days(date(2026, 6, 6), date(2026, 6, 7), BERLIN)
    assert shown(coming(ada, later, NOON, MANY).entries) == ["06 11:00 Thrice"]
    ahead = [one.slot.day for one in history.coming(schedule, NOON) if one.slot.day not in (3, 4)]
    assert ahead == [2, 5, 6]


def test_a_snooze_and_a_skip_count_and_the_skip_is_said(ada: User) -> None:
    schedule = make_schedule(ada, title="Plants")
    editing.skip_next(schedule.id, NINE, NOON)
    found = coming(ada, Days(date(2026, 6, 2), date(2026, 6, 3), BERLIN), NOON, MANY).entries
    assert [(entry.at, entry.state) for entry in sorted(found, key=lambda entry: entry.at)] == [
        (NINE, "skipped"),
        (NINE + timedelta(days=1), ""),
    ]
    editing.snooze(schedule.id, NOON + timedelta(days=4), NOON)
    assert shown([entry for entry in coming(ada, WEEK, NOON, MANY).entries if not entry.state]) == [
        "06 11:00 Plants",
        "07 11:00 Plants",
    ]


@pytest.mark.parametrize(
    ("days", "times"),
    [
        # the clock skips 02:30, and shows it twice
        (Days(date(2026, 3, 29), date(2026, 3, 29), BERLIN), ["29 03:00 Night"]),
        (Days(date(2026, 10, 25), date(2026, 10, 25), BERLIN), ["25 02:30 Night"]),
    ],
)
def test_a_day_of_23_or_25_hours_has_its_times(ada: User, days: Days, times: list[str]) -> None:
    early = datetime(2026, 1, 1, tzinfo=UTC)
    make_schedule(ada, now=early, title="Night", rule={"time": "02:30"}, time_zone="Europe/Berlin")
    assert shown(coming(ada, days, early, MANY).entries) == times


def test_what_comes_all_the_time_is_one_entry_a_day(ada: User) -> None:
    inbox = [make_channel(ada)]
    make_schedule(ada, inbox, title="Stretch", kind="interval", rule=MINUTES)
    make_schedule(ada, inbox, title="Star", kind="cron", rule={"expression": "* * * * *"})
    make_schedule(ada, inbox, title="Hourly", kind="cron", rule={"expression": "0 8-18 * * *"})
    day = Days(date(2026, 6, 3), date(2026, 6, 3), BERLIN)
    found = {entry.title: entry for entry in coming(ada, day, NOON, MANY).entries}
    assert len(found) == 3
    stretch, star, hourly = (found[title] for title in ("Stretch", "Star", "Hourly"))
    assert (stretch.count, stretch.has_more, f"{stretch.last_clock:%H:%M}") == (1440, False, "23:59")
    assert (star.count, star.has_more, f"{star.clock:%H:%M}") == (24, True, "00:00")
    assert (hourly.count, f"{hourly.clock:%H:%M} {hourly.last_clock:%H:%M}") == (11, "10:00 20:00")


def test_the_day_on_which_the_clock_is_set_back_has_an_hour_more(ada: User) -> None:
    make_schedule(ada, kind="interval", rule=MINUTES)
    [entry] = coming(ada, Days(date(2026, 10, 25), date(2026, 10, 25), BERLIN), NOON, MANY).entries
    assert entry.count == 25 * 60


def test_a_rule_that_ends_has_no_times_after_its_end(ada: User) -> None:
    make_schedule(ada, kind="interval", rule=MINUTES, ends_at=NINE)
    found = sorted(coming(ada, WEEK, NOON, MANY).entries, key=lambda entry: entry.at)
    assert [entry.day.day for entry in found] == [1, 2]
    assert found[-1].last == NINE


def test_an_unreadable_rule_hides_nothing_else(ada: User) -> None:
    inbox = [make_channel(ada)]
    broken = make_schedule(ada, inbox, title="Broken")
    Schedule.objects.filter(id=broken.id).update(rule={"time": "25:00"})
    make_schedule(ada, inbox, title="Once", kind="once", rule={"at": "2026-06-03T10:00"})
    assert shown(coming(ada, WEEK, NOON, MANY).entries) == ["03 12:00 Once"]


def test_work_is_bounded_and_what_comes_seldom_is_shown_first(ada: User) -> None:
    inbox = [make_channel(ada)]
    for minute in range(20):
        make_schedule(ada, inbox, title="Often", kind="cron", rule={"expression": f"{minute} * * * *"})
    make_schedule(ada, inbox, title="Once", kind="once", rule={"at": "2026-06-05T10:00"})
    found = coming(ada, WEEK, NOON, MANY, budget=8_000)
    assert 0 < len(found.left_out) < 20
    assert "05 12:00 Once" in shown(found.entries)


def test_a_month_has_all_of_500_daily_reminders_and_shows_the_first_of_each_day(ada: User) -> None:
    make_schedule(ada, title="Early", rule={"time": "05:00"})
    others = [
        Schedule(user=ada, kind="daily", rule={"time": "09:00"}, time_zone="UTC", next_fire_at=NINE) for _ in range(499)
    ]
    Schedule.objects.bulk_create(others)
    month = Days(date(2026, 6, 29), date(2026, 8, 9), BERLIN)
    found = coming(ada, month, NOON, 5)
    assert found.left_out == []
    assert len(found.entries) == 42 * 5 and set(found.more.values()) == {495} and len(found.more) == 42
    assert shown([entry for entry in found.entries if entry.title])[0] == "29 07:00 Early"


def test_only_so_many_reminders_are_read(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agenda, "MOST", 2)
    inbox = [make_channel(ada)]
    for hour in (13, 14, 15):
        make_schedule(ada, inbox, kind="once", rule={"at": f"2026-06-01T{hour}:00"})
    found = coming(ada, WEEK, NOON, MANY)
    assert ([one.rule["at"] for one in found.left_out], len(found.entries)) == (["2026-06-01T15:00"], 2)
    # Those that are over by then take no place.
    later = make_schedule(ada, inbox, kind="once", rule={"at": "2026-06-05T10:00"})
    found = coming(ada, Days(date(2026, 6, 4), date(2026, 6, 7), BERLIN), NOON, MANY)
    assert ([entry.schedule_id for entry in found.entries], found.left_out) == ([later.id], [])


def test_it_takes_two_statements(ada: User, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    inbox = [make_channel(ada)]
    for hour in range(13, 18):
        make_schedule(ada, inbox, kind="once", rule={"at": f"2026-06-01T{hour}:00"})
        make_schedule(ada, inbox, rule={"time": f"{hour}:00"})
    with django_assert_num_queries(2):
        coming(ada, WEEK, NOON, MANY)
