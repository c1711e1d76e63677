import json
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies

from demo.receivers import HTTPReceiver, Received, ntfy
from demo.receivers.ntfy import LIMITED, OPEN, PROTECTED, TOKEN
from notifications import providers
from notifications.message import Delivered, Destination, Rejected
from notifications.reasons import Code
from tests.network import KEY, answered, make_message, served
from work.answers import Retryable

NTFY = providers.get("ntfy")
ANSWER = ntfy.answer

VALID = [
    {"topic": OPEN},
    {"server": "https://ntfy.sh", "topic": OPEN, "priority": "5", "token": TOKEN},
    {"server": "http://push.example.org:8080/", "topic": OPEN, "priority": "", "token": ""},
]
INVALID = [
    ({}, "topic"),
    *[({"topic": topic}, "topic") for topic in ("a topic", "x" * 65, "a/b")],
    ({"topic": OPEN, "priority": "6"}, "priority"),
    *[({"topic": OPEN, "token": token}, "token") for token in ("planted", TOKEN + " x")],
    *[
        ({"topic": OPEN, "server": server}, "server")
        for server in ("http://localhost/", "http://192.168.1.1", "https://ntfy.sh/ferns", "ntfy.sh")
    ],
]


def make_destination(server: str, **overrides: Any) -> Destination:
    return NTFY.destination({"server": server, "topic": OPEN, "priority": "4", "token": "", **overrides})


def destinations(origin: str) -> list[Destination]:
    others = ({"topic": PROTECTED}, {"topic": LIMITED}, {"topic": PROTECTED, "token": TOKEN}, {"token": TOKEN + "x"})
    return [make_destination(origin), *(make_destination(origin, **other) for other in others)]


def key_of(request: Received) -> str:
    return str(json.loads(request.body)["sequence_id"])


def test_a_message_has_the_documented_shape(receiver: HTTPReceiver) -> None:
    assert NTFY.send(make_message(), make_destination(receiver.origin, topic=PROTECTED, token=TOKEN)) == Delivered()
    [request] = receiver.requests
    assert (request.method, request.path) == ("POST", "/")
    assert request.headers["Authorization"] == f"Bearer {TOKEN}"
    assert json.loads(request.body) == {
        "topic": PROTECTED,
        "title": "Water the plants",
        "message": "The ferns too. ☂",
        "priority": 4,
        "sequence_id": str(KEY),
    }


def test_an_error_at_the_server_shows_an_example_of_one() -> None:
    assert "like https://ntfy.sh." in NTFY.form({"topic": OPEN, "server": "https://"}).errors["server"][0]


def test_a_topic_alone_means_the_public_server_and_normal_priority() -> None:
    form = NTFY.form({"topic": OPEN})
    assert form.is_valid()
    destination = NTFY.destination(form.cleaned_data)
    assert destination.address == {"url": "https://ntfy.sh", "beginning": "ada", "priority": 3}
    assert destination.secrets == {"topic": OPEN}
    assert NTFY.summary(destination) == "ntfy.sh/ada…"


def test_a_message_without_a_body_repeats_its_subject(receiver: HTTPReceiver) -> None:
    assert NTFY.send(make_message(body=""), make_destination(receiver.origin)) == Delivered()
    document = json.loads(receiver.requests[0].body)
    assert document["message"] == document["title"] == "Water the plants"
    assert "Authorization" not in receiver.requests[0].headers


@pytest.mark.parametrize(("topic", "token"), [(PROTECTED, ""), (OPEN, TOKEN + "x")])
def test_a_protected_topic_is_rejected_with_advice(receiver: HTTPReceiver, topic: str, token: str) -> None:
    answer = NTFY.send(make_message(), make_destination(receiver.origin, topic=topic, token=token))
    assert isinstance(answer, Rejected)
    assert answer.reason.code == Code.TOPIC_TOKEN


def test_a_limit_of_the_server_is_retried(receiver: HTTPReceiver) -> None:
    answer = NTFY.send(make_message(), make_destination(receiver.origin, topic=LIMITED))
    assert answer == Retryable(answered("the ntfy server", 429))


@hypothesis.settings(max_examples=60, deadline=None, derandomize=True)
@hypothesis.given(subject=strategies.text(max_size=80), body=strategies.text(max_size=200))
def test_no_text_changes_the_request(subject: str, body: str) -> None:
    with served(ANSWER) as receiver:
        NTFY.send(make_message(subject=subject, body=body), make_destination(receiver.origin))
    document = json.loads(receiver.requests[0].body)
    assert set(document) == {"topic", "title", "message", "priority", "sequence_id"}
    assert (document["topic"], document["title"]) == (OPEN, subject)
    assert document["message"] == (body if body.strip() else subject)
