"""A team's calendar and its address show who is on call."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

import pytest

from people import teams
from people.models import CallOverride, Membership, OnCall, User
from schedules.agenda import feed
from tests.db.people.test_teams import acting
from tests.make import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return make_user(name="Ada", time_zone="Europe/Berlin")


@pytest.fixture
def team(ada: User) -> User:
    team = teams.create(ada, "Night watch")
    OnCall.objects.create(team=team, first=date(2026, 11, 2), weekly=True, handover=time(9))
    Membership.objects.update(call_place=1)
    bob = make_user(name="Bob")
    Membership.objects.create(team=team, person=bob, role="member", call_place=2)
    return team


def shown(person: User, team: User, path: str) -> str:
    page = acting(person, team).get(path).content.decode()
    return " ".join(page.split())


@pytest.mark.parametrize("view", ["month", "week"])
def test_each_day_of_a_team_names_who_is_on_call(ada: User, team: User, view: str) -> None:
    page = shown(ada, team, f"/reminders/{view}/?date=2040-11-05")
    day = page.split('data-day="2040-11-05"')[1].split('data-day="2040-11-06"')[0]
    assert "On call</span> Ada, <time>09:00</time> Bob</p>" in day
    assert "On call</span> Bob</p>" in page.split('data-day="2040-11-06"')[1].split("data-day=")[0]


def test_an_override_is_shown_and_a_day_without_reminders_too(ada: User, team: User) -> None:
    own = Membership.objects.get(team=team, person=ada)
    begins, ends = (datetime(2040, 11, 7, hour, tzinfo=UTC) for hour in (11, 17))
    CallOverride.objects.create(member=own, begins_at=begins, ends_at=ends)
    page = shown(ada, team, "/reminders/day/?date=2040-11-07")
    assert "On call</span> Bob, <time>12:00</time> Ada, <time>18:00</time> Bob</p>" in page


def test_of_past_days_nobody_is_said_to_have_been_on_call(ada: User, team: User) -> None:
    """The order may have been another one, and the person no member."""
    assert "On call</span>" not in shown(ada, team, "/reminders/month/?date=2026-01-05")


def test_a_viewer_sees_it_and_a_person_alone_does_not(ada: User, team: User) -> None:
    viewer = Membership.objects.create(team=team, person=make_user(), role="viewer").person
    assert "On call</span>" in shown(viewer, team, "/reminders/week/")
    Membership.objects.filter(person=viewer).delete()
    Membership.objects.update(call_place=None)
    assert "On call</span>" not in shown(ada, team, "/reminders/week/")


def test_the_calendar_address_of_a_team_holds_the_shifts_and_stays_the_same(team: User) -> None:
    now = datetime(2026, 11, 10, 12, tzinfo=UTC)
    text = feed.written(team, now)
    assert text == feed.written(team, now.replace(hour=13))
    lines = text.splitlines()
    assert {"SUMMARY:On call: Ada", "SUMMARY:On call: Bob", "DTSTART:20261116T080000Z"} <= set(lines)
