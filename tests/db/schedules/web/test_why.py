"""Explain begins with the answer: whether the last one rang, and why not."""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from notifications.models import Channel, Delivery, Notification
from people.models import User
from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Schedule
from tests.make import make_channel, make_schedule, send_now

HOUR = timedelta(hours=1)


@pytest.fixture
def now() -> datetime:
    """A moment before the test's transaction began, so that what is due then can be claimed in it."""
    return fire.read_clock().now.replace(microsecond=0) - timedelta(seconds=2)


def due_now(user: User, channels: list[Channel], now: datetime) -> Schedule:
    """A reminder that has just fired for the first time."""
    rule = {"every": 1, "unit": "hours", "anchor": now.isoformat()}
    schedule = make_schedule(user, channels, now=now - HOUR / 2, kind="interval", rule=rule)
    fire.fire_due(now)
    return schedule


def answer(browser: Client, schedule: Schedule) -> str:
    page = browser.get(f"/reminders/{schedule.id}/explain/").content.decode()
    [said] = re.findall(r'<p class="why[^"]*">(.*?)</p>', page, re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", "", said).split())


def test_one_that_arrived_says_where(browser: Client, ada: User, now: datetime) -> None:
    schedule = due_now(ada, [make_channel(ada)], now)
    assert "Waiting to be sent." in answer(browser, schedule)
    send_now(Delivery.objects.get().id)
    said = answer(browser, schedule)
    assert said.startswith("It rang ") and said.endswith("it arrived on Inbox.")


def test_one_in_quiet_hours_says_until_when_it_waits(browser: Client, ada: User, now: datetime) -> None:
    User.objects.filter(pk=ada.pk).update(
        time_zone="UTC",
        quiet_from=time((now - HOUR).hour, now.minute),
        quiet_until=time((now + HOUR).hour, now.minute),
    )
    schedule = due_now(ada, [make_channel(ada, "email")], now)
    assert "your quiet hours." in answer(browser, schedule)
    for page in (f"/reminders/{schedule.id}/", f"/reminders/{schedule.id}/explain/", "/history/"):
        assert re.search(
            r'class="state pending">waiting</span>\s*<span class="help">Waits until', browser.get(page).content.decode()
        )


@pytest.mark.parametrize(
    ("outcome", "begins"), [("failed", "It did not ring "), ("partial", "It rang "), ("dropped", "It did not ring ")]
)
def test_one_that_failed_says_why(browser: Client, ada: User, now: datetime, outcome: str, begins: str) -> None:
    schedule = due_now(ada, [make_channel(ada, "webhook", label="Pager")], now)
    Delivery.objects.update(state="sending", lease_token=schedule.id, lease_until=now)
    Delivery.objects.update(
        state="dead", lease_token=None, lease_until=None, settled_at=now, reason_code="note", cause="x"
    )
    Delivery.objects.update(reason_params={"said": "It answered 410."})
    Notification.objects.update(outcome=outcome)
    said = answer(browser, schedule)
    assert said.startswith(begins) and "Pager: It answered 410." in said


def test_an_email_that_was_only_saved_did_not_ring(
    browser: Client, ada: User, now: datetime, settings: Settings, tmp_path: Path
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    settings.EMAIL_FILE_PATH = tmp_path / "var" / "mail"
    schedule = due_now(ada, [make_channel(ada, "email")], now)
    send_now(Delivery.objects.get().id)
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.shown_state, delivery.reason) == ("delivered", "saved", "Saved in var/mail.")
    assert answer(browser, schedule).startswith("It did not ring ")
    for page in (f"/history/{delivery.notification_id}/", "/history/", f"/reminders/{schedule.id}/"):
        assert 'class="state saved">saved<' in browser.get(page).content.decode()


def test_one_that_was_skipped_one_that_is_to_come_and_a_broken_one_say_so(
    browser: Client, ada: User, now: datetime
) -> None:
    channel = make_channel(ada)
    schedule = make_schedule(ada, [channel], now=now)
    assert answer(browser, schedule).startswith("It has not been due yet. It rings ")
    editing.pause(schedule.id, now, ada)
    assert answer(browser, schedule) == "It does not ring, because it is paused."
    assert "It did not ring" in answer(browser, due_now(ada, [], now))
    Schedule.objects.filter(id=schedule.id).update(state="broken", error="Oh.", next_fire_at=None)
    assert answer(browser, schedule).startswith("It does not ring any more")
