"""The form of a rule and the API accept and refuse the same: one table of inputs goes to both."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils.html import escape
from django.utils.http import urlencode

from events.inputs.rule_form import RuleForm
from events.models import Rule
from events.pure.matching import shown
from events.rules.changes import PLAIN
from notifications.models import Channel
from people.models import User
from tests.db.api.conftest import Api
from tests.db.api.rule_inputs import REFUSED, TAKEN
from tests.make import make_channel, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def own(ada: User) -> dict[str, Channel]:
    return {
        "inbox": make_channel(ada),
        "hook": make_channel(ada, "webhook"),
        "unverified": make_channel(ada, "email", verified_at=None),
        "removed": make_channel(ada, "email", removed_at="2026-06-01T12:00Z"),
        "theirs": make_channel(make_user()),
    }


def whole(own: dict[str, Channel], overrides: dict[str, Any]) -> dict[str, Any]:
    body = {"name": "Orders", "type_pattern": "order.*", "title": "Order", "channel_ids": ["inbox"]} | overrides
    return body | {"channel_ids": [str(own[name].id) if name in own else name for name in body["channel_ids"]]}


def typed(body: dict[str, Any]) -> dict[str, Any]:
    """The same as a browser sends it."""
    fields = {name.replace("channel_ids", "channels"): value for name, value in body.items() if value is not None}
    conditions = fields.pop("conditions", [])
    for part in ("field", "operator", "value"):
        fields[f"conditions_{part}"] = [shown(one[part]) for one in conditions]
    for name in ("throttle_seconds", "digest_seconds"):
        if name in fields:
            fields |= {f"{name}_0": fields.pop(name), f"{name}_1": "1"}
    if fields.pop("in_order", False):
        fields["one_by_one"] = "order"
        fields |= {f"position_{key.replace('-', '')}": number for number, key in enumerate(body["channel_ids"], 1)}
    return fields


def test_the_form_is_sent_as_a_page_sends_it(browser: Client, own: dict[str, Channel]) -> None:
    page = browser.get("/rules/new/").content.decode()
    for name in typed(whole(own, TAKEN[-1] | {"throttle_seconds": 60})):
        assert f'name="{name}"' in page


@pytest.mark.parametrize("overrides", TAKEN, ids=lambda one: str(one)[:60])
def test_both_take_it_and_make_the_same_of_it(
    browser: Client, api: Api, own: dict[str, Channel], overrides: dict[str, Any]
) -> None:
    body = whole(own, overrides)
    by_form = browser.post("/rules/new/", typed(body))
    assert by_form.status_code == 302, by_form.context["form"].errors
    by_api = api.post("/rules", body)
    assert by_api.status_code == 201, by_api.content
    first, second = (
        {name: getattr(rule, name) for name in (*PLAIN, "channel_order", "enabled", "version")}
        | {"channel_ids": {one.id for one in rule.channels.all()}}
        for rule in Rule.objects.order_by("id")
    )
    for rule in (first, second):  # a page sends texts, which equal what reads the same
        rule["conditions"] = [one | {"value": shown(one["value"])} for one in rule["conditions"]]
    assert first == second


@pytest.mark.parametrize(("field", "overrides"), REFUSED, ids=lambda one: str(one)[:60])
def test_both_refuse_it_at_the_same_field_in_the_same_words(
    ada: User, api: Api, own: dict[str, Channel], field: str, overrides: dict[str, Any]
) -> None:
    body = whole(own, overrides)
    errors = RuleForm(QueryDict(urlencode(typed(body), doseq=True)), user=ada).errors
    answer = api.post("/rules", body)
    assert answer.status_code == 422
    told = [(one["field"], one["detail"]) for one in answer.json()["errors"]]
    assert all(one["code"] for one in answer.json()["errors"])
    assert field in {name for name, _ in told}
    names = {"one_by_one": "in_order", "channels": "channel_ids"}
    assert sorted((name.partition(".")[0], text) for name, text in told) == sorted(
        (names.get(name, name), text) for name, texts in errors.items() for text in texts
    )
    for _, text in told:
        assert text in errors.as_text()
    assert not Rule.objects.exists()


def test_the_page_shows_what_is_wrong_at_each_field(browser: Client, own: dict[str, Channel]) -> None:
    wrong = {name: value for _, overrides in REFUSED for name, value in overrides.items()}
    page = browser.post("/rules/new/", typed(whole(own, wrong)))
    errors = page.context["form"].errors
    assert len(errors) >= 10, errors
    for texts in errors.values():
        assert escape(texts[0]) in page.content.decode()
    assert not Rule.objects.exists()


def test_the_table_is_large() -> None:
    assert len(TAKEN) + len(REFUSED) >= 100
