import json
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies

from demo.receivers import HTTPReceiver, Reply, Reset, ntfy
from demo.receivers.ntfy import LIMITED, OPEN, PROTECTED, TOKEN
from notifications import providers
from notifications.message import Ambiguous, Delivered, Destination, Message, Rejected, Retryable
from tests.providers.making import KEY, closed_port, make_message

NTFY = providers.get("ntfy")

VALID = [
    {"topic": OPEN},
    {"server": "https://ntfy.sh", "topic": OPEN, "priority": "5", "token": TOKEN},
    {"server": "http://push.example.org:8080/", "topic": OPEN, "priority": "", "token": ""},
]
INVALID = [
    ({}, "topic"),
    ({"topic": "a topic"}, "topic"),
    ({"topic": "x" * 65}, "topic"),
    ({"topic": "a/b"}, "topic"),
    ({"topic": OPEN, "priority": "6"}, "priority"),
    ({"topic": OPEN, "token": "planted"}, "token"),
    ({"topic": OPEN, "token": TOKEN + " x"}, "token"),
    ({"topic": OPEN, "server": "http://localhost/"}, "server"),
    ({"topic": OPEN, "server": "http://192.168.1.1"}, "server"),
    ({"topic": OPEN, "server": "https://ntfy.sh/ferns"}, "server"),
    ({"topic": OPEN, "server": "ntfy.sh"}, "server"),
]


def make_destination(server: str, **overrides: Any) -> Destination:
    return NTFY.destination({"server": server, "topic": OPEN, "priority": "4", "token": "", **overrides})


@pytest.fixture
def server() -> Iterator[HTTPReceiver]:
    with HTTPReceiver(ntfy.answer) as receiver:
        yield receiver


def worlds() -> Iterator[Destination]:
    """For the contract: destinations, each in another state of the world."""
    with HTTPReceiver(ntfy.answer) as receiver:
        for topic in (OPEN, PROTECTED, LIMITED):
            yield make_destination(receiver.origin, topic=topic)
        yield make_destination(receiver.origin, topic=PROTECTED, token=TOKEN)
        yield make_destination(receiver.origin, token=TOKEN + "x")
        for told in (Reset(), Reply(200, body=b""), Reply(404, body=b"\xff"), Reply(507), Reply(302), Reply(413)):
            receiver.answers.append(told)
            yield make_destination(receiver.origin)
    for url in (f"http://127.0.0.1:{closed_port()}", "http://nowhere.invalid", "http://10.0.0.1"):
        yield make_destination(url)


def keys_sent(message: Message) -> list[str]:
    """For the contract: what two tries carry outside."""
    with HTTPReceiver(ntfy.answer) as receiver:
        receiver.answers.append(Reply(500))
        for _ in range(2):
            NTFY.send(message, make_destination(receiver.origin))
        return [json.loads(request.body)["sequence_id"] for request in receiver.requests]


def test_a_message_has_the_documented_shape(server: HTTPReceiver) -> None:
    assert NTFY.send(make_message(), make_destination(server.origin, topic=PROTECTED, token=TOKEN)) == Delivered()
    [request] = server.requests
    assert (request.method, request.path) == ("POST", "/")
    assert request.headers["Authorization"] == f"Bearer {TOKEN}"
    assert json.loads(request.body) == {
        "topic": PROTECTED,
        "title": "Water the plants",
        "message": "The ferns too. ☂",
        "priority": 4,
        "sequence_id": str(KEY),
    }


def test_the_server_is_told_by_an_example_of_one() -> None:
    assert "Write it like https://ntfy.sh." in NTFY.form({"topic": OPEN, "server": "https://"}).errors["server"][0]


def test_a_form_with_the_topic_alone_means_the_public_server_and_a_normal_ring() -> None:
    form = NTFY.form({"topic": OPEN})
    assert form.is_valid()
    destination = NTFY.destination(form.cleaned_data)
    assert destination.address == {"url": "https://ntfy.sh", "beginning": "ada", "priority": 3}
    assert destination.secrets == {"topic": OPEN}
    assert NTFY.summary(destination) == "ntfy.sh/ada…"


def test_a_message_without_a_body_says_its_subject(server: HTTPReceiver) -> None:
    assert NTFY.send(make_message(body=""), make_destination(server.origin)) == Delivered()
    document = json.loads(server.requests[0].body)
    assert document["message"] == document["title"] == "Water the plants"
    assert "Authorization" not in server.requests[0].headers


@pytest.mark.parametrize(("topic", "token"), [(PROTECTED, ""), (OPEN, TOKEN + "x")])
def test_a_protected_topic_is_rejected_with_advice(server: HTTPReceiver, topic: str, token: str) -> None:
    answer = NTFY.send(make_message(), make_destination(server.origin, topic=topic, token=token))
    assert isinstance(answer, Rejected)
    assert "access token" in answer.reason


def test_later_is_retried(server: HTTPReceiver) -> None:
    answer = NTFY.send(make_message(), make_destination(server.origin, topic=LIMITED))
    assert answer == Retryable("The ntfy server answered 429 Too Many Requests.")


def test_a_silent_service_leaves_the_outcome_unknown(server: HTTPReceiver) -> None:
    server.answer = Reset()
    assert isinstance(NTFY.send(make_message(), make_destination(server.origin)), Ambiguous)


def test_a_long_body_is_cut_before_it_becomes_a_file(server: HTTPReceiver) -> None:
    assert NTFY.send(make_message(body="👍🏽" * 3000), make_destination(server.origin)) == Delivered()
    message = json.loads(server.requests[0].body)["message"]
    assert len(message.encode()) in range(4088, 4097)
    assert message.endswith("👍🏽…")


@hypothesis.settings(max_examples=60, deadline=None, derandomize=True)
@hypothesis.given(subject=strategies.text(max_size=80), body=strategies.text(max_size=200))
def test_no_text_changes_the_request(subject: str, body: str) -> None:
    with HTTPReceiver(ntfy.answer) as receiver:
        NTFY.send(make_message(subject=subject, body=body), make_destination(receiver.origin))
    document = json.loads(receiver.requests[0].body)
    assert set(document) == {"topic", "title", "message", "priority", "sequence_id"}
    assert (document["topic"], document["title"]) == (OPEN, subject)
    assert document["message"] == (body if body.strip() else subject)
