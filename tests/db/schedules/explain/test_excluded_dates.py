"""Dates that are left out: nothing fires on them, and Explain says so of each slot."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from people.models import User
from schedules.changes import editing
from schedules.explain import history
from schedules.firing import fire
from schedules.models import Schedule
from tests.db.schedules.web.typed import typed
from tests.make import NINE, NOON, edit_schedule, make_channel, make_schedule, make_user

DAY = timedelta(days=1)
LEFT_OUT = "excluded"


def days(*moments: datetime) -> list[date]:
    return [moment.date() for moment in moments]


def outcomes(stories: list[history.ExplainedSlot]) -> list[tuple[datetime, str, str]]:
    return [(story.slot, story.outcome, story.causes[0].code if story.causes else "") for story in stories]


def told(schedule: Schedule, now: datetime) -> list[tuple[datetime, str, str]]:
    return outcomes(history.past(schedule, NOON, now + DAY, now))[::-1]


def test_nothing_fires_on_a_date_that_is_left_out() -> None:
    schedule = make_schedule(make_user(), excluded=days(NINE, NINE + 2 * DAY))
    assert schedule.next_fire_at == NINE + DAY
    fire.fire_due(NINE + DAY)
    assert Schedule.objects.get().next_fire_at == NINE + 3 * DAY


def test_the_date_is_that_of_the_schedules_own_clock() -> None:
    late = NINE.replace(hour=23)
    schedule = make_schedule(make_user(), time_zone="Asia/Tokyo", rule={"time": "08:00"}, excluded=days(late))
    assert schedule.next_fire_at == late  # the 3rd of June in Tokyo, the 2nd in UTC
    moved = make_schedule(make_user(), time_zone="Asia/Tokyo", rule={"time": "08:00"}, excluded=days(late + DAY))
    assert moved.next_fire_at == late - DAY


def test_a_slot_on_it_is_told_with_its_reason_and_has_no_row() -> None:
    schedule = make_schedule(make_user(), excluded=days(NINE + DAY), grace=10**8)
    fire.fire_due(NINE)
    fire.fire_due(NINE + 2 * DAY)
    schedule.refresh_from_db()
    assert told(schedule, NINE + 2 * DAY) == [
        (NINE, "fired", told(schedule, NINE)[0][2]),
        (NINE + DAY, "skipped", LEFT_OUT),
        (NINE + 2 * DAY, "fired", told(schedule, NINE + 2 * DAY)[2][2]),
    ]
    assert schedule.occurrences.count() == 2


def test_a_date_counts_only_while_it_was_left_out_and_after_the_schedule_was_made() -> None:
    schedule = make_schedule(make_user(), excluded=days(NOON - DAY, NINE, NINE + 3 * DAY))
    edit_schedule(schedule, NINE + DAY, excluded=[], version=1)
    schedule.refresh_from_db()
    assert (NINE, "skipped", LEFT_OUT) in told(schedule, NINE + 5 * DAY)
    assert LEFT_OUT not in [why for slot, _, why in told(schedule, NINE + 5 * DAY) if slot != NINE]
    assert all(slot >= NINE for slot, _, _ in told(schedule, NINE + 5 * DAY))


def test_nothing_is_left_out_after_the_last_one_has_fired() -> None:
    schedule = make_schedule(make_user(), max_count=1, excluded=days(datetime.now(NINE.tzinfo) + DAY), grace=10**8)
    fire.fire_due(NINE)
    schedule.refresh_from_db()
    assert [outcome for _, outcome, _ in told(schedule, datetime.now(NINE.tzinfo) + 9 * DAY)] == ["fired"]


def test_a_page_of_slots_has_no_gap_where_a_pause_and_such_dates_meet() -> None:
    hourly = {"kind": "interval", "rule": {"every": 1, "unit": "hours", "anchor": "2026-06-01T00:00:00+00:00"}}
    schedule = make_schedule(make_user(), **hourly, excluded=days(NOON + 2 * DAY))
    editing.pause(schedule.id, NOON)
    found = history.past(Schedule.objects.get(), NOON, NOON + 9 * DAY, NOON + 5 * DAY)
    assert [story.slot for story in found] == [NOON + 5 * DAY - timedelta(hours=n) for n in range(100)]
    assert {story.causes[0].code for story in found} == {"paused", LEFT_OUT}


def test_what_is_to_come_shows_the_dates_between() -> None:
    schedule = make_schedule(make_user(), excluded=days(NINE, NINE + 2 * DAY, NINE + 90 * DAY))
    assert outcomes(history.coming(schedule, NOON, limit=2)) == [
        (NINE, "skipped", LEFT_OUT),
        (NINE + DAY, "coming", ""),
        (NINE + 2 * DAY, "skipped", LEFT_OUT),
        (NINE + 3 * DAY, "coming", ""),
    ]


@pytest.mark.parametrize(
    "written", ["2999-12-25, 2999-01-01", "2999-01-01;2999-12-25  2999-01-01", "2999-01-01\n2999-12-25"]
)
def test_dates_are_typed_with_anything_between_them(browser: Client, ada: User, written: str) -> None:
    browser.post("/reminders/new/", typed(make_channel(ada), excluded=written))
    assert Schedule.objects.get().excluded == [date(2999, 1, 1), date(2999, 12, 25)]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"excluded": "christmas"}, "“christmas” is not a date. Enter dates such as 2026-12-25"),
    ({"excluded": "2026-02-30"}, "“2026-02-30” is not a date"),
    ({"excluded": "٢٠٢٦-٠١-٠١"}, "is not a date"),
    ({"excluded": "12026-01-01"}, "is not a date"),
    ({"excluded": " ".join(f"{year}-01-01" for year in range(2026, 2400))}, "at most 366"),
    ({"excluded": "2026-01-01 " * 1_000}, "too long"),
    ({"excluded": "2999-06-01", "kind": "once", "at": "2999-06-01T09:00"}, "All remaining times are on these dates"),
]


@pytest.mark.parametrize(("fields", "said"), WRONG)
def test_what_is_no_date_or_leaves_nothing_is_said_at_the_field(
    browser: Client, ada: User, fields: dict[str, Any], said: str
) -> None:
    errors = browser.post("/reminders/new/", typed(make_channel(ada), **fields)).context["form"].errors
    assert list(errors) == ["excluded"]
    assert said in errors["excluded"][0]
    assert not Schedule.objects.exists()


def test_the_preview_passes_over_them(browser: Client) -> None:
    fields = {"time_zone": "UTC", "kind": "rrule", "rule": "DTSTART:29990101T090000\nRRULE:FREQ=DAILY;COUNT=3"}
    shown = browser.post("/reminders/preview/", fields | {"excluded": "2999-01-02"}).content.decode()
    assert shown.count("<li><time ") == 2


def test_an_edit_shows_them_as_they_are(browser: Client, ada: User) -> None:
    schedule = make_schedule(ada, excluded=days(NINE))
    page = browser.get(f"/reminders/{schedule.id}/edit/").content.decode()
    assert 'value="2026-06-02"' in page
    assert "not on 1 date" in browser.get(f"/reminders/{schedule.id}/").content.decode()
