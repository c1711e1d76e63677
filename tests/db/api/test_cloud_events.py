"""CloudEvents over the API, as the official SDK sends them, and as other senders might."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from cloudevents.core.bindings import http
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

from events.models import Event
from tests.db.api.conftest import Api
from tests.make import happen, make_channel, make_delivery

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
ATTRIBUTES: dict[str, Any] = {
    "id": "A234-1234-1234",
    "source": "https://example.org/shop?a=%20",
    "type": "org.example.order.paid",
    "time": NOON,
    "subject": "Bücher, 100 %",
    "comexampleextension1": "value",
}
KEY = "https://example.org/shop?a=%20 A234-1234-1234"
STRUCTURED = "application/cloudevents+json"
BATCH = "application/cloudevents-batch+json"
EVENT: dict[str, Any] = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "order.paid"}


def send(api: Api, message: Any) -> Any:
    return api.post("/events", message.body, **message.headers)


def post(api: Api, body: Any, content_type: str = STRUCTURED, **headers: str) -> Any:
    return api.post("/events", body, content_type=content_type, **headers)


@pytest.mark.parametrize("write", [http.to_structured_event, http.to_binary_event])
def test_an_event_of_the_official_sdk_is_taken_with_all_that_it_says(api: Api, write: Any) -> None:
    sent = write(CloudEvent(ATTRIBUTES | {"datacontenttype": "application/json"}, {"order_id": 7}))
    assert send(api, sent).json() == {"items": [{"id": KEY, "new": True}]}
    assert send(api, sent).json() == {"items": [{"id": KEY, "new": False}]}
    event = Event.objects.get()
    assert (event.type, event.source, event.occurred_at) == (ATTRIBUTES["type"], ATTRIBUTES["source"], NOON)
    assert event.data == {
        "order_id": 7,
        "cloudevent": {"subject": ATTRIBUTES["subject"], "comexampleextension1": "value"},
    }


def test_two_sources_may_use_the_same_id(api: Api) -> None:
    for source in ("/one", "/two"):
        assert post(api, EVENT | {"source": source}).json() == {"items": [{"id": f"{source} 1", "new": True}]}
    assert post(api, EVENT | {"source": "/one", "data": {"a": 1}}).json()["errors"][0]["code"] == "id_reused"
    assert api.get("/events//one%201").json()["source"] == "/one"


def test_a_batch_is_taken_in_its_order_or_not_at_all(api: Api) -> None:
    events = [EVENT | {"id": str(number)} for number in range(3)]
    assert [one["id"] for one in post(api, events, BATCH).json()["items"]] == ["/shop 0", "/shop 1", "/shop 2"]
    refused = post(api, [EVENT | {"id": "3"}, EVENT | {"id": "4", "source": ""}], BATCH)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "1.source")
    assert post(api, EVENT, BATCH).status_code == 422
    assert Event.objects.count() == 3


@pytest.mark.parametrize(
    ("content_type", "body", "data"),
    [
        ("application/json", b'{"a": 1}', {"a": 1}),
        ("application/vnd.shop+json; charset=utf-8", b"[1]", {"body": [1]}),
        ("text/plain", "größer".encode(), {"body": "größer"}),
        ("application/octet-stream", b"\xff\x00", {"data_base64": "/wA="}),
    ],
)
def test_data_of_any_kind_is_an_object_in_our_event(api: Api, content_type: str, body: bytes, data: Any) -> None:
    message = http.to_binary_event(CloudEvent(EVENT | {"datacontenttype": content_type}, body))
    assert send(api, message).status_code == 202, message
    stored = Event.objects.get().data
    stored.pop("cloudevent", None)
    assert stored == data


def test_an_event_without_data_needs_no_body(api: Api) -> None:
    headers = {f"ce-{name}": value for name, value in EVENT.items()}
    assert post(api, b"", "", **headers).status_code == 202
    assert Event.objects.get().data == {}


def test_bytes_in_base64_are_read_by_their_type(api: Api) -> None:
    post(api, EVENT | {"data_base64": "eyJhIjogMX0="})
    post(api, EVENT | {"id": "2", "data_base64": "/wA=", "datacontenttype": "image/png"})
    read, kept = Event.objects.order_by("key").values_list("data", flat=True)
    assert (read, kept) == ({"a": 1}, {"data_base64": "/wA=", "cloudevent": {"datacontenttype": "image/png"}})


def test_a_chain_goes_on_and_a_type_is_written_as_ours(api: Api) -> None:
    chain = "01890a5f-2c0f-7b11-8e3d-7a6b5c4d3e2f"
    given = EVENT | {"type": "Shop.OrderPaid", "correlationid": chain, "hops": 2}
    assert post(api, given).status_code == 202
    event = Event.objects.get()
    assert (event.type, str(event.correlation_id), event.hops) == ("shop.orderpaid", chain, 2)
    assert event.data == {"cloudevent": {"type": "Shop.OrderPaid"}}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        *[({name: None}, name) for name in ("id", "source", "type", "specversion")],
        *[({name: ""}, name) for name in ("id", "source", "type", "subject", "dataschema", "datacontenttype")],
        ({"specversion": "0.3"}, "specversion"),
        ({"id": 7}, "id"),
        ({"id": "x" * 256}, "id"),
        ({"id": "a\u0007b"}, "id"),
        ({"source": "a b"}, "source"),
        ({"dataschema": "/relative"}, "dataschema"),
        ({"datacontenttype": "json"}, "datacontenttype"),
        ({"time": "yesterday"}, "time"),
        ({"time": "2026-06-01T12:00:00"}, "time"),
        ({"Extension": "x"}, "Extension"),
        ({"my-extension": "x"}, "my-extension"),
        ({"extension": {"a": 1}}, "extension"),
        ({"extension": 2**40}, "extension"),
        ({"extension": 1.5}, "extension"),
        ({"data": {}, "data_base64": "e30="}, "data_base64"),
        ({"data_base64": "%"}, "data_base64"),
        ({"data_base64": "ü"}, "data_base64"),
        ({"type": "delivery.dead"}, "type"),
        ({"data": {"x": "y" * 128 * 1024}}, "data"),
        ({"hops": 1001}, "hops"),
    ],
)
def test_what_the_specification_forbids_names_the_attribute(api: Api, change: dict[str, Any], field: str) -> None:
    refused = post(api, EVENT | change)
    assert (refused.status_code, [one["field"] for one in refused.json()["errors"]]) == (422, [field])
    assert not Event.objects.exists()


def test_malformed_bodies_and_other_formats_are_refused(api: Api) -> None:
    assert post(api, b"{").json()["code"] == "bad-json"
    assert post(api, b"[]").status_code == 422
    assert post(api, EVENT, "application/cloudevents+avro").status_code == 415
    assert post(api, EVENT, f"{STRUCTURED}; charset=latin-1").status_code == 415
    assert post(api, b"x" * 300_000, "text/plain", **{"ce-id": "1"}).status_code == 413
    assert [
        one["field"] for one in post(api, b"{}", **{"content_type": "application/json", "ce-id": "1"}).json()["errors"]
    ] == ["source", "specversion", "type"]


def test_one_idempotency_key_does_not_stand_for_two_events_of_other_headers(api: Api) -> None:
    headers = {f"ce-{name}": value for name, value in EVENT.items()}
    first = post(api, b"{}", "application/json", **headers, idempotency_key="k")
    assert first.status_code == 202
    other = post(api, b"{}", "application/json", **headers | {"ce-id": "2"}, idempotency_key="k")
    assert other.json()["code"] == "key-reused"


def test_other_operations_take_no_cloud_events(api: Api, ada: Any) -> None:
    event = happen(ada)
    assert api.post(f"/events/{event.key}/replay", EVENT, content_type=STRUCTURED).status_code == 202
    assert api.post("/rules", EVENT, content_type=STRUCTURED).status_code == 415


def test_a_queues_message_can_be_a_cloud_event(api: Api, ada: Any) -> None:
    delivery = make_delivery(make_channel(ada, "queue", address={"cloudevents": True}), data='{"room": "kitchen"}')
    [message] = api.post(f"/queues/{delivery.channel_id}/pull", {}).json()["items"]
    event = JSONFormat().read(CloudEvent, json.dumps(message["body"]))
    assert (event.get_id(), event.get_type()) == (str(delivery.id), "carillon.notification")
    assert event.get_data()["data"] == {"room": "kitchen"}  # type: ignore[index,call-overload]
