"""The history: everything that went out, found again, and explained."""

from __future__ import annotations

import pytest
from django.test import Client

from notifications.models import Delivery, Notification
from people.models import User
from tests.make import make_channel, make_delivery, settle, taken

pytestmark = pytest.mark.django_db


def subjects(browser: Client, query: str = "") -> list[str]:
    return [said.subject for said in browser.get(f"/history/{query}").context["page"].rows]


def test_an_empty_history_says_what_will_stand_here(browser: Client) -> None:
    assert "Nothing has been sent yet" in browser.get("/history/").content.decode()


def test_newest_first_in_pages_of_25_with_stable_links(browser: Client, ada: User) -> None:
    channel = make_channel(ada)
    for number in range(60):
        make_delivery(channel, subject=f"{number}")
    ids = [str(said.subject) for said in Notification.objects.order_by("-id")]
    first = browser.get("/history/").context["page"]
    assert [said.subject for said in first.rows] == ids[:25]
    assert first.newer == ""
    second = browser.get(f"/history/{first.older}").context["page"]
    third = browser.get(f"/history/{second.older}").context["page"]
    assert [said.subject for said in (*second.rows, *third.rows)] == ids[25:]
    assert third.older == ""
    assert subjects(browser, third.newer) == ids[25:50]
    make_delivery(channel, subject="new")
    assert subjects(browser, first.older) == ids[25:50]


def test_search_and_state_narrow_it(browser: Client, ada: User) -> None:
    channel = make_channel(ada)
    make_delivery(channel, subject="Rent", state="dead", settled_at="2026-06-01T12:00Z")
    make_delivery(channel, subject="Plants")
    assert subjects(browser, "?q=ren") == ["Rent"]
    assert subjects(browser, "?state=failed") == ["Rent"]
    assert subjects(browser, "?state=open") == ["Plants"]
    assert subjects(browser, "?state=odd&before=x&reminder=x&q=%00") == ["Plants", "Rent"]


def test_a_failure_is_explained_in_words_with_its_attempts(browser: Client, ada: User) -> None:
    delivery = make_delivery(make_channel(ada, "webhook"))
    settle(taken(delivery.id, "host:1"), "dead", "The receiver answered 404 Not Found.")
    assert "The receiver answered 404 Not Found." in browser.get("/history/").content.decode()
    page = browser.get(f"/history/{delivery.notification_id}/").content.decode()
    assert "The receiver answered 404 Not Found. Carillon does not retry it." in page
    assert "rejected" in page
    assert str(delivery.id) in page


@pytest.mark.parametrize("state", Delivery.State.values)
def test_each_state_is_explained(browser: Client, ada: User, state: str) -> None:
    fields: dict[str, object] = {"state": state, "reason": "Because."}
    if state == "sending":
        fields |= {"lease_token": "0" * 32, "lease_until": "2026-06-01T12:00Z"}
    elif state != "pending":
        fields["settled_at"] = "2026-06-01T12:00Z"
    delivery = make_delivery(make_channel(ada), **fields)
    said = {"sending": "Being sent.", "delivered": "Accepted"}
    assert said.get(state, "Because.") in browser.get(f"/history/{delivery.notification_id}/").content.decode()


def test_what_waits_for_nothing_in_particular_says_just_that(browser: Client, ada: User) -> None:
    delivery = make_delivery(make_channel(ada))
    assert "Waiting to be sent." in browser.get(f"/history/{delivery.notification_id}/").content.decode()


def test_a_removed_channel_keeps_its_history(browser: Client, ada: User) -> None:
    delivery = make_delivery(make_channel(ada, label="Old phone", removed_at="2026-06-01T12:00Z"))
    assert "Old phone" in browser.get(f"/history/{delivery.notification_id}/").content.decode()
