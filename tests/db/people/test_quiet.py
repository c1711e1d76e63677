"""A person says their quiet hours on the settings page."""

from __future__ import annotations

from datetime import time

import pytest

from people.models import User
from tests.make import make_schedule, make_user, signed_in


def save(user: User, **typed: str) -> tuple[str, User]:
    """What the page says after these were typed, and the person as stored."""
    answer = signed_in(user).post("/settings/", {"name": "Ada", "time_zone": "Europe/Berlin"} | typed, follow=True)
    user.refresh_from_db()
    return answer.content.decode(), user


def test_run_now_says_that_it_waits_for_no_quiet_hours() -> None:
    ada = make_user()
    client, page = signed_in(ada), f"/reminders/{make_schedule(ada).id}/"
    assert "even in your quiet hours" not in client.get(page).content.decode()
    User.objects.update(quiet_from=time(22), quiet_until=time(7))
    assert "even in your quiet hours" in client.get(page).content.decode()


def test_quiet_hours_are_saved_and_shown_again() -> None:
    page, user = save(make_user(), quiet_from="22:00", quiet_until="07:00")
    assert (user.quiet_from, user.quiet_until) == (time(22), time(7))
    assert 'value="22:00"' in page


def test_they_are_off_when_both_are_empty() -> None:
    _, user = save(make_user(quiet_from=time(22), quiet_until=time(7)), quiet_from="", quiet_until="")
    assert (user.quiet_from, user.quiet_until) == (None, None)


def test_hours_by_weekday_are_saved_and_shown_again_until_all_are_emptied() -> None:
    typed = {"weekly_hours-mon-from": "08:00", "weekly_hours-mon-until": "18:00", "public_holidays": "de-by"}
    page, user = save(make_user(), **typed)
    assert (user.weekly_hours, user.public_holidays) == ({"mon": ["08:00", "18:00"]}, "DE-BY")
    assert 'name="weekly_hours-mon-from" value="08:00"' in page
    _, user = save(user, public_holidays="")
    assert (user.weekly_hours, user.public_holidays) == ({}, "")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"weekly_hours-tue-from": "08:00"}, "Tuesday: enter both times"),
        ({"weekly_hours": "mon"}, "Write an object with days from mon to sun"),
        ({"public_holidays": "Bayern"}, "Enter the two letters of a country"),
        ({"public_holidays": "DE-Paris"}, "Enter a region of this country: BB, BE"),
        (
            {f"weekly_hours-tue-{edge}": at for edge, at in (("from", "08:00"), ("until", "09:00"))}
            | {"quiet_from": "22:00", "quiet_until": "07:00"},
            "only one of them applies",
        ),
    ],
)
def test_wrong_hours_by_weekday_are_refused_and_stay_in_the_form(typed: dict[str, str], said: str) -> None:
    page, user = save(make_user(), **typed)
    assert said in page
    assert (user.weekly_hours, user.public_holidays, user.quiet_from) == ({}, "", None)
    assert typed.get("weekly_hours-tue-from", "") in page


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"quiet_from": "22:00"}, "Enter both times, or leave both empty."),
        ({"quiet_until": "07:00"}, "Enter both times, or leave both empty."),
        ({"quiet_from": "22:00", "quiet_until": "22:00"}, "Enter two different times"),
        ({"quiet_from": "25:00", "quiet_until": "07:00"}, "Enter a time from 00:00 to 23:59"),
    ],
)
def test_what_cannot_be_is_said_at_the_field_and_nothing_is_saved(typed: dict[str, str], said: str) -> None:
    page, user = save(make_user(), **typed)
    assert said in page
    assert page.count('class="errors" id="error-quiet_') == 2
    assert (user.quiet_from, user.quiet_until) == (None, None)
