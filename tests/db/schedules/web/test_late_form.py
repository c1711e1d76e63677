"""The owner chooses what becomes of missed slots, from when a slot is missed, and the spread."""

from __future__ import annotations

import pytest
from django.test import Client

from people.models import User
from schedules.models import Schedule
from tests.db.schedules.web.typed import typed
from tests.make import make_channel, make_schedule


def late(schedule: Schedule) -> tuple[str, int, int]:
    return schedule.misfire, schedule.grace, schedule.spread


def test_what_is_chosen_is_kept(browser: Client, ada: User) -> None:
    browser.post("/reminders/new/", typed(make_channel(ada), misfire="all", grace="0", spread="300"))
    assert late(Schedule.objects.get()) == ("all", 0, 300)


def test_what_is_left_empty_is_what_it_is_at_first(browser: Client, ada: User) -> None:
    browser.post("/reminders/new/", typed(make_channel(ada)))
    assert late(Schedule.objects.get()) == ("latest", 60, 0)


def test_an_edit_shows_and_keeps_what_was_chosen(browser: Client, ada: User) -> None:
    schedule = make_schedule(ada, misfire="skip", grace=7, spread=30)
    form = browser.get(f"/reminders/{schedule.id}/edit/").context["form"]
    browser.post(
        f"/reminders/{schedule.id}/edit/",
        {field.html_name: field.value() for field in form if field.value() is not None},
    )
    schedule.refresh_from_db()
    assert (schedule.version, *late(schedule)) == (1, "skip", 7, 30)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("misfire", "perhaps", "Choose the newest"),
        ("grace", "-1", "a whole number from 0 to 604,800."),
        ("grace", "9" * 99, "from 0 to 604,800"),
        ("spread", "an hour", "from 0 to 86,400."),
        ("spread", "86401", "from 0 to 86,400"),
        ("stale_after", "0", "from 1 to 2,592,000, or leave it empty."),
        ("stale_after", "2592001", "from 1 to 2,592,000"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(browser: Client, ada: User, name: str, value: str, said: str) -> None:
    errors = browser.post("/reminders/new/", typed(make_channel(ada), **{name: value})).context["form"].errors
    assert list(errors) == [name]
    assert said in errors[name][0]


def test_the_second_of_two_editors_sees_these_too(browser: Client, ada: User) -> None:
    schedule = make_schedule(ada, misfire="skip")
    fields = typed(*schedule.channels.all(), version="0", grace="90")
    shown = browser.post(f"/reminders/{schedule.id}/edit/", fields).context["differences"]
    assert ("If it was missed", "Send none of them", "Send the newest missed one") in shown
    assert ("Missed after", "60 s", "90 s") in shown


def test_how_old_a_message_may_get_is_chosen_shown_and_taken_back(browser: Client, ada: User) -> None:
    channel = make_channel(ada)
    browser.post("/reminders/new/", typed(channel, stale_after="3600"))
    schedule = Schedule.objects.get()
    assert schedule.stale_after == 3600
    page = f"/reminders/{schedule.id}/edit/"
    assert browser.get(page).context["form"]["stale_after"].value() == 3600
    browser.post(page, typed(channel, version="1"))
    schedule.refresh_from_db()
    assert schedule.stale_after is None


def test_what_is_spread_is_not_dropped_before_its_turn(browser: Client, ada: User) -> None:
    fields = typed(make_channel(ada), spread="300", stale_after="300")
    errors = browser.post("/reminders/new/", fields).context["form"].errors
    assert "Enter more than the spread of 300 s" in errors["stale_after"][0]
    assert not Schedule.objects.exists()
