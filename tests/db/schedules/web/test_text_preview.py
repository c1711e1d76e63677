"""What a reminder will say, and how long that is on each channel, while it is being typed."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from cryptography.fernet import Fernet
from django.test import Client
from pytest_django import Settings

from notifications.messages.links import ANSWER
from notifications.models import Channel, Delivery
from people.models import User
from schedules.firing import fire
from tests.make import NOON, make_channel, make_schedule, make_user, take

# What ends a text where there is nothing else for a link.
LINK = len(f"\n\nDone or snooze: {ANSWER.address(uuid4())}")


def make_pager(user: User) -> Channel:
    url = "pover://uplanteduplanteduplanteduplant@aplantedaplantedaplantedaplant"  # takes 250 characters of a subject
    return make_channel(user, "apprise", {"url": url}, label="Pager")


def preview(browser: Client, **fields: object) -> str:
    timing = {"kind": "daily", "time": "09:00", "time_zone": "Europe/Berlin"}
    return browser.post("/reminders/preview/", timing | fields).content.decode()


def test_the_text_is_shown_as_the_next_firing_says_it(browser: Client, ada: User) -> None:
    page = preview(browser, title="For {name}", body="It is {slot}.\n<b>{schedule}</b>")
    assert f"<strong>For {ada.name}</strong>" in page
    assert ", 09:00.<br>&lt;b&gt;For {name}&lt;/b&gt;" in page


@pytest.mark.parametrize("name", ["Ada", ""])
def test_the_name_is_the_same_in_the_preview_and_in_what_is_sent(browser: Client, ada: User, name: str) -> None:
    User.objects.filter(pk=ada.pk).update(name=name)
    make_schedule(ada, [make_channel(ada)], title="For {name}!")
    fire.fire_due(NOON.replace(hour=9) + timedelta(days=1))
    claim = take(Delivery.objects.get().id, "host:1")
    assert claim is not None
    said = f"For {name or 'ada'}!"
    assert f"<strong>{said}</strong>" in preview(browser, title="For {name}!")
    assert (claim.message.subject, claim.message.recipient) == (said, name or "ada")


def test_nothing_is_shown_before_there_is_a_title(browser: Client) -> None:
    assert 'class="reading"' in preview(browser, title="x", body="x")
    assert 'class="reading"' not in preview(browser, title=" ", body="x")


def test_each_channel_tells_the_length_there(browser: Client, ada: User) -> None:
    chosen = [make_channel(ada, kind).id for kind in ("telegram", "ntfy", "inbox")]
    chosen.append(make_pager(ada).id)
    make_channel(ada, "slack")
    page = preview(browser, title="Ferns", body="ä", channels=chosen)
    assert page.count("Telegram: 8 of 4096 characters") == 1
    assert f"Pager: {1 + LINK} of 1024 characters" in page
    assert "Ntfy: 2 of 4096 bytes" in page
    assert "Inbox: 1 character<" in page
    assert "Slack" not in page
    assert "cut to fit" not in page


def test_what_would_be_cut_says_so(browser: Client, ada: User) -> None:
    page = preview(browser, title="Ferns", body="x" * 5_000, channels=[make_channel(ada, "telegram").id])
    assert "Telegram: 4096 of 4096 characters, <strong>cut to fit</strong>" in page


def test_lengths_are_told_of_a_text_and_of_what_would_be_cut(browser: Client, ada: User) -> None:
    pager = make_pager(ada).id
    assert "Pager:" not in preview(browser, title="Ferns", channels=[pager])
    assert "Pager:" in preview(browser, title="Ferns", body="x", channels=[pager])


def test_another_persons_channel_tells_nothing(browser: Client) -> None:
    theirs = make_channel(make_user(), "telegram")
    assert "Telegram" not in preview(browser, title="Ferns", body="x", channels=[theirs.id, "nonsense"])


def test_text_without_a_right_timing_is_shown_all_the_same(browser: Client) -> None:
    page = preview(browser, title="Ferns {slot}", time="nonsense", time_zone="Nowhere/At")
    assert "<strong>Ferns " in page


def test_what_carries_links_in_its_text_is_as_long_as_with_them(browser: Client, ada: User) -> None:
    page = preview(browser, title="Ferns", body="x", channels=[make_pager(ada).id])
    assert f"Pager: {1 + LINK} of 1024 characters" in page


def test_a_channel_whose_secrets_cannot_be_read_is_counted_without_them(
    browser: Client, ada: User, settings: Settings
) -> None:
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    lost = make_channel(ada, "apprise", {"url": "planted"}, label="Pager")
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    assert f"Pager: {1 + LINK} characters<" in preview(browser, title="Ferns", body="x", channels=[lost.id])


def test_each_channel_shows_marks_as_it_has_them(browser: Client, ada: User) -> None:
    body = "**Ferns** at [the shop](https://example.org) <i>\n- {schedule}"
    chosen = [make_channel(ada, kind).id for kind in ("telegram", "ntfy", "inbox", "email")]
    page = preview(browser, title="**Buy**", body=body, channels=chosen)
    link = '<a href="https://example.org">the shop</a>'
    assert page.count(f"<p><strong>Ferns</strong> at {link} &lt;i&gt;<br>• \N{WORD JOINER}*") == 1
    plain = 'at the shop: <a href="https://example.org">https://example.org</a> &lt;i&gt;<br>- \N{WORD JOINER}*'
    assert page.count(f"<p>Ferns {plain}") == 1 and 'aria-label="As Ntfy shows it"' in page
    assert "As Telegram shows it" not in page and "As Inbox shows it" not in page


def test_what_is_cut_is_shown_as_the_channel_has_it(browser: Client, ada: User) -> None:
    telegram = make_channel(ada, "telegram").id
    page = preview(browser, title="Ferns", body=f"**{'x' * 5_000}**", channels=[telegram])
    assert 'aria-label="As Telegram shows it"' in page and "x…</strong>" in page


def test_what_is_filled_in_is_never_bold_and_what_is_typed_is(browser: Client, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(name="**Ada**")
    make_schedule(ada, [make_channel(ada)], body="**Hello** {name}")
    fire.fire_due(NOON.replace(hour=9) + timedelta(days=1))
    delivery = Delivery.objects.get()
    claim = take(delivery.id, "host:1")
    assert claim is not None and claim.message.has_marks
    page = delivery.notification.linked_body()
    assert page.startswith("<strong>Hello</strong> ") and page.count("<strong>") == 1
    assert delivery.notification.plain_body().startswith("Hello ")
    schedule = delivery.notification.origin_id
    shown = browser.get(f"/reminders/{schedule}/").content.decode()
    assert "<strong>Hello</strong> {name}" in shown
