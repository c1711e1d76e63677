"""The admin's page of what fires next: by slot, bounded, for those who may see schedules."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from schedules.admin.upcoming import upcoming
from schedules.models import Holiday, Schedule
from tests.make import NOON, make_channel, make_schedule, make_user, signed_in

pytestmark = pytest.mark.django_db

PAGE = "/admin/upcoming/"


def every(minutes: int, **overrides: object) -> Schedule:
    rule = {"every": minutes, "unit": "minutes", "anchor": "2026-06-01T12:00:00+00:00"}
    return make_schedule(make_user(), kind="interval", rule=rule, **overrides)


def test_each_slot_of_each_schedule_stands_in_its_place() -> None:
    often, seldom, late = every(20), every(30), make_schedule(make_user())
    found, more = upcoming(NOON, NOON + timedelta(hours=1), 100)
    listed = [((one.slot - NOON) // timedelta(minutes=1), schedule) for one, schedule in found]
    assert listed == [(20, often), (30, seldom), (40, often)]
    assert not more
    assert late not in [schedule for _, schedule in listed]


def test_no_more_slots_are_listed_than_asked_for_and_it_says_so() -> None:
    every(1), every(7)
    found, more = upcoming(NOON, NOON + timedelta(hours=1), 10)
    assert ([one.slot for one, _ in found], len(found), more) == (sorted(one.slot for one, _ in found), 10, True)


def test_what_fires_so_often_only_is_not_listed_oftener() -> None:
    every(10, max_count=2)
    assert len(upcoming(NOON, NOON + timedelta(hours=1), 10)[0]) == 2


def test_what_is_overdue_is_listed_once_and_then_from_now_on() -> None:
    every(10)
    now = NOON + timedelta(days=30, minutes=5)
    found, _ = upcoming(now, now + timedelta(minutes=20), 10)
    assert [(one.slot - now) // timedelta(minutes=1) for one, _ in found] == [-43195, 5, 15]


def test_a_slot_in_a_holiday_says_so_and_does_not_count() -> None:
    schedule = every(20 * 60, max_count=2)
    day = (NOON + timedelta(days=1)).date()
    Holiday.objects.create(user=schedule.user, first=day, last=day)
    found, _ = upcoming(NOON, NOON + timedelta(days=4), 10)
    assert [one.holiday is not None for one, _ in found] == [True, False, False]


def test_the_page_says_which_slots_a_holiday_keeps_silent(operator: Client) -> None:
    schedule = make_schedule(make_user())
    Schedule.objects.update(next_fire_at=_now() + timedelta(hours=3))
    assert "holiday" not in operator.get(f"{PAGE}?hours=6").content.decode()
    today = _now().date()
    Holiday.objects.create(user=schedule.user, first=today - timedelta(days=1), last=today + timedelta(days=1))
    assert "Nothing is sent: holiday" in operator.get(f"{PAGE}?hours=6").content.decode()


def test_a_damaged_rule_and_paused_or_deleted_schedules_keep_nothing_back() -> None:
    damaged, good = every(10), every(20)
    for fields in ({"state": "paused", "next_fire_at": None}, {"deleted_at": NOON, "next_fire_at": None}):
        every(15, **fields)
    Schedule.objects.filter(id=damaged.id).update(rule={"every": "x"})
    found, _ = upcoming(NOON, NOON + timedelta(minutes=45), 10)
    assert [schedule for _, schedule in found] == [damaged, good, good]


def test_the_page_says_what_fires_and_for_whom(operator: Client) -> None:
    user = make_user(email="ada@example.org")
    make_schedule(user, [make_channel(user, label="Phone")], title="Water")
    Schedule.objects.update(next_fire_at=_now() + timedelta(hours=3))
    assert "Nothing is sent" in operator.get(PAGE).content.decode()
    shown = operator.get(f"{PAGE}?hours=6").content.decode()
    assert all(text in shown for text in ("Water", "ada@example.org", "Phone"))
    assert f'href="{PAGE}"' in operator.get(reverse("admin:index")).content.decode()
    assert operator.get(f"{PAGE}?hours=x").status_code == 200


def test_only_those_who_may_see_schedules_see_it() -> None:
    staff = make_user(is_staff=True)
    assert signed_in(staff).get(PAGE).status_code == 403
    staff.user_permissions.add(Permission.objects.get(codename="view_schedule"))
    assert signed_in(staff).get(PAGE).status_code == 200


@pytest.mark.parametrize("schedules", [1, 20])
def test_it_takes_four_statements(schedules: int) -> None:
    for _ in range(schedules):
        every(20)
    with CaptureQueriesContext(connection) as captured:
        found, _ = upcoming(NOON, NOON + timedelta(hours=1), 100)
        assert all(schedule.user.email and schedule.ordered_channels() for _, schedule in found)
    assert len(captured) == 4


def _now() -> Any:
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        return cursor.fetchone()[0]
