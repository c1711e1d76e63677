"""Queues over the API: a program pulls, acknowledges and returns messages of its owner's queues, and of no others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from pytest_django import Settings

from notifications.models import Channel, Delivery
from people.models import User
from tests.db.api.conftest import Api, wrong_fields
from tests.make import NOON, disabled, make_channel, make_delivery, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def queue(ada: User) -> Channel:
    return make_channel(ada, "queue")


def pull(api: Api, queue: Channel, **body: Any) -> list[Any]:
    answer = api.post(f"/queues/{queue.id}/pull", body)
    assert answer.status_code == 200, answer.content
    messages: list[Any] = answer.json()["items"]
    return messages


def settle(api: Api, queue: Channel, **body: Any) -> list[tuple[str, bool]]:
    """Each result, and whether it comes with words."""
    answer = api.post(f"/queues/{queue.id}/ack", body)
    assert answer.status_code == 200, answer.content
    return [(one["result"], bool(one["detail"])) for one in answer.json()["items"]]


def test_a_message_has_what_a_webhook_would_get(api: Api, queue: Channel) -> None:
    delivery = make_delivery(queue, category="plants", data='{"room": "kitchen"}')
    [message] = pull(api, queue)
    assert message["id"] == message["body"]["data"]["id"] == str(delivery.id)
    assert message["body"]["type"] == "notification"
    assert message["body"]["data"]["subject"] == "Water the plants"
    assert message["body"]["data"]["data"] == {"room": "kitchen"}
    assert message["attempts"] == 1
    assert abs(datetime.fromisoformat(message["recorded_at"]) - delivery.created_at) < timedelta(minutes=1)


def test_messages_are_acknowledged_and_returned_each_by_its_lease(api: Api, queue: Channel) -> None:
    for _ in range(2):
        make_delivery(queue)
    one, two = pull(api, queue)
    body = {
        "acks": [{"lease_id": one["lease_id"]}, {"lease_id": "nonsense"}],
        "retries": [{"lease_id": two["lease_id"], "delay_seconds": 0}],
    }
    for _ in range(2):
        assert settle(api, queue, **body) == [("acked", False), ("not-found", True), ("returned", False)]
    [again] = pull(api, queue)
    assert (again["id"], again["attempts"]) == (two["id"], 2)
    assert Delivery.objects.get(id=one["id"]).state == "delivered"


def test_a_late_acknowledgement_says_what_to_do(api: Api, queue: Channel) -> None:
    make_delivery(queue)
    [message] = pull(api, queue, visibility_timeout_ms=1000)
    Delivery.objects.update(lease_until=NOON)
    answer = api.post(f"/queues/{queue.id}/ack", {"acks": [{"lease_id": message["lease_id"]}]})
    [result] = answer.json()["items"]
    assert result["result"] == "late"
    assert "visibility_timeout_ms" in result["detail"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": 101}, "batch_size"),
        ({"batch_size": "10"}, "batch_size"),
        ({"visibility_timeout_ms": 999}, "visibility_timeout_ms"),
        ({"visibility_timeout_ms": 43_200_001}, "visibility_timeout_ms"),
        ({"wait_ms": 20_001}, "wait_ms"),
        ({"wait_ms": -1}, "wait_ms"),
        ({"size": 3}, "size"),
    ],
)
def test_a_pull_names_its_wrong_field_and_takes_nothing(api: Api, queue: Channel, body: Any, field: str) -> None:
    make_delivery(queue)
    assert wrong_fields(api.post(f"/queues/{queue.id}/pull", body)) == [field]
    assert Delivery.objects.get().state == "pending"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"acks": [{"lease_id": 7}]}, "acks.0.lease_id"),
        ({"acks": [{}]}, "acks.0.lease_id"),
        ({"retries": [{"lease_id": "a", "delay_seconds": 86_401}]}, "retries.0.delay_seconds"),
        ({"retries": [{"lease_id": "a", "delay_seconds": -1}]}, "retries.0.delay_seconds"),
        ({"acks": [{"lease_id": "a", "delay_seconds": 1}]}, "acks.0.delay_seconds"),
    ],
)
def test_an_acknowledgement_names_its_wrong_field(api: Api, queue: Channel, body: Any, field: str) -> None:
    assert wrong_fields(api.post(f"/queues/{queue.id}/ack", body)) == [field]


def test_a_lease_that_is_named_twice_is_refused_before_anything_is_done(api: Api, queue: Channel) -> None:
    make_delivery(queue)
    [message] = pull(api, queue)
    lease = {"lease_id": message["lease_id"]}
    for body in ({"acks": [lease, lease]}, {"acks": [lease], "retries": [lease]}):
        assert len(wrong_fields(api.post(f"/queues/{queue.id}/ack", body))) == 2
    assert Delivery.objects.get().state == "sending"


def test_another_persons_queue_and_other_kinds_of_channel_are_not_found(api: Api, ada: User) -> None:
    foreign, inbox = make_channel(make_user(), "queue"), make_channel(ada)
    removed = make_channel(ada, "queue", removed_at=NOON)
    for channel in (foreign, inbox, removed):
        delivery = make_delivery(channel)
        for verb in ("pull", "ack"):
            assert api.post(f"/queues/{channel.id}/{verb}", {}).status_code == 404
        delivery.refresh_from_db()
        assert delivery.tries == 0


def test_a_lease_of_another_person_is_not_found(api: Api, queue: Channel, call: Callable[..., Api]) -> None:
    make_delivery(queue)
    [message] = pull(api, queue)
    other = make_user()
    body = {"acks": [{"lease_id": message["lease_id"]}]}
    assert settle(call(other), make_channel(other, "queue"), **body) == [("not-found", True)]
    assert settle(api, queue, **body) == [("acked", False)]


def test_pulling_needs_its_own_scope(ada: User, queue: Channel, call: Callable[..., Api]) -> None:
    for verb in ("pull", "ack"):
        assert call(ada, ("read", "notifications")).post(f"/queues/{queue.id}/{verb}", {}).status_code == 403
        assert call(ada, ("queues",)).post(f"/queues/{queue.id}/{verb}", {}).status_code == 200


def test_a_disabled_queue_says_so_and_still_takes_acknowledgements(api: Api, queue: Channel) -> None:
    make_delivery(queue)
    [message] = pull(api, queue)
    Channel.objects.update(disabled_at=NOON, **disabled("Too much."))
    refused = api.post(f"/queues/{queue.id}/pull", {})
    assert refused.status_code == 409
    assert "Too much." in refused.json()["detail"]
    assert settle(api, queue, acks=[{"lease_id": message["lease_id"]}]) == [("acked", False)]


def test_an_idempotency_key_keeps_no_answer_of_a_pull(api: Api, queue: Channel) -> None:
    for _ in range(2):
        make_delivery(queue)
    path, body = f"/queues/{queue.id}/pull", {"batch_size": 1}
    first, second = (api.post(path, body, Idempotency_Key="k").json()["items"] for _ in range(2))
    assert first[0]["id"] != second[0]["id"]


def test_a_queue_is_added_ready_with_its_settings_and_changed(api: Api) -> None:
    made = api.post("/channels", {"kind": "queue", "label": "Jobs", "fields": {"concurrency": 1, "tries": "3"}})
    assert made.status_code == 201, made.content
    assert (made.json()["state"], made.json()["code_sent"], made.json()["secret"]) == ("ready", False, None)
    assert made.json()["fields"] == {
        "batch_size": 100,
        "concurrency": 1,
        "tries": 3,
        "batch_timeout": 0,
        "cloudevents": False,
    }
    changed = api(
        "PATCH", f"/channels/{made.json()['id']}", {"fields": {"batch_timeout": 60, "tries": None, "cloudevents": True}}
    )
    assert changed.status_code == 200, changed.content
    assert changed.json()["state"] == "ready"
    assert changed.json()["fields"] == {
        "batch_size": 100,
        "concurrency": 1,
        "tries": 5,
        "batch_timeout": 60,
        "cloudevents": True,
    }


@pytest.mark.parametrize(("name", "value"), [("batch_size", 101), ("concurrency", 0), ("tries", "x"), ("held", 1)])
def test_a_wrong_setting_is_named(api: Api, queue: Channel, name: str, value: object) -> None:
    for answer in (
        api.post("/channels", {"kind": "queue", "fields": {name: value}}),
        api("PATCH", f"/channels/{queue.id}", {"fields": {name: value}}),
    ):
        assert wrong_fields(answer) == [f"fields.{name}"]


@pytest.mark.parametrize(("name", "value"), [("on_unknown", "hold"), ("give_up_after", 600)])
def test_a_queue_has_no_rule_for_sends_that_do_not_exist(api: Api, queue: Channel, name: str, value: object) -> None:
    assert wrong_fields(api("PATCH", f"/channels/{queue.id}", {name: value})) == [name]
    assert api("PATCH", f"/channels/{queue.id}", {"label": "Jobs"}).status_code == 200


def test_a_test_of_a_queue_waits_to_be_pulled(api: Api, queue: Channel) -> None:
    sent = api.post(f"/channels/{queue.id}/test")
    assert sent.status_code == 202
    [message] = pull(api, queue)
    assert message["id"] == sent.json()["delivery_id"]


def test_a_message_to_a_queue_names_its_delivery(api: Api, queue: Channel) -> None:
    sent = api.post("/notifications", {"title": "Build 7", "channel_ids": [str(queue.id)]})
    assert sent.status_code == 202
    [message] = pull(api, queue)
    assert [message["id"]] == sent.json()["delivery_ids"]


def send(api: Api, queue: Channel, *messages: Any) -> list[Any]:
    answer = api.post(f"/queues/{queue.id}/messages", list(messages))
    assert answer.status_code == 202, answer.content
    sent: list[Any] = answer.json()["items"]
    return sent


def test_a_message_goes_straight_to_a_queue_with_its_chain(api: Api, queue: Channel, settings: Settings) -> None:
    settings.SENDS_PER_PERSON_PER_DAY = 1
    chain = str(uuid4())
    given = {
        "type": "build.finished",
        "id": "build-7",
        "correlation_id": chain,
        "hops": 2,
        "data": {"text": "x" * 130_000},
    }
    sent = send(api, queue, given, {"type": "build.started"})
    one, two = pull(api, queue)
    assert [one["id"], two["id"]] == [message["id"] for message in sent]
    assert (one["correlation_id"], one["hops"]) == (chain, 2)
    envelope = one["body"]["data"]["data"]
    assert {name: envelope[name] for name in given} == given
    assert two["correlation_id"] == two["body"]["data"]["data"]["correlation_id"] != chain
    assert api.post("/notifications", {"title": "Hi", "channel_ids": [str(queue.id)]}).status_code == 202


def test_a_message_with_an_id_is_taken_once(api: Api, queue: Channel) -> None:
    message = {"type": "build.finished", "id": "build-7", "data": {"commit": "4f2a91c"}}
    [first], [second] = send(api, queue, message), send(api, queue, message)
    assert (first["new"], second["new"], first["id"]) == (True, False, second["id"])
    other = api.post(f"/queues/{queue.id}/messages", [{"type": "build.started"}, message | {"data": {}}])
    assert (other.status_code, other.json()["errors"][0]["field"]) == (409, "1.id")
    assert len(pull(api, queue)) == 1


def test_a_message_waits_for_its_delay(api: Api, queue: Channel) -> None:
    send(api, queue, {"type": "build.finished", "delay": 60})
    assert pull(api, queue) == []


def test_a_disabled_queue_takes_nothing_and_a_stranger_finds_none(api: Api, queue: Channel) -> None:
    stranger = Api(make_user(email="eve@example.org"))
    assert stranger.post(f"/queues/{queue.id}/messages", {"type": "build.finished"}).status_code == 404
    Channel.objects.filter(id=queue.id).update(disabled_at=NOON, **disabled("Broken."))
    assert api.post(f"/queues/{queue.id}/messages", {"type": "build.finished"}).status_code == 409


def test_bytes_of_a_day_bound_what_is_sent(api: Api, ada: User, queue: Channel) -> None:
    User.objects.filter(pk=ada.pk).update(event_megabytes_per_day=1)
    message = {"type": "build.finished", "data": {"text": "x" * 120_000}}
    for _ in range(10):
        answer = api.post(f"/queues/{queue.id}/messages", message)
    assert answer.status_code == 429


def test_queues_count_messages_and_bytes_instead_of_requests(api: Api, queue: Channel, settings: Settings) -> None:
    settings.API_REQUESTS_PER_MINUTE, settings.API_MESSAGES_PER_MINUTE = 1, 1_000
    send(api, queue, *[{"type": "build.finished"}] * 100)
    left = [int(api.post(f"/queues/{queue.id}/pull", {"batch_size": 100})["RateLimit-Remaining"]) for _ in range(2)]
    assert 770 <= left[1] < left[0] <= 901  # 100 sent, 100 pulled, then a pull of none
    large = api.post(f"/queues/{queue.id}/messages", [{"type": "a.b", "data": {"text": "x" * 100_000}}] * 2)
    assert large.status_code == 202
    answers = [api.post(f"/queues/{queue.id}/pull", {}) for _ in range(100)]
    refused = answers[-1]
    assert (refused.status_code, refused.json()["code"]) == (429, "too-many-requests")
    assert 1 <= int(refused["Retry-After"]) <= 60
