import json

import pytest
from hypothesis import strategies

from demo.receivers import HTTPReceiver, Received, matrix
from demo.receivers.matrix import LIMITED, ROOM, TOKEN
from notifications import providers
from notifications.messages.message import Delivered, Destination, Message, Rejected
from notifications.reasons import DeliveryCode
from tests.network import KEY, answered, make_message
from work.answers import Retryable
from work.reasons import Reason

MATRIX = providers.get("matrix")
ANSWER = matrix.answer
METHOD = "PUT"

VALID = [
    {"server": "https://matrix.example.org", "room": ROOM, "token": TOKEN},
    {
        "server": "http://matrix.example.org:8008/",
        "room": "!31hneApxJ_1o-63DmFrpeqnkFfWppnzWso1JvH3ogLM",
        "token": TOKEN,
    },
]
_RIGHT = VALID[0]
INVALID = [
    ({"room": ROOM, "token": TOKEN}, "server"),
    *[({**_RIGHT, "server": url}, "server") for url in ("http://10.0.0.1/", "https://matrix.example.org/?x=1")],
    *[
        ({**_RIGHT, "room": room}, "room")
        for room in ("", "#ferns:example.org", "!a b:example.org", "!a/b", "!" + "x" * 300)
    ],
    *[({**_RIGHT, "token": token}, "token") for token in ("", "planted", TOKEN + " x")],
]

SENT = (
    f"/_matrix/client/v3/rooms/%21ferns%3Aexample.org/send/m.room.message/{KEY}",
    {"Authorization": f"Bearer {TOKEN}"},
    {"msgtype": "m.text", "body": "Water the plants\n\nThe ferns too. ☂", "m.mentions": {}},
)
MEANINGS = [
    ({"token": TOKEN + "x"}, None, Rejected(Reason(DeliveryCode.ACCESS_TOKEN, service="Matrix"))),
    ({"room": "!other:example.org"}, None, Rejected(Reason(DeliveryCode.NOT_IN_ROOM))),
    ({"room": LIMITED}, None, Retryable(answered("the homeserver", 429), 2.5)),
]

TEXTS = {"body"}
TEXT = strategies.nothing()


def destination(origin: str, room: str = ROOM, token: str = TOKEN) -> Destination:
    return MATRIX.destination({"server": origin, "room": room, "token": token})


def key_of(request: Received) -> str:
    return request.path.rpartition("/")[2]


def check_text(request: Received, message: Message) -> None:
    assert json.loads(request.body)["body"] == "\n\n".join(filter(None, (message.subject, message.body)))


def test_a_message_is_put_so_that_a_repeat_is_the_same_transaction(receiver: HTTPReceiver) -> None:
    for _ in range(2):
        assert MATRIX.send(make_message(), destination(receiver.origin)) == Delivered()
    assert [request.method for request in receiver.requests] == ["PUT", "PUT"]
    assert len({request.path for request in receiver.requests}) == 1


@pytest.mark.parametrize(
    "path", ["", "/", "/_matrix", "/_matrix/client/v3/", "/chat/_matrix/client", "/#/room/!x:example.org"]
)
def test_the_address_of_the_api_names_its_server(path: str) -> None:
    form = MATRIX.form({**_RIGHT, "server": f"https://matrix.example.org{path}"})
    assert form.is_valid()
    before = "/chat" if path.startswith("/chat") else ""
    assert MATRIX.destination(form.cleaned_data).address["url"] == f"https://matrix.example.org{before}"
