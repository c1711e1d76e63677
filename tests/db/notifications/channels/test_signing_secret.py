"""A webhook's secret is replaced on its page, shown once, and the one before signs too for a day."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.utils import timezone

from demo.receivers import HTTPReceiver
from notifications.channels import changes
from notifications.models import Channel
from people.models import User
from tests.db.notifications.conftest import fresh
from tests.make import make_channel, make_delivery, make_user, send_now

pytestmark = pytest.mark.django_db

OLD = "whsec_" + "c2VjcmV0" * 4


def press(browser: Client, hook: Channel) -> str:
    """Look at the question and answer it; returns the page that follows."""
    path = f"/channels/{hook.id}/secret/new/"
    asked = browser.get(path)
    assert "Replace the secret of Pager?" in asked.content.decode()
    return browser.post(path, {"replaces": asked.context["replaces"]}, follow=True).content.decode()


def secret_in(page: str) -> str:
    found = re.search(r"whsec_[A-Za-z0-9+/=]+", page)
    assert found is not None
    return found[0]


def test_the_channels_page_leads_to_it_where_carillon_made_a_secret(browser: Client, ada: User, hook: Channel) -> None:
    assert f'href="/channels/{hook.id}/secret/new/"' in browser.get(f"/channels/{hook.id}/").content.decode()
    inbox = make_channel(ada)
    assert "/secret/new/" not in browser.get(f"/channels/{inbox.id}/").content.decode()


def test_looking_at_the_question_replaces_nothing(browser: Client, hook: Channel) -> None:
    for look in (browser.get, browser.head):
        look(f"/channels/{hook.id}/secret/new/")
    assert fresh(hook).sealed_secrets == hook.sealed_secrets


def test_the_new_secret_is_shown_once_and_both_sign(browser: Client, hook: Channel, receiver: HTTPReceiver) -> None:
    page = press(browser, hook)
    new = secret_in(page)
    until = timezone.now() + timedelta(hours=24)
    assert "Pager has a new secret" in page
    assert f'until <time datetime="{until.isoformat()[:15]}' in page
    assert new not in browser.get(f"/channels/{hook.id}/secret/").content.decode()
    send_now(make_delivery(hook).id)
    [request] = receiver.requests
    assert request.verified(new) == request.verified(OLD)


def test_too_many_within_a_day_are_refused_with_the_time_to_come_back(browser: Client, hook: Channel) -> None:
    for _ in range(changes.MOST_OLD_SECRETS):
        press(browser, hook)
    kept = fresh(hook).sealed_secrets
    page = press(browser, hook)
    assert "5 secrets sign each message already. The oldest expires" in page
    assert fresh(hook).sealed_secrets == kept


def test_a_form_sent_twice_replaces_once(browser: Client, hook: Channel) -> None:
    path = f"/channels/{hook.id}/secret/new/"
    form = {"replaces": browser.get(path).context["replaces"]}
    browser.post(path, form)
    once = fresh(hook).sealed_secrets
    page = browser.post(path, form, follow=True).content.decode()
    assert "Nothing changed this time" in page
    assert secret_in(page) == fresh(hook).destination().secrets["secret"]
    assert fresh(hook).sealed_secrets == once


def test_the_admin_says_who_replaced_it_and_never_the_secret(client: Client, browser: Client, hook: Channel) -> None:
    new = secret_in(press(browser, hook))
    entry = LogEntry.objects.get()
    assert (entry.user.email, entry.object_id, entry.change_message) == (
        "ada@example.org",
        str(hook.id),
        "Replaced the signing secret.",
    )
    client.force_login(make_user(is_staff=True, is_superuser=True), "django.contrib.auth.backends.ModelBackend")
    page = client.get(f"/admin/notifications/channel/{hook.id}/history/").content.decode()
    assert "Replaced the signing secret." in page and new not in page


def test_secrets_that_cannot_be_read_are_said_and_left(browser: Client, hook: Channel) -> None:
    Channel.objects.update(sealed_secrets="written under a key that is not here")
    assert "cannot be read with the configured encryption keys" in press(browser, hook)
    assert fresh(hook).sealed_secrets == "written under a key that is not here"


@pytest.mark.django_db(transaction=True)
def test_of_two_at_once_one_replaces_and_none_is_lost() -> None:
    ada = make_user()
    hook = make_channel(ada, "webhook")
    now = datetime.now(UTC)

    def replace(_: int) -> bool:
        try:
            return changes.replace_secret(hook.id, changes.secret_fingerprint(hook), ada, now)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(replace, range(8))) == [False] * 7 + [True]
    secrets = Channel.objects.get().destination().secrets
    assert secrets["secret"] != OLD
    assert secrets["replaced"].count("whsec_") == 1 and OLD in secrets["replaced"]
