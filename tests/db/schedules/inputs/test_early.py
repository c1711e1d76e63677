"""The field for early messages: what is understood, what is refused, and how it is shown again."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import translation

from people.models import User
from schedules.inputs.reminder_form import ReminderForm
from schedules.models import Schedule
from tests.make import NOON, make_channel, make_job_schedule, make_schedule

pytestmark = pytest.mark.django_db

DAY = 24 * 60


def form(user: User, schedule: Schedule | None = None, **fields: Any) -> ReminderForm:
    inbox = user.channels.first() or make_channel(user)
    typed = {"title": "Dentist", "kind": "once", "at": "2026-06-05T09:00", "time_zone": "UTC", "version": 1}
    typed |= {"channels": [str(inbox.id)]} | fields
    return ReminderForm(typed, user=user, now=NOON, schedule=schedule)


@pytest.mark.parametrize(
    ("language", "text", "minutes"),
    [
        ("en", "1 day, 10 minutes", [DAY, 10]),
        ("en", "10 min and 2 hours", [120, 10]),
        ("en", " half an hour ", [30]),
        ("en", "1 hour 30 minutes", [90]),
        ("en", "", []),
        ("de", "1 Tag, 10 Minuten", [DAY, 10]),
        ("de", "1 day und 90 Minuten", [DAY, 90]),
        ("es", "1 día y 10 minutos", [DAY, 10]),
    ],
)
def test_lengths_of_time_are_understood_and_shown_so_again(
    ada: User, language: str, text: str, minutes: list[int]
) -> None:
    with translation.override(language):
        first = form(ada, early=text)
        assert first.is_valid(), first.errors
        assert first.as_schedule().early == minutes
        shown = first.fields["early"].prepare_value(minutes)
        assert form(ada, early=shown).fields["early"].clean(shown) == minutes


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"early": "soon"}, "not_understood"),
        ({"early": "10"}, "not_understood"),
        ({"early": "1 month"}, "not_understood"),
        ({"early": "Monday, 1 day"}, "not_understood"),
        ({"early": "x" * 500}, "not_understood"),
        ({"early": "29 days"}, "out_of_range"),
        ({"early": "1 min, 2 min, 3 min, 4 min, 5 min, 6 min"}, "too_many"),
        ({"early": "1 day", "at": "2026-06-02T09:00"}, "never"),
        ({"early": "1 day, 1 hour", "kind": "daily", "time": "09:00"}, "never"),
    ],
    ids=lambda one: str(one)[:40],
)
def test_what_is_not_understood_or_never_comes_is_refused(ada: User, fields: dict[str, Any], code: str) -> None:
    refused = form(ada, **fields)
    assert not refused.is_valid()
    assert [error.code for error in refused.errors["early"].as_data()] == [code]


def test_what_has_rung_already_stays_when_it_is_edited(ada: User) -> None:
    schedule = make_schedule(ada, kind="once", rule={"at": "2026-06-02T09:00:00"}, early=[DAY, 10])
    edited = form(ada, schedule, at="2026-06-02T09:00", early="1 day, 10 minutes")
    assert edited.is_valid(), edited.errors


def test_a_day_before_is_fine_where_some_time_has_a_day_in_front(ada: User) -> None:
    assert form(ada, kind="weekly", days=["0", "1", "2", "3", "4"], time="09:00", early="1 day").is_valid()


def test_what_checks_first_has_none(ada: User) -> None:
    schedule = make_job_schedule(ada, "github_streak", {"login": "octocat"}, channels=[make_channel(ada)])
    refused = form(ada, schedule, kind="daily", time="20:00", job_kind="github_streak", early="10 minutes")
    assert [error.code for error in refused.errors["early"].as_data()] == ["checks_first"]


def test_the_rule_is_said_with_it(ada: User) -> None:
    schedule = make_schedule(ada, early=[DAY // 2, 10])
    assert schedule.when == "Every day at 09:00, UTC, also 12 hours and 10 minutes before"
    typed = form(ada, kind="daily", time="09:00", early="10 minutes")
    assert typed.is_valid() and typed.described.endswith(", also 10 minutes before")
