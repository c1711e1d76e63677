"""The preview of a rule on a past event or on pasted data, while it is typed."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from events.models import Effect
from notifications.models import Notification
from people.models import User
from tests.db.events.web.test_rule_form import rows
from tests.make import happen, make_channel, make_rule, make_user


def preview(browser: Client, **fields: Any) -> Any:
    given = {"type_pattern": "order.*", "title": "Order {data.order_id}", "body": ""} | fields
    answer = browser.post("/rules/preview/", given)
    assert answer.status_code == 200
    return answer


def test_it_takes_the_last_event_that_fits_and_says_what_would_be_sent(browser: Client, ada: User) -> None:
    happen(ada, data={"order_id": 1})
    happen(ada, data={"order_id": 2})
    happen(ada, type="bill.sent")
    channel = make_channel(ada, "telegram")
    answer = preview(browser, channels=[str(channel.id)], body="x")
    assert [event.type for event in answer.context["events"]] == ["order.paid"] * 2
    assert answer.context["outcome"].rings
    assert answer.context["reading"].subject == "Order 2"
    assert [one.channel_id for one in answer.context["reading"].lengths] == [channel.id]
    assert not Notification.objects.exists()
    assert not Effect.objects.exists()


def test_no_value_of_an_event_becomes_bold_or_a_link(browser: Client, ada: User) -> None:
    happen(ada, data={"order_id": "**1** [pay](https://evil.example)"})
    answer = preview(browser, channels=[str(make_channel(ada).id)], body="**Order** {data.order_id}")
    page = answer.context["reading"].page
    assert page.count("<strong>") == 1 and ">pay<" not in page
    assert answer.context["reading"].subject == "Order **1** [pay](https://evil.example)"


def test_another_event_can_be_chosen(browser: Client, ada: User) -> None:
    first = happen(ada, data={"order_id": 1})
    happen(ada, data={"order_id": 2})
    bill = happen(ada, type="bill.sent", data={"order_id": 3})
    assert preview(browser, event=str(first.key)).context["reading"].subject == "Order 1"
    chosen = preview(browser, event=str(bill.key)).context
    assert chosen["chosen"] == bill
    assert not chosen["outcome"].fits_type


def test_it_says_which_conditions_hold_and_which_fields_are_missing(browser: Client, ada: User) -> None:
    happen(ada, data={"amount": 99})
    conditions = rows(("data.amount", "above", "100"), ("data.vip", "exists", ""), ("data.amount", "below", "100"))
    answer = preview(browser, source="shop", **conditions)
    assert [reason and reason.code for _, reason in answer.context["checks"]] == ["unmet", "missing-field", None]
    assert answer.context["outcome"].missing == ["data.order_id"]
    assert not answer.context["outcome"].rings
    assert "The event has no field data.vip." in answer.content.decode()


def test_it_names_the_channels_in_their_order(browser: Client, ada: User) -> None:
    happen(ada)
    first, second = make_channel(ada, label="First"), make_channel(ada, "telegram", label="Second")
    chosen = {"channels": [str(first.id), str(second.id)], "one_by_one": "order", f"position_{second.id.hex}": "1"}
    assert preview(browser, **chosen).context["channels"] == "Second, then First"
    assert preview(browser).context["channels"] == ""


def test_it_says_that_a_digest_gathers(browser: Client, ada: User) -> None:
    happen(ada)
    assert preview(browser, digest_seconds_0="1", digest_seconds_1="3600").context["gathers"] == 3_600
    assert not preview(browser, digest_seconds_0="x", digest_seconds_1="3600").context["gathers"]


def test_it_offers_the_fields_of_the_event(browser: Client, ada: User) -> None:
    happen(ada, data={"amount": 1, "customer": {"name": "<b>"}, "not a name": 2})
    page = preview(browser).content.decode()
    assert "{data.customer.name}" in page and "&lt;b&gt;" in page
    assert '<option value="data.amount">' in page
    assert "not a name" not in page


@pytest.mark.parametrize(
    ("sample", "subject"),
    [
        ('{"order_id": 7}', "Order 7"),
        ('{"type": "order.sent", "data": {"order_id": 8}}', "Order 8"),
        ('{"type": 5, "order_id": 9}', "Order 9"),
        ('{"type": "premium", "order_id": 10}', "Order 10"),
        ('{"data": {"order_id": 11}}', "Order 11"),
    ],
)
def test_pasted_json_is_an_event_or_its_data(browser: Client, sample: str, subject: str) -> None:
    answer = preview(browser, sample=sample)
    assert answer.context["reading"].subject == subject
    assert answer.context["outcome"].rings


@pytest.mark.parametrize(
    "sample",
    [
        "order",
        "{",
        "[1]",
        "5",
        "9" * 5_000,
        '{"type": "order.paid", "data": [1]}',
        '{"type": "order.paid", "data": null}',
        '{"type": "Order paid", "data": {}}',
        '{"type": 5, "data": {}}',
        '{"type": "order.paid", "source": 5}',
        '{"type": "order.paid", "data": {}, "colour": "red"}',
        '{"data": 5}',
        '{"x": "\\ud800"}',
        "[" * 5_000 + "]" * 5_000,
        '{"a":' * 600 + "1" + "}" * 600,
        '{"a": "' + "x" * 140_000 + '"}',
    ],
    ids=lambda one: one[:20],
)
def test_what_cannot_be_read_is_said_and_not_tried(browser: Client, sample: str) -> None:
    answer = preview(browser, sample=sample)
    assert answer.context["problem"]
    assert answer.context["outcome"] is None


def test_what_cannot_be_read_is_said_in_the_readers_language(browser: Client, ada: User) -> None:
    samples = ("[1]", "{", "x" * 140_000, '{"data": 5}', '{"type": 5, "data": {}}', '{"type": "A", "data": {}}')

    def problems() -> set[str]:
        return {preview(browser, sample=sample).context["problem"] for sample in samples}

    english = problems()
    User.objects.filter(pk=ada.pk).update(language="de")
    assert len(english) == len(samples) and english.isdisjoint(problems())


def test_errors_are_shown_at_fields_with_a_value_and_empty_fields_are_no_errors(browser: Client, ada: User) -> None:
    happen(ada)
    answer = preview(browser, type_pattern="Order", title="", **rows(("amount", "above", ""), ("", "equals", "")))
    assert set(answer.context["fields"]) == {"type_pattern"}
    assert [set(row.errors) for row in answer.context["rows"]] == [{"field"}, set()]
    assert answer.context["reading"] is None


def test_without_any_event_it_says_so(browser: Client) -> None:
    answer = preview(browser)
    assert (answer.context["outcome"], answer.context["problem"]) == (None, "")


def test_it_knows_nothing_of_anothers_events_rules_and_channels(browser: Client) -> None:
    bob = make_user()
    theirs, rule = happen(bob, data={"order_id": "secret"}), make_rule(bob)
    channel = make_channel(bob, "telegram", label="Secret")
    answer = browser.post(
        f"/rules/preview/?of={rule.id}",
        {"type_pattern": "*", "title": "{data.order_id}", "event": str(theirs.key), "channels": [str(channel.id)]},
    )
    assert answer.context["events"] == []
    assert "ecret" not in answer.content.decode()


@pytest.mark.parametrize("pattern", ["order.paid", "order.*", "*", "nonsense", ""])
def test_it_takes_as_many_statements_with_many_events(browser: Client, ada: User, pattern: str) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            preview(browser, type_pattern=pattern)
        return len(captured)

    make_channel(ada)
    happen(ada)
    statements()
    few = statements()
    for _ in range(9):
        happen(ada)
    assert statements() == few <= 10
