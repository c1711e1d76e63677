"""What an open page asks for again and again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from common.redis import live_wakes
from notifications.deliveries import inbox_state
from notifications.models import Delivery, Notification
from people.models import User
from tests.make import make_channel, make_delivery, make_user, send_now

pytestmark = pytest.mark.django_db


def state(browser: Client) -> dict[str, Any]:
    found: dict[str, Any] = browser.get("/inbox/state/").json()
    del found["changed"], found["at"], found["account"]  # they grow, or differ
    return found


def arrived(user: User, **overrides: Any) -> Delivery:
    inbox = user.channels.filter(provider="inbox").first() or make_channel(user)
    return make_delivery(inbox, **{"state": "delivered", "settled_at": timezone.now(), **overrides})


def test_it_follows_what_arrives_is_read_and_is_answered(browser: Client, ada: User) -> None:
    assert state(browser) == {"unread": 0, "newest": "", "mark": "", "boards": {}}
    message = arrived(ada)
    first = state(browser)
    assert (first["unread"], first["newest"]) == (1, message.settled_at.isoformat())
    browser.get(f"/inbox/{message.id}/")
    assert state(browser) == first | {"unread": 0}
    Notification.objects.update(acknowledged_at=timezone.now())
    answered = state(browser)
    assert answered["mark"] != first["mark"]
    arrived(ada, settled_at=timezone.now() + timedelta(seconds=1))
    assert state(browser)["newest"] > answered["newest"]
    assert state(browser)["mark"] != answered["mark"]


def test_what_a_worker_has_done_wakes_the_open_pages_of_its_person(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    woken: set[int] = set()
    monkeypatch.setattr(live_wakes, "wake", lambda *people: woken.update(people))
    send_now(make_delivery(make_channel(ada)).id)
    assert woken == {ada.pk}


def test_a_change_of_a_person_wakes_their_open_pages(
    browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[int] = []
    monkeypatch.setattr(live_wakes, "wake", woken.append)
    browser.get("/inbox/")
    assert woken == []
    browser.post("/inbox/read/")
    assert woken == [ada.pk]


def test_it_says_how_long_ago_something_changed(browser: Client, ada: User) -> None:
    def changed() -> Any:
        return browser.get("/inbox/state/").json()["changed"]

    assert changed() is None
    hour_ago = timezone.now() - timedelta(hours=1, minutes=1)
    message = arrived(ada, created_at=hour_ago, settled_at=hour_ago)
    assert 3_600 <= changed() < 7_200
    Delivery.objects.filter(id=message.id).update(settled_at=timezone.now() - timedelta(minutes=30))
    assert 600 <= changed() < 3_600
    Notification.objects.update(acknowledged_at=timezone.now())
    assert changed() < 600


def test_what_others_get_changes_nothing(browser: Client, ada: User) -> None:
    arrived(ada)
    before = state(browser)
    arrived(make_user())
    assert state(browser) == before


def test_it_costs_one_statement_beside_the_session_and_the_person(
    browser: Client, ada: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    arrived(ada)
    with django_assert_num_queries(3):
        state(browser)


ROWS = """
INSERT INTO notifications_notification (id, batch_id, user_id, origin, subject, body, outcome)
SELECT gen_random_uuid(), gen_random_uuid(), person, 'api', 'Ferns', '', 'full'
  FROM generate_series(1, 3000), unnest(ARRAY[%(user)s, %(other)s]) person;
INSERT INTO notifications_delivery (id, notification_id, channel_id, provider, state, wakes, tries, replays, settled_at)
SELECT gen_random_uuid(), id, %(channel)s, 'inbox', 'delivered', 0, 1, 0, now()
  FROM notifications_notification WHERE user_id = %(user)s;
ANALYZE notifications_notification, notifications_delivery;
"""


def test_it_reads_no_more_of_thousands_than_it_says(browser: Client, ada: User) -> None:
    channel = make_channel(ada)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # no triggers
        cursor.execute(ROWS, {"user": ada.pk, "other": make_user().pk, "channel": channel.id})
    assert state(browser)["unread"] == inbox_state.MOST_UNREAD
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")  # of a table of one person
        given = {"users": [ada.pk], "most": inbox_state.MOST_UNREAD, "recent": inbox_state._RECENT}
        cursor.execute(f"EXPLAIN {inbox_state._STATES}", given)
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "Seq Scan on" not in plan
    for index in ("delivery_inbox_unread", "delivery_inbox_listed", "notification_history"):
        assert index in plan, plan


def test_signed_out_it_leads_to_sign_in(client: Client) -> None:
    assert client.get("/inbox/state/").status_code == 302


def test_the_worker_and_the_manifest_pass_the_policy(client: Client) -> None:
    script = client.get("/service-worker.js")
    assert (script.status_code, script["Content-Type"]) == (200, "text/javascript; charset=utf-8")
    assert "worker-src 'self'; manifest-src 'self'; media-src 'self'" in script["Content-Security-Policy"]
    assert client.get("/static/manifest.webmanifest")["Content-Type"].startswith("application/manifest+json")


def test_the_footer_says_nothing_of_a_clock_that_runs(browser: Client) -> None:
    page = browser.get("/reminders/").content.decode()
    assert "The scheduler was last seen" not in page
    assert "The scheduler has never run" in page


def test_a_page_that_refreshes_itself_leaves_messages_to_be_read(browser: Client) -> None:
    browser.post("/inbox/read/")
    assert "0 messages marked" not in browser.get("/inbox/", headers={"HX-Request": "true"}).content.decode()
    assert "0 messages marked" in browser.get("/inbox/").content.decode()
