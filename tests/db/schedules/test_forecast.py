"""Every place that says what comes next says what firing will do."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db.models import Max

from people.models import User
from schedules.admin.upcoming import upcoming
from schedules.agenda import coming, feed
from schedules.agenda.entry import Days
from schedules.explain import history
from schedules.firing import fire, forecast
from schedules.firing.forecast import Forecast
from schedules.firing.holidays import Holidays
from schedules.models import Holiday, Occurrence, Schedule
from schedules.parts.slots import Slots
from tests.make import NINE, NOON, make_channel, make_schedule

DAY = timedelta(days=1)
UTC = ZoneInfo("UTC")
MONTH = Days(date(2026, 6, 1), date(2026, 6, 30), UTC)
TIMINGS: list[dict[str, Any]] = [
    {"kind": "daily", "rule": {"time": "09:00"}, "ends_at": NINE + 18 * DAY},
    {"kind": "cron", "rule": {"expression": "0 9,21 * * *"}},
    {"kind": "interval", "rule": {"every": 10, "unit": "hours", "anchor": "2026-06-01T00:00:00+00:00"}},
    {"kind": "rrule", "rule": {"rule": "DTSTART:20260601T090000\nRRULE:FREQ=DAILY"}},
]


@pytest.fixture
def holidays(ada: User) -> None:
    """Two that overlap, and one that ends amid a day."""
    Holiday.objects.create(user=ada, first=date(2026, 6, 3), last=date(2026, 6, 5))
    Holiday.objects.create(user=ada, first=date(2026, 6, 5), last=date(2026, 6, 6))
    Holiday.objects.create(user=ada, first=date(2026, 6, 8), last=date(2026, 6, 8), ended_at=NOON + 7 * DAY)


def fired(schedule: Schedule, until: datetime) -> list[datetime]:
    """What firing really sends, slot by slot."""
    while (at := Schedule.objects.aggregate(at=Max("next_fire_at"))["at"]) is not None and at < until:
        fire.fire_due(at)
    rows = schedule.occurrences.filter(outcome=Occurrence.Outcome.FIRED).order_by("scheduled_for")
    return list(rows.values_list("scheduled_for", flat=True))


@pytest.mark.parametrize("most", [1, 3, 12, None])
@pytest.mark.parametrize("timing", TIMINGS, ids=lambda timing: timing["kind"])
def test_all_places_say_what_firing_will_send(
    ada: User, holidays: None, timing: dict[str, Any], most: int | None
) -> None:
    schedule = make_schedule(ada, [make_channel(ada)], max_count=most, **timing)
    silent = Holidays.of(ada, NOON)
    in_agenda = [entry.at for entry in coming.coming(ada, MONTH, NOON, 10_000).entries]
    in_explain = [one.slot for one in history.coming(schedule, NOON, 500) if one.outcome == "coming"]
    in_admin = [one.slot for one, _ in upcoming(NOON, MONTH.end, 5_000)[0] if one.holiday is None]
    typed = Forecast(Slots(schedule.timetable(), most), forecast.of(schedule, NOON, silent).silent)
    in_preview = [slot for slot, holiday in typed.upcoming(NOON, 1_000) if holiday is None]
    file = feed.written(ada, NOON)
    sent = fired(schedule, MONTH.end)
    assert sent
    assert sorted(at for at in in_agenda if silent.of_slot(schedule, at) is None) == sent
    assert in_explain[: len(sent)] == sent
    assert in_admin == sent
    assert in_preview[: len(sent)] == sent
    if most is not None:
        assert in_explain == in_preview == sent
    for slot in sent:
        assert f"DTSTART:{slot:%Y%m%dT%H%M%SZ}" in file


def test_counting_over_a_long_holiday_costs_no_search_for_each_of_its_slots(ada: User) -> None:
    Holiday.objects.create(user=ada, first=date(2026, 6, 1), last=date(2036, 6, 1))
    rule = {"every": 1, "unit": "minutes", "anchor": "2026-06-01T00:00:00+00:00"}
    make_schedule(ada, kind="interval", rule=rule, max_count=10)
    later = Days(date(2036, 6, 2), date(2036, 6, 3), ada.zone)
    found = coming.coming(ada, later, NOON, 100)
    assert (found.left_out, [entry.count for entry in found.entries]) == ([], [10])


def test_the_day_after_the_last_one_costs_no_search_for_each_of_its_slots(ada: User) -> None:
    late = NOON + timedelta(hours=11)
    make_schedule(ada, now=late, kind="cron", rule={"expression": "*/2 * 1 * *"}, max_count=1000)
    found = coming.coming(ada, MONTH, late, 100)
    assert (found.left_out, [entry.count for entry in found.entries]) == ([], [29])


def test_a_short_interval_is_listed_from_its_next_slot_on(ada: User) -> None:
    rule = {"every": 10, "unit": "minutes", "anchor": "2026-06-01T00:00:00+00:00"}
    make_schedule(ada, kind="interval", rule=rule)
    Schedule.objects.update(next_fire_at=NOON + timedelta(hours=2))
    assert coming.coming(ada, MONTH, NOON, 100).entries[0].at == NOON + timedelta(hours=2)


def test_a_slot_that_has_an_occurrence_already_is_not_forecast(ada: User) -> None:
    ahead = forecast.of(make_schedule(ada), NOON, Holidays.of(ada, NOON), {NINE})
    assert [slot for slot, _ in ahead.upcoming(NOON, 2)] == [NINE + DAY, NINE + 2 * DAY]
