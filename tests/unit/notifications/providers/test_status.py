"""Status webhooks: the document of a change, in a webhook."""

import json

import pytest

from demo.receivers import HTTPReceiver, Received
from notifications import providers
from notifications.messages import change_types
from notifications.messages.message import Destination, Message
from tests.network import make_message
from tests.unit.notifications.providers import test_webhook

STATUS = providers.get("status")
ANSWER = None
MEANINGS, SENT, TEXT, TEXTS = test_webhook.MEANINGS, test_webhook.SENT, test_webhook.TEXT, test_webhook.TEXTS
key_of, check_text = test_webhook.key_of, test_webhook.check_text
TYPES = {"types": "delivery.*, notification.failed"}
VALID = [{**data, **TYPES} for data in test_webhook.VALID]
INVALID = [
    *[({**data, **TYPES}, field) for data, field in test_webhook.INVALID],
    *[
        ({"url": "https://example.org/", "types": types}, "types")
        for types in ("", " , ", "everything", "delivery", "delivery.sent", "*", "delivery.dead x", "delivery.* " * 100)
    ],
]
CHANGE = {"id": "1", "type": "delivery.dead", "time": "2026-03-29T07:00:00Z", "data": {"delivery_id": "2"}}


def destination(origin: str, path: str = "/hooks/carillon?token=planted&x=%20") -> Destination:
    cleaned = {"url": f"{origin}{path}", "secret": test_webhook.SECRET, "types": ["delivery.*"]}
    return STATUS.destination(cleaned)


def verified(request: Received) -> object:
    return request.verified(test_webhook.SECRET)


def test_a_change_is_the_document_itself(receiver: HTTPReceiver) -> None:
    message = make_message(subject="delivery.dead", body="", data=CHANGE)
    STATUS.send(message, destination(receiver.origin))
    [request] = receiver.requests
    assert verified(request) == json.loads(request.body)
    assert json.loads(request.body) == {
        "id": "1",
        "type": "delivery.dead",
        "timestamp": "2026-03-29T07:00:00Z",
        "data": {"delivery_id": "2"},
    }
    assert request.headers["webhook-id"] == str(message.key)


def test_a_code_is_written_as_the_message_of_a_webhook(receiver: HTTPReceiver) -> None:
    message: Message = make_message()
    STATUS.send(message, destination(receiver.origin))
    check_text(receiver.requests[0], message)


def test_what_is_followed_is_no_secret_and_the_form_shows_it() -> None:
    form = STATUS.form({"url": "https://example.org/", "types": "schedule.fired channel.* schedule.fired"})
    assert form.is_valid()
    there = STATUS.destination(form.cleaned_data)
    assert there.address["types"] == ["schedule.fired", "channel.*"]
    assert "everybody" not in there.address
    assert STATUS.form_initial(there) == {"types": "schedule.fired channel.*", "everybody": False}


@pytest.mark.parametrize("types", [None, "delivery.*", 5, [1]])
def test_a_damaged_list_of_types_does_not_break_the_form(types: object) -> None:
    assert "everybody" in STATUS.form_initial(Destination({"types": types}))


def test_each_type_is_known_by_its_name_and_by_its_noun() -> None:
    assert change_types.parse("delivery.dead,schedule.*\nchannel.added") == [
        "delivery.dead",
        "schedule.*",
        "channel.added",
    ]
    for noun, verbs in change_types.TYPES.items():
        assert [change_types.parse(f"{noun}.{verb}") for verb in verbs] == [[f"{noun}.{verb}"] for verb in verbs]
