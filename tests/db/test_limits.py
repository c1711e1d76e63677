"""One person may have much, but not everything: the limits, and what the forms say at them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from threading import Barrier

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from common.uuid7 import uuid7
from events.models import Rule
from notifications.channels import changes, verification
from notifications.models import Channel
from people.models import User
from schedules.models import Schedule
from tests.make import make_channel, make_rule, make_schedule, make_user, signed_in

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
    assert "You have 2 channels, which is the limit." in page
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


def at_once(*acts: Callable[[], object]) -> None:
    """Each in a thread of its own, with a connection of its own, all let go at the same moment."""
    gate = Barrier(len(acts))

    def act(one: Callable[[], object]) -> None:
        gate.wait(60)
        try:
            one()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        list(pool.map(act, acts))


@pytest.mark.django_db(transaction=True)
def test_two_tabs_at_once_do_not_get_past_the_limits(ada: User, settings: Settings) -> None:
    settings.MOST_SCHEDULES = settings.MOST_CHANNELS = 3
    channel = make_channel(ada)
    schedule, gone = make_schedule(ada, [channel]), make_schedule(ada, [channel])
    tabs = [signed_in(ada) for _ in range(5)]
    tabs[0].post(f"/reminders/{gone.id}/delete/")
    written = REMINDER | {"channels": [str(channel.id)]}
    at_once(
        lambda: tabs[0].post("/reminders/new/", written | {"made_as": str(uuid7())}),
        lambda: tabs[1].post("/reminders/new/", written | {"made_as": str(uuid7())}),
        lambda: tabs[2].post(f"/reminders/{schedule.id}/duplicate/"),
        lambda: tabs[3].post(f"/reminders/{schedule.id}/duplicate/"),
        lambda: tabs[4].post(f"/reminders/{gone.id}/restore/"),
    )
    assert Schedule.objects.filter(deleted_at=None).count() == 3
    at_once(
        *(partial(tab.post, "/channels/new/email/", {"address": f"a{n}@example.net"}) for n, tab in enumerate(tabs))
    )
    assert Channel.objects.for_user(ada).count() == 3


@pytest.mark.django_db(transaction=True)
def test_two_tabs_at_once_make_no_more_rules_than_one_may_have(ada: User, settings: Settings) -> None:
    settings.MOST_RULES = 3
    channel = make_channel(ada)
    gone = make_rule(ada, channels=[channel], deleted_at="2026-06-01T12:00Z")
    written = {"name": "Orders", "type_pattern": "order.*", "title": "Order", "channels": [str(channel.id)]}
    tabs = [signed_in(ada) for _ in range(5)]
    at_once(
        lambda: tabs[0].post(f"/rules/{gone.id}/restore/"), *(partial(tab.post, "/rules/new/", written) for tab in tabs)
    )
    tabs[0].post("/rules/new/", written)  # what was refused as busy is sent again
    tabs[1].post("/rules/new/", written)
    assert Rule.objects.for_user(ada).count() == 3


@pytest.mark.django_db(transaction=True)
def test_two_tabs_at_once_send_no_more_tests_than_one(ada: User, settings: Settings) -> None:
    settings.TESTS_A_DAY = 2
    channel = make_channel(ada)

    def send() -> None:
        with suppress(verification.TooManyCodes):
            changes.send_test(channel, timezone.now())

    at_once(*[send] * 6)
    assert channel.deliveries.count() == 2
