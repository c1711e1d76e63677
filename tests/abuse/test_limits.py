"""One person may have much, but not everything: the limits, and what the forms say at them."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import Settings

from notifications.models import Channel
from people.models import User
from schedules.models import Schedule
from tests.make import make_channel, make_schedule, make_user

pytestmark = pytest.mark.django_db

REMINDER = {"title": "Rent", "kind": "daily", "time": "09:00", "time_zone": "UTC", "preset": ""}


def test_a_channel_past_the_limit_is_refused_at_the_form_and_kept(
    browser: Client, ada: User, settings: Settings
) -> None:
    settings.MOST_CHANNELS = 2
    make_channel(ada, removed_at="2026-06-01T12:00Z")  # counts no more
    make_channel(make_user(), "email")  # nor does another's
    make_channel(ada)
    browser.post("/channels/new/email/", {"address": "one@example.net"})
    assert Channel.objects.for_user(ada).count() == 2
    page = browser.post("/channels/new/email/", {"address": "two@example.net", "label": "Mine"}).content.decode()
    assert "You have 2 channels, as many as one person may have here." in page
    assert "two@example.net" in page
    assert Channel.objects.for_user(ada).count() == 2


def test_a_reminder_past_the_limit_is_refused_at_the_form_and_kept(
    browser: Client, ada: User, settings: Settings
) -> None:
    settings.MOST_SCHEDULES = 1
    channel = make_channel(ada)
    written = REMINDER | {"channels": [str(channel.id)]}
    assert browser.post("/reminders/new/", written).status_code == 302
    page = browser.post("/reminders/new/", written | {"title": "One too many"}).content.decode()
    assert "You have 1 reminders, as many as one person may have here." in page
    assert "One too many" in page
    assert Schedule.objects.count() == 1


def test_at_the_limit_one_can_still_edit_and_neither_copy_nor_bring_back(
    browser: Client, ada: User, settings: Settings
) -> None:
    channel = make_channel(ada)
    schedule, gone = make_schedule(ada, [channel]), make_schedule(ada, [channel])
    settings.MOST_SCHEDULES = 1
    browser.post(f"/reminders/{gone.id}/delete/")
    for path in (f"/reminders/{schedule.id}/duplicate/", f"/reminders/{gone.id}/restore/"):
        assert "as many as one person may have" in browser.post(path, follow=True).content.decode()
    assert Schedule.objects.filter(deleted_at=None).count() == 1
    edited = REMINDER | {"channels": [str(channel.id)], "version": "1"}
    assert browser.post(f"/reminders/{schedule.id}/edit/", edited).status_code == 302
