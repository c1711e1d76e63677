"""The form of a rule: made, edited beside others, rows of conditions, prefilled from an event."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from pytest_django import Settings

from common.uuid7 import first_of, uuid7
from events.inputs.rule_form import RuleForm
from events.models import Rule
from people.models import User
from tests.make import happen, make_channel, make_rule, make_user


def typed(user: User, **fields: Any) -> dict[str, Any]:
    channel = user.channels.first() or make_channel(user)
    whole = {"name": "Orders", "type_pattern": "order.*", "title": "Order", "channels": [str(channel.id)]}
    return whole | fields


def rows(*conditions: tuple[str, str, str]) -> dict[str, list[str]]:
    parts = ("conditions_field", "conditions_operator", "conditions_value")
    return {part: [one[number] for one in conditions] for number, part in enumerate(parts)}


def form_of(answer: Any) -> RuleForm:
    form: RuleForm = answer.context["form"]
    return form


def test_a_rule_is_made_in_the_form_and_rings(browser: Client, ada: User) -> None:
    conditions = rows(("data.amount", "above", "100"), ("", "equals", " "), ("data.vip", "exists", ""))
    page = browser.post("/rules/new/", typed(ada, title="{data.order_id}", **conditions), follow=True)
    rule = Rule.objects.get()
    assert page.redirect_chain[-1][0] == f"/rules/{rule.id}/"
    assert [one["field"] for one in rule.conditions] == ["data.amount", "data.vip"]
    assert happen(ada, data={"amount": 101, "vip": 1, "order_id": 7}).effects.get().outcome == "notified"


def test_a_step_whose_title_is_too_long_is_refused_in_words_of_steps(ada: User) -> None:
    form = RuleForm(typed(ada, series=f"3 days | {'T' * 300} | Tell us."), user=ada)
    assert form.errors["series"] == ["A title has at most 200 characters."]


def test_the_same_form_twice_makes_one_rule(browser: Client, ada: User) -> None:
    sent = typed(ada, made_as=str(uuid7()))
    assert browser.post("/rules/new/", sent)["Location"] == browser.post("/rules/new/", sent)["Location"]
    assert Rule.objects.count() == 1


def test_a_form_that_was_open_for_days_is_asked_again(browser: Client, ada: User) -> None:
    old = first_of(datetime.now(UTC) - timedelta(days=2))
    form = form_of(browser.post("/rules/new/", typed(ada, made_as=str(old))))
    assert form.non_field_errors()
    assert form["made_as"].value() != str(old)


def test_an_edit_begins_with_what_is_stored_and_changes_it(browser: Client, ada: User) -> None:
    first, second = make_channel(ada), make_channel(ada, "webhook")
    rule = make_rule(
        ada,
        channels=[first, second],
        channel_order=[second.id, first.id],
        escalate_after=5,
        throttle_count=2,
        throttle_seconds=7_200,
        digest_at="09:30",
        digest_key="data.customer",
    )
    form = form_of(browser.get(f"/rules/{rule.id}/edit/"))
    shown = {name: form[name].value() for name in ("name", "one_by_one", "escalate_after", "digest_key", "version")}
    assert shown == {
        "name": "Big orders",
        "one_by_one": "order",
        "escalate_after": 5,
        "digest_key": "data.customer",
        "version": 1,
    }
    assert [field.value() for field in form.positions()] == [2, 1]
    assert [row.values.get("field") for row in form.condition_rows()] == ["data.amount", None]
    page = str(form["throttle_seconds"])
    assert 'value="2"' in page and '<option value="3600" selected>' in page
    assert 'value="09:30"' in str(form["digest_at"])
    changed = typed(ada, version="1", throttle_count="1", throttle_seconds_0="90", throttle_seconds_1="60")
    assert browser.post(f"/rules/{rule.id}/edit/", changed)["Location"] == f"/rules/{rule.id}/"
    rule.refresh_from_db()
    assert (rule.throttle_seconds, rule.digest_at, rule.channel_order, rule.version) == (5_400, None, [], 2)


def test_the_number_of_a_condition_stays_one_where_the_page_does_not_change_it(browser: Client, ada: User) -> None:
    rule = make_rule(ada)
    for version, value, stored in (("1", "100", 100), ("2", "200", "200")):
        sent = typed(ada, name=value, version=version, **rows(("data.amount", "above", value)))
        assert browser.post(f"/rules/{rule.id}/edit/", sent).status_code == 302
        rule.refresh_from_db()
        assert rule.conditions == [{"field": "data.amount", "operator": "above", "value": stored}]


def test_a_change_by_somebody_else_is_shown_beside_ones_own_and_can_be_overwritten(browser: Client, ada: User) -> None:
    rule = make_rule(ada)
    browser.post(f"/rules/{rule.id}/edit/", typed(ada, name="Theirs", version="1"))
    late = browser.post(f"/rules/{rule.id}/edit/", typed(ada, name="Mine", version="1"))
    assert late.status_code == 409
    assert ("Name", "Theirs", "Mine") in late.context["differences"]
    rule.refresh_from_db()
    assert (rule.name, form_of(late)["version"].value()) == ("Theirs", "2")
    assert browser.post(f"/rules/{rule.id}/edit/", typed(ada, name="Mine", version="2")).status_code == 302


def test_a_rule_that_was_deleted_meanwhile_is_not_found(browser: Client, ada: User) -> None:
    rule = make_rule(ada, deleted_at="2026-06-01T12:00Z")
    assert browser.post(f"/rules/{rule.id}/edit/", typed(ada, version="1")).status_code == 404


def test_rows_of_conditions_are_added_and_removed_without_a_script_and_nothing_is_saved(
    browser: Client, ada: User
) -> None:
    conditions = rows(("data.a", "above", "x"), ("data.b", "equals", "2"), ("data.c", "exists", ""))
    written = typed(ada, name="", channels=[], throttle_seconds_0="5", throttle_seconds_1="60", **conditions)
    for button, left in (
        ({"add_condition": ""}, ["data.a", "data.b", "data.c"]),
        ({"remove_condition": "1"}, ["data.a", "data.c"]),
        ({"remove_condition": "99"}, ["data.a", "data.b", "data.c"]),
        ({"remove_condition": "x"}, ["data.a", "data.b", "data.c"]),
    ):
        answer = browser.post("/rules/new/", written | button)
        form = form_of(answer)
        assert [row.values.get("field") for row in form.condition_rows()] == [*left, None]
        assert not form.errors
        assert form["title"].value() == "Order"
        assert form["channels"].value() == []
        assert 'value="5"' in str(form["throttle_seconds"])
    assert not Rule.objects.exists()


def test_there_is_no_empty_row_past_the_limit(browser: Client, ada: User) -> None:
    full = rows(*[(f"data.f{number}", "exists", "") for number in range(20)])
    form = form_of(browser.post("/rules/new/", typed(ada, add_condition="", **full)))
    assert len(form.condition_rows()) == 20


def test_errors_stand_at_their_row(browser: Client, ada: User) -> None:
    conditions = rows(("data.a", "exists", ""), ("", "", ""), ("amount", "above", "x"))
    form = form_of(browser.post("/rules/new/", typed(ada, **conditions)))
    assert [sorted(row.errors) for row in form.condition_rows()] == [[], [], ["field", "value"], []]
    assert form.condition_errors() == []


def test_too_many_conditions_are_refused_as_a_whole(browser: Client, ada: User) -> None:
    form = form_of(browser.post("/rules/new/", typed(ada, **rows(*[("data.x", "exists", "")] * 100))))
    assert len(form.condition_errors()) == 1
    assert "100" in form.condition_errors()[0]


@pytest.mark.parametrize("unit", ["", "59", "x"])
def test_a_unit_that_there_is_not_is_refused(browser: Client, ada: User, unit: str) -> None:
    sent = typed(ada, throttle_count="1", throttle_seconds_0="1", throttle_seconds_1=unit)
    assert "throttle_seconds" in form_of(browser.post("/rules/new/", sent)).errors


def test_a_new_rule_begins_with_an_event_of_ones_own(browser: Client, ada: User) -> None:
    event = happen(ada, type="billing.failed", data={"invoice": "A-17", "customer": {"name": "Grace"}, "two words": 1})
    form = form_of(browser.get(f"/rules/new/?event={event.key}"))
    assert (form["type_pattern"].value(), form["name"].value()) == ("billing.failed", "billing.failed")
    assert form["body"].value() == "invoice: {data.invoice}\ncustomer.name: {data.customer.name}"
    theirs = happen(make_user())
    for key in (theirs.key, uuid4(), "x"):
        assert form_of(browser.get(f"/rules/new/?event={key}"))["type_pattern"].value() is None


def test_the_types_that_came_lately_and_those_of_carillon_are_offered(browser: Client, ada: User) -> None:
    happen(ada, type="billing.failed")
    happen(make_user(), type="secret.shared")
    offered = browser.get("/rules/new/").context["types"]
    assert {"billing.failed", "delivery.dead"} <= set(offered)
    assert "secret.shared" not in offered


def test_a_rule_past_the_limit_is_refused_at_the_form_and_kept(browser: Client, ada: User, settings: Settings) -> None:
    settings.MOST_RULES = 1
    rule = make_rule(ada)
    answer = browser.post("/rules/new/", typed(ada, name="One too many"))
    assert form_of(answer).non_field_errors()
    assert "One too many" in answer.content.decode()
    assert browser.post(f"/rules/{rule.id}/edit/", typed(ada, version="1")).status_code == 302
