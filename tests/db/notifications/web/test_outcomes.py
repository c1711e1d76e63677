"""What a person reads where a notification did not arrive everywhere."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from notifications.deliveries.kind import DELIVERY
from notifications.models import Delivery, Notification
from people.models import User
from schedules.firing import fire
from schedules.models import Schedule
from tests.make import NOON, make_channel, make_schedule, settle, taken
from work import dead_letters
from work.dead_letters import Which, Who
from work.engine import recovery

pytestmark = pytest.mark.django_db

NINE = NOON.replace(hour=9) + timedelta(days=1)


@pytest.fixture
def reminder(ada: User) -> Schedule:
    return make_schedule(ada, [make_channel(ada, "webhook", label=label) for label in ("Phone", "Team", "Log")])


def fire_on(day: int, failing: str = "", expired: str = "") -> Notification:
    """Fire on that day, and send: to the channel `failing` in vain, and to `expired` too late."""
    fire.fire_due(NINE + timedelta(days=day))
    for delivery in Delivery.objects.filter(state="pending").select_related("channel"):
        if delivery.channel.label == expired:
            Delivery.objects.filter(id=delivery.id).update(expires_at=NOON)
            recovery.expire(DELIVERY, 1)
            continue
        claim = taken(delivery.id, "host:1")
        if delivery.channel.label == failing:
            settle(claim, "dead", "404")
        else:
            settle(claim, "delivered")
    return Notification.objects.latest("id")


def text(browser: Client, path: str) -> str:
    return " ".join(browser.get(path).content.decode().split())


def test_the_history_says_how_many_arrived_and_which_did_not(browser: Client, reminder: Schedule) -> None:
    notification = fire_on(0, failing="Team", expired="Log")
    for page in ("/history/", f"/history/{notification.id}/"):
        assert "1 of 3; failed: Team; too late: Log" in text(browser, page)


def test_the_history_counts_nothing_where_all_arrived(browser: Client, reminder: Schedule) -> None:
    fire_on(0)
    assert 'class="outcome"' not in text(browser, "/history/")


def test_a_reminder_shows_its_last_failure_until_the_next_one_arrives_in_full(
    browser: Client, reminder: Schedule
) -> None:
    pages = ["/reminders/", f"/reminders/{reminder.id}/"]
    failed = fire_on(0, failing="Team")
    for page in pages:
        said = text(browser, page)
        assert f'href="/history/{failed.id}/">The last message did not arrive everywhere.</a> Failed: Team.' in said
    fire.fire_due(NINE + timedelta(days=1))
    assert "did not arrive everywhere" in text(browser, pages[0])  # the newest one is still on its way
    fire_on(1)
    for page in pages:
        assert "The last message" not in text(browser, page)


def test_a_dead_letter_that_arrives_after_all_clears_it(browser: Client, reminder: Schedule) -> None:
    fire_on(0, failing="Team")
    [letter] = dead_letters.replay(Which(DELIVERY).rows(), "all", Who(None, "operator")).changed
    settle(taken(letter, "host:1"), "delivered")
    assert "The last message" not in text(browser, "/reminders/")


def test_one_reminder_that_fails_says_nothing_about_another(browser: Client, ada: User, reminder: Schedule) -> None:
    make_schedule(ada, [make_channel(ada, "webhook", label="Mine")], title="Other")
    fire_on(0, failing="Mine")
    assert text(browser, "/reminders/").count("The last message did not arrive.") == 1
    assert "The last message" not in text(browser, f"/reminders/{reminder.id}/")


def test_the_label_of_a_channel_is_data(browser: Client, ada: User) -> None:
    make_schedule(ada, [make_channel(ada, "webhook", label="<b>x</b>")])
    fire_on(0, failing="<b>x</b>")
    for page in ("/reminders/", "/history/"):
        assert "<b>x</b>" not in text(browser, page)
