"""Holidays: which slots send nothing, in which zone, and what is said of them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.models import Job
from notifications.models import Notification
from people.models import User
from schedules.changes import editing
from schedules.explain import history
from schedules.firing import fire, forecast
from schedules.firing.holidays import Holidays
from schedules.models import Holiday, Schedule
from schedules.rules import Work, civil
from tests.make import NINE, NOON, make_channel, make_schedule, make_user

DAY = timedelta(days=1)
# In Berlin it is two hours later than in UTC.
FIRST, LAST = date(2026, 6, 2), date(2026, 6, 4)


def make_holiday(user: User, **overrides: Any) -> Holiday:
    return Holiday.objects.create(**{"user": user, "first": FIRST, "last": LAST} | overrides)


def recorded(schedule: Schedule) -> list[tuple[int, str, str]]:
    rows = schedule.occurrences.order_by("scheduled_for")
    return [(row.scheduled_for.day, row.outcome, row.reason) for row in rows]


def fire_daily(until: int) -> None:
    for day in range(until):
        fire.fire_due(NINE + day * DAY)


def test_slots_within_send_nothing_and_say_why(ada: User) -> None:
    make_holiday(ada)
    schedule = make_schedule(ada)
    fire_daily(4)
    assert recorded(schedule) == [
        (2, "skipped", "holiday"),
        (3, "skipped", "holiday"),
        (4, "skipped", "holiday"),
        (5, "fired", ""),
    ]
    assert Notification.objects.count() == 1


def test_the_days_are_those_of_the_persons_clock(ada: User) -> None:
    make_holiday(ada)
    evening, night = (make_schedule(ada, [], title=time, rule={"time": time}) for time in ("21:59", "22:00"))
    fire.fire_due(datetime(2026, 6, 1, 22, tzinfo=UTC))
    assert (recorded(evening)[0][2], recorded(night)[0][2]) == ("no-channel", "holiday")
    fire_daily(4)
    fire.fire_due(datetime(2026, 6, 4, 23, tzinfo=UTC))
    assert (recorded(evening)[-1][2], recorded(night)[-1][2]) == ("holiday", "no-channel")


@pytest.mark.parametrize(
    ("of_schedule", "of_holiday", "silent"),
    [
        ({}, {"tags": ["home"]}, False),
        ({"tags": ["work", "Home"]}, {"tags": ["home", "garden"]}, True),
        ({"urgent": True}, {}, False),
        ({"urgent": True}, {"urgent_rings": False}, True),
        ({}, {"ended_at": datetime(2026, 6, 2, 8, tzinfo=UTC)}, False),
        ({}, {"ended_at": datetime(2026, 6, 2, 10, tzinfo=UTC)}, True),
        # Ended by its person, who has moved east since.
        ({}, {"first": date(2026, 6, 1), "last": date(2026, 6, 1), "ended_at": NINE + timedelta(hours=1)}, False),
    ],
)
def test_tags_urgency_and_an_early_end_decide(
    ada: User, of_schedule: dict[str, Any], of_holiday: dict[str, Any], silent: bool
) -> None:
    make_holiday(ada, **of_holiday)
    schedule = make_schedule(ada, **of_schedule)
    fire.fire_due(NINE)
    assert recorded(schedule) == [(2, "skipped", "holiday") if silent else (2, "fired", "")]


def test_a_late_slot_of_the_holiday_is_not_sent_after_it(ada: User) -> None:
    """Carillon was off: the newest one that is not in the holiday is sent late."""
    make_holiday(ada)
    schedule = make_schedule(ada)
    fire.fire_due(NINE + 4 * DAY + timedelta(hours=1))
    assert [row[2] for row in recorded(schedule)] == ["holiday"] * 3 + ["misfire", "late"]


def test_a_late_slot_from_before_is_not_sent_within_the_holiday(ada: User) -> None:
    make_holiday(ada, first=FIRST + DAY)
    schedule = make_schedule(ada, kind="once", rule={"at": "2026-06-02T09:00"})
    fire.fire_due(NINE + DAY)
    assert recorded(schedule) == [(2, "skipped", "holiday")]
    schedule.refresh_from_db()
    assert schedule.state == "finished"


def test_nothing_is_checked(ada: User, sample_kinds: None) -> None:
    make_holiday(ada)
    make_schedule(ada, job_kind="sample", job_payload={})
    fire.fire_due(NINE)
    assert not Job.objects.exists()


def test_an_announcement_is_sent_in_its_owners_holiday(ada: User) -> None:
    ada.is_staff = ada.is_superuser = True
    ada.save()
    make_holiday(ada)
    schedule = make_schedule(ada, [], audience="everybody")
    fire.fire_due(NINE)
    assert recorded(schedule) == [(2, "fired", "")]


def test_run_now_sends_within_a_holiday(ada: User) -> None:
    make_holiday(ada, first=date(2026, 6, 1))
    editing.run_now(make_schedule(ada).id, NOON)
    assert Notification.objects.count() == 1


def test_a_skipped_slot_does_not_count_as_sent(ada: User) -> None:
    make_holiday(ada)
    schedule = make_schedule(ada, max_count=1)
    fire_daily(4)
    assert recorded(schedule)[-1] == (5, "fired", "")


def test_a_tick_asks_once_for_the_holidays_of_all_people() -> None:
    for _ in range(5):
        user = make_user()
        make_holiday(user)
        make_schedule(user)
    with CaptureQueriesContext(connection) as asked:
        assert fire.fire_due(NINE) == 5
    assert sum("schedules_holiday" in query["sql"] for query in asked) == 1


def test_explain_names_the_holiday_for_what_was_and_what_comes(ada: User) -> None:
    make_holiday(ada)
    schedule = make_schedule(ada)
    fire.fire_due(NINE)
    schedule.refresh_from_db()
    [past] = history.past(schedule, civil.FIRST_INSTANT, civil.LAST_INSTANT, NINE)
    [cause] = past.causes
    assert (cause.code, cause.days, cause.is_coming) == ("holiday", (FIRST, LAST), False)
    first, *others = history.coming(schedule, NINE, 3)
    assert (first.slot, first.outcome, first.causes[0].days) == (NINE + DAY, "skipped", (FIRST, LAST))
    assert [(one.slot, one.outcome) for one in others] == [(NINE + days * DAY, "coming") for days in (3, 4)]


def test_the_slots_of_a_holiday_are_passed_over_not_walked_through(ada: User) -> None:
    make_holiday(ada, last=date(2036, 6, 4))
    schedule = make_schedule(
        ada, kind="interval", rule={"every": 1, "unit": "minutes", "anchor": "2026-06-01T00:00:00+00:00"}
    )
    work = Work(1_000_000)
    ahead = forecast.of(schedule, NOON, Holidays.of(ada, NOON)).after(work=work, leap=civil.LAST_INSTANT)
    found = list(islice(ahead, 2_000))
    assert [span is None for _, span in found].count(False) == 1


def test_what_was_skipped_is_said_without_days_once_the_holiday_is_deleted(ada: User) -> None:
    holiday = make_holiday(ada)
    schedule = make_schedule(ada, [make_channel(ada)])
    fire.fire_due(NINE)
    holiday.delete()
    schedule.refresh_from_db()
    [past] = history.past(schedule, civil.FIRST_INSTANT, civil.LAST_INSTANT, NINE)
    assert (past.causes[0].code, past.causes[0].days) == ("holiday", None)
