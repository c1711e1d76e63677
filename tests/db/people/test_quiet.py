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
