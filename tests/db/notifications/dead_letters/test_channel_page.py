"""The channel's page says the rule and the record; its owner enables what its own answers have disabled."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from demo.receivers import HTTPReceiver, Reply
from notifications.channels import changes
from notifications.models import Channel
from tests.db.notifications.conftest import state_after_a_try
from tests.make import disabled, make_delivery, settle, taken

pytestmark = pytest.mark.django_db


def page(browser: Client, channel: Channel) -> str:
    return browser.get(f"/channels/{channel.id}/").content.decode()


def test_the_rule_and_the_record_are_shown(browser: Client, hook: Channel) -> None:
    shown = page(browser, hook)
    assert "every delivery has failed for 5 days" in shown
    assert ">working<" in shown
    Channel.objects.update(failing_since=timezone.now())
    assert "Every delivery has failed since" in page(browser, hook)


def test_a_channel_that_may_be_used_is_tried_from_its_page(browser: Client, hook: Channel) -> None:
    button = f'action="/channels/{hook.id}/test/"'
    assert button in page(browser, hook)
    Channel.objects.update(disabled_at=hook.created_at, **disabled("Gone."))
    assert button not in page(browser, hook)


def test_its_owner_enables_it_again_and_the_record_begins_anew(
    browser: Client, hook: Channel, receiver: HTTPReceiver
) -> None:
    receiver.answers.append(Reply(410))
    assert state_after_a_try(make_delivery(hook)) == "dead"
    assert "410 Gone" in page(browser, hook)
    assert f'href="/channels/{hook.id}/#health"' in browser.get("/channels/").content.decode()
    answer = browser.post(f"/channels/{hook.id}/enable/", follow=True)
    assert "is enabled" in answer.content.decode()
    hook.refresh_from_db()
    assert (hook.disabled_at, hook.disabled_reason, hook.failing_since) == (None, "", None)
    assert state_after_a_try(make_delivery(hook)) == "delivered"


def test_what_an_operator_disabled_its_owner_does_not_enable(browser: Client, hook: Channel) -> None:
    Channel.objects.update(failing_since=timezone.now())
    changes.disable([hook.id], "It was abused.")
    shown = page(browser, hook)
    assert "It was abused." in shown
    assert ">Enable<" not in shown
    browser.post(f"/channels/{hook.id}/enable/")
    hook.refresh_from_db()
    assert hook.disabled_at is not None


def test_a_message_that_was_on_its_way_does_not_hide_why_the_channel_is_disabled(
    hook: Channel, receiver: HTTPReceiver
) -> None:
    Channel.objects.update(failing_since=timezone.now())
    claim = taken(make_delivery(hook).id)
    Channel.objects.update(disabled_at=timezone.now())
    assert settle(claim, "delivered")
    hook.refresh_from_db()
    assert hook.failing_since is not None
