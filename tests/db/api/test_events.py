"""Events over the API: published, refused, read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from api.resources import events
from events.kinds.event import EVENT
from events.models import Event, Topic
from jobs.batches import audiences
from jobs.batches.kind import BATCH
from jobs.models import Batch
from notifications.models import Notification
from people.models import User
from tests.db.api.conftest import Api, wrong_fields
from tests.db.events.test_digests import make_digest_rule, send
from tests.make import happen, make_channel, make_rule, make_user, signed_in
from work.engine import runner

pytestmark = pytest.mark.django_db

PAID: dict[str, Any] = {"type": "order.paid", "source": "shop", "data": {"order_id": 7, "amount": 120}}


def test_an_event_is_taken_and_shows_what_followed(api: Api, ada: User) -> None:
    rule, key = make_rule(ada), str(uuid4())
    taken = api.post("/events", PAID | {"id": key, "occurred_at": "2026-03-29T18:00:00+02:00"})
    assert (taken.status_code, taken.json()) == (202, {"items": [{"id": key, "new": True}]})
    runner.run(EVENT, Event.objects.get().id, "worker")
    found = api.get(f"/events/{key}").json()
    assert (found["id"], found["state"], found["occurred_at"]) == (key, "handled", "2026-03-29T16:00:00Z")
    assert found["correlation_id"] == key
    [effect] = found["effects"]
    assert (effect["rule_id"], effect["outcome"]) == (str(rule.id), "notified")
    notification = api.get(f"/notifications/{effect['notification_id']}").json()
    assert (notification["title"], notification["origin"], notification["schedule_id"]) == ("Order 7", "event", None)
    assert [one["id"] for one in api.get("/events?type=order.paid").json()["items"]] == [key]


def test_an_event_that_waits_in_a_digest_says_until_when(api: Api, ada: User) -> None:
    make_digest_rule(ada)
    key = str(happen(ada).key)
    [effect] = api.get(f"/events/{key}").json()["effects"]
    assert (effect["outcome"], effect["notification_id"]) == ("digested", None)
    assert (effect["digest"]["state"], effect["digest"]["count"]) == ("pending", 1)
    send()
    [effect] = api.get(f"/events/{key}").json()["effects"]
    assert effect["digest"]["state"] == "sent"
    assert api.get(f"/notifications/{effect['notification_id']}").json()["title"] == "Order 7"


def test_the_same_id_again_answers_that_it_is_not_new(api: Api) -> None:
    key = str(uuid4())
    answers = [api.post("/events", PAID | {"id": key}) for _ in range(3)]
    assert [(one.status_code, one.json()["items"][0]["new"]) for one in answers] == [(202, True)] + 2 * [(202, False)]
    assert Event.objects.count() == 1


@pytest.mark.parametrize("key", ["7", "x" * 255, "Bücher 7/8", "../b?c#d%20", "6B1D4F0E-x", " "])
def test_an_id_is_any_text(api: Api, ada: User, key: str) -> None:
    rule = make_rule(ada)
    [sent] = api.post("/events", PAID | {"id": key}).json()["items"]
    assert sent == {"id": key, "new": True}
    event = Event.objects.get()
    runner.run(EVENT, event.id, "worker")
    path = f"/events/{quote(key, safe='')}"
    found = api.get(path).json()
    assert (found["id"], found["correlation_id"], len(found["effects"])) == (key, str(event.id), 1)
    assert api.get(f"/trace/{event.id}").json()["items"][0]["id"] == key
    assert signed_in(ada).get(f"/events/{event.id}").status_code == 200
    preview = {"rule": api.get(f"/rules/{rule.id}").json(), "event_id": key}
    preview["rule"] = {name: preview["rule"][name] for name in ("name", "type_pattern", "title", "channel_ids")}
    assert api.post("/rules/preview", preview).json()["title"] == "Order 7"
    [again] = api.post(f"{path}/replay").json()["ids"]
    assert api.get(f"/events/{again}").json()["correlation_id"] == str(event.id)
    assert api.post("/events", PAID | {"id": key}).json()["items"] == [{"id": key, "new": False}]


def test_an_id_with_nul_is_not_there(api: Api) -> None:
    assert api.get("/events/a%00b").status_code == 404
    assert api.post("/events/a%00b/replay").status_code == 404


def test_odd_numbers_are_kept_as_texts(api: Api) -> None:
    long = "9" * 400
    raw = f'{{"type": "a.b", "data": {{"a": 1e999, "b": [NaN, -Infinity, {long}, 1e30], "c": 1.5, "d": 7}}}}'
    [sent] = api.post("/events", raw.encode()).json()["items"]
    data = api.get(f"/events/{sent['id']}").json()["data"]
    assert data == {"a": "1e999", "b": ["NaN", "-Infinity", long, "1e30"], "c": 1.5, "d": 7}
    assert api.post("/events", b'{"type": "a.b", "delay": 1e999}').json()["errors"][0]["field"] == "delay"


def test_publishing_takes_three_statements_beside_that_of_the_token(api: Api) -> None:
    api.post("/events", PAID)
    with CaptureQueriesContext(connection) as captured:
        api.post("/events", PAID)
    assert len(captured) == 4  # the quota is read, the events are stored and counted


def test_a_hundred_are_taken_in_order_with_their_own_delays(api: Api) -> None:
    events = [PAID | {"id": str(uuid4()), "delay": number * 864} for number in range(100)]
    with CaptureQueriesContext(connection) as captured:
        taken = api.post("/events", events)
    assert [one["id"] for one in taken.json()["items"]] == [one["id"] for one in events]
    assert len([one for one in captured.captured_queries if "events_event" in one["sql"]]) == 1
    due = list(Event.objects.order_by("id").values_list("available_at", flat=True))
    assert [(one - due[0]).total_seconds() for one in due] == [number * 864.0 for number in range(100)]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "type"),
        ({"type": ""}, "type"),
        ({"type": "paid"}, "type"),
        ({"type": "Order.Paid"}, "type"),
        ({"type": "x." + "y" * 100}, "type"),
        ({"type": "delivery.dead"}, "type"),
        ({"type": "a.b", "id": ""}, "id"),
        ({"type": "a.b", "id": 7}, "id"),
        ({"type": "a.b", "id": "x" * 256}, "id"),
        ({"type": "a.b", "id": "a\u0085b"}, "id"),
        ({"type": "a.b", "data": []}, "data"),
        ({"type": "a.b", "data": {"x": "y" * 128 * 1024}}, "data"),
        ({"type": "a.b", "hops": -1}, "hops"),
        ({"type": "a.b", "delay": 86_401}, "delay"),
        ({"type": "a.b", "occurred_at": "yesterday"}, "occurred_at"),
        ({"type": "a.b", "topic": "none"}, "topic"),
        ({"type": "a.b", "colour": "red"}, "colour"),
    ],
)
def test_what_cannot_be_taken_names_the_field_and_nothing_is_stored(api: Api, body: Any, field: str) -> None:
    for sent, path in ((body, field), ([PAID, body], f"1.{field}")):
        refused = api.post("/events", sent)
        assert refused.status_code == 422
        assert path in [one["field"] for one in refused.json()["errors"]]
        assert all(one["detail"] for one in refused.json()["errors"])
    assert not Event.objects.exists()


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "1899-12-31T23:59:59Z", "9999-12-31T23:59:59Z"])
def test_a_time_out_of_range_is_told_the_years(api: Api, time: str) -> None:
    (error,) = api.post("/events", PAID | {"occurred_at": time}).json()["errors"]
    assert error == {
        "field": "occurred_at",
        "detail": "Write an instant in the years 1900 to 9998, in UTC.",
        "code": "value_error",
    }


def test_nanoseconds_of_a_time_are_cut(api: Api) -> None:
    (sent,) = api.post("/events", PAID | {"occurred_at": "2026-03-29T16:00:00.123456789Z"}).json()["items"]
    assert api.get(f"/events/{sent['id']}").json()["occurred_at"] == "2026-03-29T16:00:00.123456Z"


def test_none_and_more_than_a_hundred_are_refused(api: Api) -> None:
    for several in ([], [PAID] * 101):
        assert api.post("/events", several).status_code == 422


def test_another_persons_events_and_topics_are_not_there(api: Api) -> None:
    bob = make_user()
    Topic.objects.create(user=bob, slug="news", name="News")
    theirs = happen(bob)
    assert api.get(f"/events/{theirs.key}").status_code == 404
    assert api.get("/events").json()["items"] == []
    refused = api.post("/events", [PAID | {"topic": "news"}, PAID, PAID | {"topic": "none"}])
    assert wrong_fields(refused) == ["0.topic", "2.topic"]


def test_publishing_needs_its_scope(ada: User) -> None:
    assert Api(ada, ("read", "notifications")).post("/events", PAID).status_code == 403


def test_staff_announce_an_event_to_everybody(api: Api, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = make_user(date_joined=datetime(2026, 1, 1, tzinfo=UTC))
    make_channel(reader)
    wanted = {"type": "office.closed", "to": {"kind": "everybody"}, "data": {"title": "Closed", "body": "On Friday."}}
    assert api.post("/events", wanted).status_code == 403
    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
    theirs = Topic.objects.create(user=make_user(), slug="theirs", name="Theirs")
    for wrong in ({"kind": "crowd"}, {"kind": "topic", "key": str(theirs.id)}):
        assert wrong_fields(api.post("/events", wanted | {"to": wrong})) == ["to"]
    people = audiences.count("everybody", "")
    monkeypatch.setattr(events, "MOST_UNCONFIRMED", people - 1)
    assert wrong_fields(api.post("/events", wanted)) == ["to.confirmed"]
    assert not Event.objects.exists()
    monkeypatch.setattr(events, "MOST_UNCONFIRMED", people)
    assert api.post("/events", wanted | {"topic": "news"}).status_code == 422
    [key] = [one["id"] for one in api.post("/events", wanted).json()["items"]]
    event = Event.objects.get(key=key)
    runner.run(EVENT, event.id, "worker")
    runner.run(BATCH, Batch.objects.get().id, "worker")
    said = Notification.objects.get(user=reader)
    assert (said.subject, said.body, said.origin) == ("Closed", "On Friday.", "announcement")
    read = api.get(f"/events/{key}").json()
    assert (read["to"], read["state"]) == ({"kind": "everybody", "key": ""}, "handled")
    assert signed_in(reader).get(f"/history/{said.id}/").status_code == 200
    assert signed_in(ada).get("/batches/").status_code == 200


def test_the_same_event_again_is_not_new_and_another_one_with_its_id_is_refused(api: Api) -> None:
    key, other = str(uuid4()), str(uuid4())
    assert Api(make_user()).post("/events", {"type": "order.sent", "id": key}).status_code == 202
    sent = [api.post("/events", PAID | {"id": key}).json()["items"] for _ in range(2)]
    assert sent == [[{"id": key, "new": True}], [{"id": key, "new": False}]]
    refused = api.post("/events", [PAID | {"id": other}, PAID | {"id": key, "data": {"amount": 1}}])
    assert (refused.status_code, [one["field"] for one in refused.json()["errors"]]) == (409, ["1.id"])
    assert Event.objects.filter(key=other).count() == 0
    twice = [PAID | {"id": other}, PAID | {"id": other, "type": "order.sent"}]
    assert api.post("/events", twice).status_code == 409


@pytest.mark.parametrize(
    ("type", "data", "field"),
    [
        ("alert.raised", {"key": "disk"}, "data.title"),
        ("alert.raised", {"key": "", "title": "Full"}, "data.key"),
        ("alert.raised", {"key": "disk", "title": "Full", "text": "x"}, "data.text"),
        ("alert.resolved", {"title": "Full"}, "data.key"),
    ],
)
def test_an_alert_that_would_open_nothing_is_refused(api: Api, type: str, data: dict[str, Any], field: str) -> None:
    assert wrong_fields(api.post("/events", {"type": type, "data": data})) == [field]
    assert not Event.objects.exists()
    assert api.post("/events", {"type": "alert.resolved", "data": {"key": "disk"}}).status_code == 202


def test_nobody_speaks_as_carillon(api: Api) -> None:
    assert wrong_fields(api.post("/events", {"type": "order.paid", "source": "carillon", "data": {}})) == ["source"]


@pytest.mark.parametrize(("field", "most"), [("id", 255), ("correlation_id", 128), ("source", 200)])
def test_a_text_that_is_too_long_is_counted_in_characters(api: Api, field: str, most: int) -> None:
    [error] = api.post("/events", {"type": "order.paid", field: "x" * 1_000}).json()["errors"]
    assert (error["field"], error["detail"]) == (field, f"Write at most {most} characters.")
