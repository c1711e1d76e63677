"""After the first reminders, a card offers to ring elsewhere."""

from __future__ import annotations

import pytest
from django.test import Client

from people.models import User
from tests.make import make_channel, make_schedule

pytestmark = pytest.mark.django_db


def offered(browser: Client) -> bool:
    return bool(browser.get("/reminders/").context["first_ring"])


def test_it_is_offered_after_the_first_reminder_until_there_is_a_channel_that_rings(browser: Client, ada: User) -> None:
    inbox = make_channel(ada)
    assert "Hear it ring" not in browser.get("/reminders/").content.decode()
    make_schedule(ada, [inbox])
    assert f"/channels/{inbox.id}/test/" in browser.get("/reminders/").content.decode()
    make_channel(ada, "email")
    assert offered(browser)
    make_channel(ada, "webhook")
    assert not offered(browser)


def test_it_is_not_offered_to_who_has_several_reminders(browser: Client, ada: User) -> None:
    inbox = make_channel(ada)
    for _ in range(4):
        make_schedule(ada, [inbox])
    assert not offered(browser)
