"""Channels: what is added, shown once, tried and removed."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from notifications.channels import changes
from notifications.deliveries.history import statistics_of
from notifications.models import Channel, Delivery
from notifications.providers.queue import QueueForm
from people.models import User
from tests.make import make_channel, make_delivery, make_rule, make_schedule, settle, taken

pytestmark = pytest.mark.django_db

HOOK = "https://example.org/hooks/carillon"


def test_an_email_channel_is_added_and_listed(browser: Client, ada: User) -> None:
    browser.post("/channels/new/email/", {"address": "ada@example.net", "label": "Private"})
    [channel] = Channel.objects.for_user(ada)
    assert (channel.provider, channel.label, channel.summary) == ("email", "Private", "ada@example.net")
    assert channel.verified_at is None
    page = browser.get("/channels/").content.decode()
    assert "Private" in page and "ada@example.net" in page


@pytest.mark.parametrize(("kind", "left_out"), [("webhook", 3), ("ntfy", 3), ("telegram", 1), ("email", 1)])
def test_what_may_be_left_out_says_so(browser: Client, kind: str, left_out: int) -> None:
    page = browser.get(f"/channels/new/{kind}/").content.decode()
    assert page.count('<span class="optional">optional</span>') == left_out


def test_the_services_of_apprise_are_a_link_away(browser: Client) -> None:
    assert 'href="https://appriseit.com/services"' in browser.get("/channels/new/apprise/").content.decode()


def test_a_name_that_is_too_long_is_refused(browser: Client) -> None:
    answer = browser.post("/channels/new/email/", {"address": "a@example.org", "label": "x" * 81})
    assert "at most 80" in answer.context["label"].errors["label"][0]
    assert not Channel.objects.exists()


def test_a_secret_is_shown_exactly_once(browser: Client, ada: User) -> None:
    answer = browser.post("/channels/new/webhook/", {"url": HOOK}, follow=True)
    secret = Channel.objects.get(user=ada).destination().secrets["secret"]
    assert secret in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    again = browser.get(answer.request["PATH_INFO"]).content.decode()
    assert secret not in again
    assert "already shown" in again
    assert secret not in str(dict(browser.session))
    assert secret not in browser.get("/channels/").content.decode()


def test_a_secret_of_an_older_channel_is_never_shown(browser: Client, ada: User) -> None:
    channel = make_channel(ada, "webhook")
    page = browser.get(f"/channels/{channel.id}/secret/").content.decode()
    assert channel.destination().secrets["secret"] not in page


def test_a_second_inbox_is_not_made(browser: Client, ada: User) -> None:
    changes.add_inbox(ada)
    assert "You already have an inbox" in browser.post("/channels/new/inbox/", follow=True).content.decode()
    assert Channel.objects.for_user(ada).count() == 1
    assert "/channels/new/inbox/" not in browser.get("/channels/new/").content.decode()


def test_the_own_address_is_one_click_away_until_it_is_there(browser: Client, ada: User) -> None:
    assert "Add email to ada@example.org" in browser.get("/channels/").content.decode()
    make_channel(ada, "email")
    assert "Add email to" not in browser.get("/channels/").content.decode()


def test_the_page_says_when_mails_are_only_written_to_files(browser: Client, settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    settings.EMAIL_FILE_PATH = "var/mail"
    assert "emails are saved in" in browser.get("/channels/").content.decode()


def test_a_channel_is_renamed_and_needs_a_name(browser: Client, ada: User) -> None:
    channel = make_channel(ada)
    assert "Give the channel a name" in browser.post(f"/channels/{channel.id}/", {"label": " "}).content.decode()
    browser.post(f"/channels/{channel.id}/", {"label": "Phone"})
    assert Channel.objects.get().label == "Phone"


def test_removing_says_which_reminders_use_it_and_cancels_what_waits(browser: Client, ada: User) -> None:
    channel = make_channel(ada)
    make_schedule(ada, [channel], title="Rent")
    waiting = make_delivery(channel)
    assert "Rent" in browser.get(f"/channels/{channel.id}/remove/").content.decode()
    assert Channel.objects.for_user(ada).exists()
    browser.post(f"/channels/{channel.id}/remove/")
    assert not Channel.objects.for_user(ada).exists()
    waiting.refresh_from_db()
    assert (waiting.state, waiting.reason) == ("cancelled", "The channel was removed.")


def test_a_test_is_sent_and_watched_until_it_settles(browser: Client, ada: User) -> None:
    channel = make_channel(ada)
    answer = browser.post(f"/channels/{channel.id}/test/", headers={"HX-Request": "true"})
    [delivery] = Delivery.objects.for_user(ada)
    assert delivery.notification.origin == "test"
    assert f'hx-get="/channels/tests/{delivery.id}/"' in answer.content.decode()
    settle(taken(delivery.id, "host:1"), "delivered")
    settled = browser.get(f"/channels/tests/{delivery.id}/").content.decode()
    assert "delivered" in settled and "hx-get" not in settled


def test_without_scripts_a_test_leads_to_its_page(browser: Client, ada: User) -> None:
    answer = browser.post(f"/channels/{make_channel(ada).id}/test/")
    assert answer["Location"] == f"/history/{Delivery.objects.get().notification_id}/"


def test_the_list_says_what_became_of_the_last_delivery(browser: Client, ada: User) -> None:
    channel = make_channel(ada)
    make_delivery(channel, state="delivered", settled_at="2026-06-01T12:00Z")
    make_delivery(channel, state="dead", settled_at="2026-06-01T12:00Z")
    assert "last: failed" in browser.get("/channels/").content.decode()


def test_what_waits_on_a_channel_says_when_it_is_due(browser: Client, ada: User) -> None:
    make_delivery(make_channel(ada), available_at=timezone.now() + timedelta(minutes=10))
    page = browser.get("/channels/").content.decode()
    assert re.search(r"waiting, due <time [^>]*>in 10 min<", page)


def test_removing_tells_of_reminders_that_would_have_no_channel(browser: Client, ada: User) -> None:
    first, second = make_channel(ada), make_channel(ada, "telegram")
    make_schedule(ada, title="Both", channels=[first, second])
    page = browser.get(f"/channels/{first.id}/remove/").content.decode()
    assert "continue without it" in page and "no other channel" not in page
    make_schedule(ada, title="Only the first", channels=[first])
    page = browser.get(f"/channels/{first.id}/remove/").content.decode()
    assert "1 of the following has no other channel" in page
    assert page.index("Only the first") < page.index("Both")
    changes.remove(second)
    assert "2 of the following have no other channel" in browser.get(f"/channels/{first.id}/remove/").content.decode()


def test_removing_tells_of_rules_too(browser: Client, ada: User) -> None:
    first, second = make_channel(ada), make_channel(ada, "telegram")
    make_rule(ada, channels=[first, second], channel_order=[second.id, first.id])
    make_rule(ada, channels=[first], enabled=False)
    page = browser.get(f"/channels/{first.id}/remove/").content.decode()
    assert "in order: number 2 of 2" in page and "no other channel" not in page
    rule = make_rule(ada, channels=[first])
    page = browser.get(f"/channels/{first.id}/remove/").content.decode()
    assert "1 of the following has no other channel" in page
    assert f'href="/rules/{rule.id}/"' in page


def test_the_list_of_reminders_tells_of_one_without_a_channel(browser: Client, ada: User) -> None:
    channel = make_channel(ada)
    make_schedule(ada, channels=[channel])
    assert "Reaches nobody" not in browser.get("/reminders/").content.decode()
    changes.remove(channel)
    assert "Reaches nobody" in browser.get("/reminders/").content.decode()


@pytest.mark.parametrize("search", ["phone", "TELEGRAM", "4711"])
def test_a_channel_is_found_by_what_the_list_shows_of_it(browser: Client, ada: User, search: str) -> None:
    make_channel(ada, "telegram", label="Phone", address={"chat": "4711"})
    make_channel(ada, label="Pigeonhole")
    page = browser.get("/channels/", {"q": search}).content.decode()
    assert "Phone</a></h2>" in page and "Pigeonhole</a></h2>" not in page
    assert f'value="{search}"' in page
    nothing = browser.get("/channels/", {"q": "pager<\0"}).content.decode()
    assert "No channel matches" in nothing and "Phone</a></h2>" not in nothing


def test_a_channels_pages_say_which_reminders_use_it_and_where_it_stands_in_their_order(
    browser: Client, ada: User
) -> None:
    inbox, mail, gone = make_channel(ada), make_channel(ada, "email"), make_channel(ada, "webhook")
    make_schedule(ada, [gone, mail, inbox], title="Rent", in_order=True)
    make_schedule(ada, [mail, inbox], title="Ferns")
    changes.remove(gone)
    for path in (f"/channels/{inbox.id}/", f"/channels/{inbox.id}/remove/"):
        page = browser.get(path).content.decode()
        assert "Ferns</a></li>" in page
        assert 'Rent</a> <span class="help">in order: number 2 of 2</span>' in page


@pytest.mark.parametrize("choice", ["retry", "hold", ""])
def test_its_owner_says_what_becomes_of_a_send_whose_outcome_is_unknown(
    browser: Client, ada: User, choice: str
) -> None:
    channel = make_channel(ada, "webhook", on_unknown="retry" if choice == "" else "")
    browser.post(f"/channels/{channel.id}/", {"label": "Team", "on_unknown": choice})
    channel.refresh_from_db()
    assert (channel.label, channel.on_unknown) == ("Team", choice)


def test_another_choice_than_those_is_refused_at_its_field(browser: Client, ada: User) -> None:
    channel = make_channel(ada, "webhook")
    answer = browser.post(f"/channels/{channel.id}/", {"label": "Team", "on_unknown": "maybe"})
    assert list(answer.context["form"].errors) == ["on_unknown"]
    channel.refresh_from_db()
    assert channel.on_unknown == ""


@pytest.mark.parametrize(("choice", "stored"), [("", None), ("600", 600), ("86400", 86_400)])
def test_a_person_chooses_when_a_channel_gives_up(choice: str, stored: int | None, browser: Client, ada: User) -> None:
    channel = make_channel(ada, "webhook", give_up_after=3_600)
    browser.post(f"/channels/{channel.id}/", {"label": "Team", "give_up_after": choice})
    channel.refresh_from_db()
    assert channel.give_up_after == stored


def test_a_time_to_give_up_that_is_not_offered_is_refused(browser: Client, ada: User) -> None:
    channel = make_channel(ada, "webhook")
    answer = browser.post(f"/channels/{channel.id}/", {"label": "Team", "give_up_after": "7"})
    assert list(answer.context["form"].errors) == ["give_up_after"]


def test_the_inbox_and_the_first_other_channel_are_used_for_new_reminders(ada: User) -> None:
    changes.add_inbox(ada)
    changes.add(ada, "queue", dict.fromkeys(QueueForm.base_fields, 1))
    for label in ("first", "second"):
        changes.add(ada, "email", {"address": f"{label}@example.org"}, label)
    used = Channel.objects.filter(use_for_new=True)
    assert set(used.values_list("label", flat=True)) == {"Inbox", "first"}
    Channel.objects.exclude(provider="inbox").update(use_for_new=False)
    changes.add(ada, "email", {"address": "third@example.org"}, "third")
    assert set(used.values_list("label", flat=True)) == {"Inbox", "third"}


def test_its_owner_says_whether_new_reminders_use_a_channel(browser: Client, ada: User) -> None:
    inbox, phone = make_channel(ada), make_channel(ada, "telegram", use_for_new=False)
    browser.post(f"/channels/{inbox.id}/", {"label": "Inbox"})
    browser.post(f"/channels/{phone.id}/", {"label": "Phone", "use_for_new": "on"})
    for path in ("/reminders/new/", "/rules/new/"):
        assert browser.get(path).context["form"].initial["channels"] == [phone.id]


def test_a_channels_page_counts_its_newest_deliveries_in_one_statement(
    browser: Client, ada: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    channel, now = make_channel(ada, "email"), timezone.now()
    due = now - timedelta(minutes=1)
    for seconds in (1, 2, 30):
        make_delivery(channel, state="delivered", settled_at=due + timedelta(seconds=seconds))
    Delivery.objects.update(available_at=due)
    make_delivery(channel, state="dead")
    make_delivery(channel)
    make_delivery(channel, state="dead", created_at=now - timedelta(days=31))
    with django_assert_num_queries(1):
        found = statistics_of(channel.id)
    assert (found.counted, found.sent, found.failed) == (5, 3, 1)
    assert (found.last, found.median) == (now - timedelta(seconds=30), timedelta(seconds=2))
    assert "from when it was due" in browser.get(f"/channels/{channel.id}/").content.decode()
