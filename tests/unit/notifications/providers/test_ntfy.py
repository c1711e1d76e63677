import json

import pytest
from hypothesis import strategies

from demo.receivers import HTTPReceiver, Received, ntfy
from demo.receivers.ntfy import LIMITED, OPEN, PROTECTED, TOKEN
from notifications import providers
from notifications.messages.message import Delivered, Destination, Message, Rejected
from notifications.reasons import DeliveryCode
from tests.network import KEY, answered, make_message
from work.answers import Retryable
from work.reasons import Reason

NTFY = providers.get("ntfy")
ANSWER = ntfy.answer

VALID = [
    {"topic": OPEN},
    {"server": "https://ntfy.sh", "topic": OPEN, "priority": "5", "token": TOKEN},
    {"server": "http://push.example.org:8080/", "topic": OPEN, "priority": "", "token": ""},
    {"server": "https://example.org/ntfy/", "topic": OPEN},
]
INVALID = [
    ({}, "topic"),
    *[({"topic": topic}, "topic") for topic in ("a topic", "x" * 65, "a/b")],
    ({"topic": OPEN, "priority": "6"}, "priority"),
    *[({"topic": OPEN, "token": token}, "token") for token in ("planted", TOKEN + " x")],
    *[
        ({"topic": OPEN, "server": server}, "server")
        for server in (
            "http://10.0.0.1/",
            "http://192.168.1.1",
            "https://ntfy.sh/ferns",
            "https://example.org/?a=1",
            "ntfy.sh",
        )
    ],
]

SENT = (
    "/",
    {"Authorization": f"Bearer {TOKEN}"},
    {
        "topic": PROTECTED,
        "title": "Water the plants",
        "message": "The ferns too. ☂",
        "priority": 4,
        "sequence_id": str(KEY),
    },
)
MEANINGS = [
    ({"topic": PROTECTED, "token": ""}, None, Rejected(Reason(DeliveryCode.TOPIC_TOKEN))),
    ({"topic": OPEN, "token": TOKEN + "x"}, None, Rejected(Reason(DeliveryCode.TOPIC_TOKEN))),
    ({"topic": LIMITED}, None, Retryable(answered("the ntfy server", 429))),
]

TEXTS = {"title", "message"}
TEXT = strategies.nothing()


def destination(origin: str, topic: str = PROTECTED, token: str = TOKEN) -> Destination:
    return NTFY.destination({"server": origin, "topic": topic, "priority": "4", "token": token})


def key_of(request: Received) -> str:
    return str(json.loads(request.body)["sequence_id"])


def check_text(request: Received, message: Message) -> None:
    document = json.loads(request.body)
    assert document["title"] == message.subject
    assert document["message"] == (message.body if message.body.strip() else message.subject)


def test_an_error_at_the_server_shows_an_example_of_one() -> None:
    assert "like https://ntfy.sh." in NTFY.form({"topic": OPEN, "server": "https://"}).errors["server"][0]


def test_a_topic_alone_means_the_public_server_and_normal_priority() -> None:
    form = NTFY.form({"topic": OPEN})
    assert form.is_valid()
    destination = NTFY.destination(form.cleaned_data)
    assert destination.address == {"url": "https://ntfy.sh", "beginning": "ada", "priority": 3}
    assert destination.secrets == {"topic": OPEN}
    assert NTFY.summary(destination) == "ntfy.sh/ada…"


@pytest.mark.parametrize(
    ("typed", "url", "summary"),
    [
        (f"https://ntfy.sh/{OPEN}", "https://ntfy.sh", "ntfy.sh/ada…"),
        ("https://example.org/ntfy/", "https://example.org/ntfy", "example.org/ntfy/ada…"),
        (f"https://example.org/ntfy/{OPEN}", "https://example.org/ntfy", "example.org/ntfy/ada…"),
    ],
)
def test_the_address_of_a_topic_names_its_server(typed: str, url: str, summary: str) -> None:
    form = NTFY.form({"server": typed, "topic": OPEN})
    assert form.is_valid()
    destination = NTFY.destination(form.cleaned_data)
    assert (destination.address["url"], NTFY.summary(destination)) == (url, summary)


def test_a_server_under_a_path_is_posted_to_with_the_slash_that_its_proxy_expects(receiver: HTTPReceiver) -> None:
    assert NTFY.send(make_message(), destination(f"{receiver.origin}/ntfy")) == Delivered()
    assert [request.path for request in receiver.requests] == ["/ntfy/"]


def test_a_message_to_an_open_topic_carries_no_token_and_one_without_a_body_repeats_its_subject(
    receiver: HTTPReceiver,
) -> None:
    assert NTFY.send(make_message(body=""), destination(receiver.origin, topic=OPEN, token="")) == Delivered()
    document = json.loads(receiver.requests[0].body)
    assert document["message"] == document["title"] == "Water the plants"
    assert "Authorization" not in receiver.requests[0].headers


def test_done_and_snooze_act_without_opening_a_page(receiver: HTTPReceiver) -> None:
    answer, shown = "https://carillon.example/answer/0a1b/", "https://carillon.example/history/1/"
    NTFY.send(make_message(answer_url=answer, open_url=shown), destination(receiver.origin))
    document = json.loads(receiver.requests[0].body)
    done, snooze, opened = document["actions"]
    assert (done["label"], done["action"], done["method"], done["url"]) == ("Done", "http", "POST", answer)
    assert (done["body"], snooze["body"]) == ("answer=acknowledge", "answer=10-minutes")
    assert opened == {"action": "view", "label": "Open", "url": shown}
    assert document["click"] == shown
