"""The inbox page."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from common.database import paging
from notifications.models import Delivery
from people.models import User
from tests.make import make_channel, make_delivery, make_schedule, make_user

pytestmark = pytest.mark.django_db


def arrived(user: User, **overrides: Any) -> Delivery:
    inbox = user.channels.filter(provider="inbox").first() or make_channel(user)
    return make_delivery(inbox, state="delivered", settled_at="2026-06-01T12:00Z", **overrides)


def unread(browser: Client) -> int:
    return int(str(browser.get("/inbox/").context["unread"]) or 0)


def test_an_empty_inbox_says_so(browser: Client) -> None:
    assert "Your inbox is empty" in browser.get("/inbox/").content.decode()


def test_only_what_was_delivered_to_the_own_inbox_is_shown(browser: Client, ada: User) -> None:
    message = arrived(ada)
    arrived(make_user())
    make_delivery(message.channel)
    make_delivery(make_channel(ada, "email"), state="delivered", settled_at="2026-06-01T12:00Z")
    assert [row.id for row in browser.get("/inbox/").context["page"].rows] == [message.id]


def test_the_number_of_unread_messages_stands_on_every_page(browser: Client, ada: User) -> None:
    arrived(ada)
    arrived(ada)
    assert ", 2 unread" in browser.get("/reminders/").content.decode()


def test_opening_a_message_marks_it_as_read(browser: Client, ada: User) -> None:
    message, _ = arrived(ada, body="Look at https://example.org <now>"), arrived(ada)
    page = browser.get(f"/inbox/{message.id}/").content.decode()
    assert '<a href="https://example.org"' in page
    assert "&lt;now&gt;" in page
    assert unread(browser) == 1


def test_a_message_is_done_or_snoozed_in_the_list(browser: Client, ada: User) -> None:
    message = arrived(ada)
    path = f"/history/{message.notification_id}/answer/"
    assert path in browser.get("/inbox/").content.decode()
    answer = browser.post(path, {"answer": "acknowledge", "list": ""})
    assert (answer.status_code, answer["Location"]) == (302, f"/inbox/?done={message.notification_id}")
    assert path not in browser.get("/inbox/").content.decode()
    assert unread(browser) == 0


def test_a_zone_that_is_only_an_offset_has_times_to_snooze_to(browser: Client, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(time_zone="Etc/GMT-8")
    message = arrived(ada)
    schedule = make_schedule(ada, [message.channel], next_fire_at=timezone.now() + timedelta(days=1))
    assert "Tomorrow, 08:00" in browser.get(f"/inbox/{message.id}/").content.decode()
    browser.post(f"/reminders/{schedule.id}/snooze/", {"answer": "tomorrow"})
    schedule.refresh_from_db()
    assert schedule.snoozed_until is not None
    assert schedule.snoozed_until.astimezone(UTC).hour == 0  # 08:00 there


def test_all_are_marked_as_read_at_once_but_only_ones_own(browser: Client, ada: User) -> None:
    arrived(ada)
    arrived(ada)
    other = arrived(make_user())
    browser.post("/inbox/read/")
    assert unread(browser) == 0
    other.refresh_from_db()
    assert other.read_at is None


def test_search_and_unread_narrow_it(browser: Client, ada: User) -> None:
    rent, plants = arrived(ada, subject="Rent"), arrived(ada, subject="Plants", read_at="2026-06-01T12:00Z")
    for query, expected in (("?q=pla", plants), ("?unread=1", rent)):
        assert [row.id for row in browser.get(f"/inbox/{query}").context["page"].rows] == [expected.id]


def test_a_message_stands_where_it_arrived_not_where_it_was_recorded(browser: Client, ada: User) -> None:
    snoozed, prompt = arrived(ada), arrived(ada)
    Delivery.objects.filter(id=snoozed.id).update(settled_at="2026-06-01T18:00Z")
    assert [row.id for row in browser.get("/inbox/").context["page"].rows] == [snoozed.id, prompt.id]


def test_the_pages_show_each_message_once_forth_and_back(browser: Client, ada: User) -> None:
    messages = [arrived(ada).id for _ in range(60)]
    Delivery.objects.filter(id__in=messages[:20]).update(settled_at="2026-06-01T18:00Z")
    expected = [*reversed(messages[:20]), *reversed(messages[20:])]
    forth = browser.get("/inbox/").context["page"]
    pages = [forth]
    while forth.older:
        forth = browser.get(f"/inbox/{forth.older}").context["page"]
        pages.append(forth)
    assert [row.id for page in pages for row in page.rows] == expected
    back = browser.get(f"/inbox/{pages[-1].newer}").context["page"]
    assert [row.id for row in back.rows] == expected[25:50]


def test_a_search_looks_at_some_messages_and_leads_on(
    browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "WINDOW", 3)
    rent = arrived(ada, subject="Rent")
    for _ in range(6):
        arrived(ada)
    found, link, pages = [], "?q=rent", 0
    while link:
        answer = browser.get(f"/inbox/{link}")
        page, pages = answer.context["page"], pages + 1
        assert page.older == "" or 'rel="next"' in answer.content.decode()
        found += [row.id for row in page.rows]
        link = page.older
    assert (found, pages) == ([rent.id], 3)


@pytest.mark.parametrize("place", ["x", "2026-06-01", "2026-06-01T18:00,x", "2026-06-01T18:00,%s", ",%s", "%s"])
def test_a_place_that_is_none_shows_the_newest(browser: Client, ada: User, place: str) -> None:
    message = arrived(ada)
    query = {"before": place.replace("%s", str(message.id))}
    assert [row.id for row in browser.get("/inbox/", query).context["page"].rows] == [message.id]


MANY = """
INSERT INTO notifications_notification (id, batch_id, user_id, origin, subject, body, outcome)
SELECT uuidv7(), gen_random_uuid(), %(user)s, 'api', 'Ferns', 'All of them.', 'full' FROM generate_series(1, 5000);
INSERT INTO notifications_delivery (id, notification_id, channel_id, provider, state, wakes, tries, replays, settled_at)
SELECT uuidv7(), id, %(channel)s, 'inbox', 'delivered', 0, 1, 0, now() FROM notifications_notification;
ANALYZE notifications_notification, notifications_delivery;
"""


def test_5000_unread_cost_no_more_than_a_few(
    browser: Client, ada: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    inbox = make_channel(ada)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(MANY, {"user": ada.pk, "channel": inbox.id})
    with django_assert_num_queries(7):
        page = browser.get("/inbox/")
    assert len(page.context["page"].rows) == 25
    assert page.content.decode().count('class="row unread"') == 25
    assert ", 999+ unread" in page.content.decode()
    assert len(page.content) < 30_000
    with django_assert_num_queries(3):  # the session, the person, and all of them
        browser.post("/inbox/read/")
    assert unread(browser) == 0
    assert not Delivery.objects.filter(read_at=None).exists()


def test_an_archived_message_leaves_the_list_and_can_be_put_back(browser: Client, ada: User) -> None:
    message = arrived(ada, subject="Pay <rent>")
    page = browser.post(f"/inbox/{message.id}/archive/", follow=True)
    assert "“Pay &lt;rent&gt;” is archived. You find it under “Archived”." in page.content.decode()
    assert (page.context["page"].rows, unread(browser)) == ([], 0)
    assert 'name="archived"' in page.content.decode()  # the way to it, though nothing else is there
    assert [row.id for row in browser.get("/inbox/?archived=1").context["page"].rows] == [message.id]
    assert "Move back to the inbox" in browser.get(f"/inbox/{message.id}/").content.decode()
    back = browser.post(f"/inbox/{message.id}/archive/", {"back": ""}, follow=True)
    assert [row.id for row in back.context["page"].rows] == [message.id]


def test_nobody_archives_the_messages_of_others(browser: Client) -> None:
    message = arrived(make_user())
    assert browser.post(f"/inbox/{message.id}/archive/").status_code == 404
    message.refresh_from_db()
    assert message.archived_at is None
