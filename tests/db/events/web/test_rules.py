"""The pages of rules: the list, one rule with what it made of events, its buttons."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from events.intake import ledger
from events.models import Effect, Event, Rule
from events.pure.envelope import Envelope
from notifications.models import Delivery, Notification
from people.models import User
from tests.make import NOON, happen, make_channel, make_rule, make_user, signed_in


def test_the_list_says_what_each_listens_to_and_whether_it_rang(browser: Client, ada: User) -> None:
    make_rule(ada, name="Any", type_pattern="*", source="shop", conditions=[])
    make_rule(ada, name="Off", enabled=False)
    make_rule(make_user(), name="Theirs")
    happen(ada)
    rows = browser.get("/rules/").context["rows"]
    assert [(row["rule"].name, row["listens_to"], row["rule"].sent_at is None) for row in rows] == [
        ("Off", "order.*", True),
        ("Any", "any event from shop", False),
    ]


def test_the_empty_list_leads_to_tokens_and_to_a_first_rule(browser: Client) -> None:
    page = browser.get("/rules/").content.decode()
    assert 'href="/settings/#tokens"' in page
    assert page.count('href="/rules/new/"') == 2


def test_one_rule_shows_what_it_made_of_events_and_why(browser: Client, ada: User) -> None:
    rule = make_rule(ada)
    rang, silent = happen(ada), happen(ada, data={"amount": 99})
    page = browser.get(f"/rules/{rule.id}/").content.decode()
    [said] = Notification.objects.filter(user=ada)
    assert f'href="/history/{said.id}/"' in page
    assert f"?event={rang.id}" in page and f"?event={silent.id}" in page
    assert "data.amount is 99" in page
    said.delete()
    assert "/history/0" not in browser.get(f"/rules/{rule.id}/").content.decode()


@pytest.mark.parametrize(
    ("marks", "state"),
    [
        ({"disabled_at": NOON}, "disabled"),
        ({"verified_at": None}, "unverified"),
        ({"failing_since": NOON}, "failing"),
    ],
)
def test_one_rule_shows_the_state_of_its_channels(browser: Client, ada: User, marks: Any, state: str) -> None:
    rule = make_rule(ada, channels=[make_channel(ada, "webhook", **marks)])
    assert f'class="state {state}"' in browser.get(f"/rules/{rule.id}/").content.decode()


@pytest.mark.parametrize("conditions", [[{"field": 3}], "none", [None], {"a": 1}, [{"operator": "above"}]])
def test_damaged_conditions_break_no_page(browser: Client, ada: User, conditions: Any) -> None:
    rule = make_rule(ada, conditions=conditions)
    for path in ("/rules/", f"/rules/{rule.id}/", f"/rules/{rule.id}/edit/"):
        assert browser.get(path).status_code == 200
    assert "damaged" in browser.get(f"/rules/{rule.id}/").content.decode()


def test_a_rule_is_switched_off_and_on_from_its_page_and_from_the_list(browser: Client, ada: User) -> None:
    rule = make_rule(ada)
    happen(ada)
    assert browser.post(f"/rules/{rule.id}/disable/")["Location"] == f"/rules/{rule.id}/"
    assert Delivery.objects.get().state == "cancelled"
    assert not happen(ada).effects.exists()
    assert browser.post(f"/rules/{rule.id}/enable/", {"list": ""})["Location"] == "/rules/"
    assert happen(ada).effects.get().outcome == "notified"


def test_deleting_can_be_undone(browser: Client, ada: User) -> None:
    rule = make_rule(ada)
    listed = browser.post(f"/rules/{rule.id}/delete/", follow=True)
    assert f'action="/rules/{rule.id}/restore/"' in listed.content.decode()
    assert browser.get(f"/rules/{rule.id}/").status_code == 404
    assert not happen(ada).effects.exists()
    browser.post(f"/rules/{rule.id}/restore/")
    assert happen(ada).effects.get().outcome == "notified"


def test_nothing_is_restored_past_the_limit(browser: Client, ada: User, settings: Settings) -> None:
    settings.MOST_RULES = 1
    gone = make_rule(ada, deleted_at="2026-06-01T12:00Z")
    make_rule(ada)
    assert "as many as one person may have" in browser.post(f"/rules/{gone.id}/restore/", follow=True).content.decode()
    assert Rule.objects.for_user(ada).count() == 1


def test_user_text_is_shown_as_data(browser: Client, ada: User) -> None:
    rule = make_rule(ada, name="<b>x</b>", title="{% now 'Y' %}<i>", source="<u>", conditions=[], channels=[])
    happen(ada, source="<u>", data={"<s>": "<s>"})
    for path in ("/rules/", f"/rules/{rule.id}/", f"/rules/{rule.id}/edit/"):
        page = browser.get(path).content.decode()
        assert "<b>x" not in page and "<u>" not in page and "<s>" not in page and "<i>" not in page


def test_staff_read_and_switch_rules_in_the_admin(ada: User) -> None:
    operator = signed_in(is_staff=True, is_superuser=True)
    rule = make_rule(ada, channels=[make_channel(ada)])
    happen(ada)
    happen(ada, data={})
    listed = operator.get("/admin/events/rule/", {"q": ada.email})
    assert [row.id for row in listed.context["cl"].result_list] == [rule.id]
    page = operator.get(f"/admin/events/rule/{rule.id}/change/").content.decode()
    assert "data.amount is above 100" in page and "The event has no field data.amount." in page
    for action, enabled in (("switch_off", False), ("switch_on", True)):
        operator.post("/admin/events/rule/", {"action": action, "_selected_action": [str(rule.id)]})
        assert Rule.objects.get().enabled is enabled


def test_the_admin_page_of_a_rule_counts_no_more_than_its_newest_effects(ada: User) -> None:
    operator = signed_in(is_staff=True, is_superuser=True)
    rule = make_rule(ada)
    page = f"/admin/events/rule/{rule.id}/change/"
    ledger.record(ada.pk, [Envelope("order.paid") for _ in range(110)])
    Effect.objects.bulk_create(Effect(event=event, rule=rule, outcome="silent") for event in Event.objects.all())
    operator.get(page)
    with CaptureQueriesContext(connection) as captured:
        assert operator.get(page).status_code == 200
    assert len(captured) <= 12
    counts = [query["sql"] for query in captured if "COUNT(*)" in query["sql"]]
    assert counts
    assert all("LIMIT 100" in sql for sql in counts)
