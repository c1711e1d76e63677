import json
import re
import time

import hypothesis
import pytest
from hypothesis import strategies

from demo.receivers import Hang, HTTPReceiver, Received, Reply, telegram
from demo.receivers.telegram import TOKEN
from notifications import providers
from notifications.message import Delivered, Destination, Rejected
from notifications.reasons import Code
from tests.network import answered, make_message, served
from work.answers import Ambiguous, Answer, Retryable
from work.reasons import Reason

TELEGRAM = providers.get("telegram")
ANSWER = telegram.answer


VALID = [{"token": TOKEN, "chat": chat} for chat in ("123456789", " -1001234567890 ", "@newsroom")]
INVALID = [
    ({"chat": "1"}, "token"),
    ({"token": TOKEN}, "chat"),
    *[({"token": token, "chat": "1"}, "token") for token in (TOKEN.replace("-", " "), "planted", TOKEN + "/../x")],
    *[({"token": TOKEN, "chat": chat}, "chat") for chat in ("12a", "--1", "@a b", "١٢٣")],
]
MOVED = Reply(400, body=b'{"ok": false, "parameters": {"migrate_to_chat_id": -4}}')


def make_destination(chat: str = "1", token: str = TOKEN) -> Destination:
    return TELEGRAM.destination({"token": token, "chat": chat})


def destinations(origin: str) -> list[Destination]:
    chats = ("1", "-100123", "@newsroom", "403", "4030", "4031", "-4032", "-4033", "404", "-4", "429", "500")
    return [*map(make_destination, chats), make_destination(token=TOKEN[:-1] + "y")]


def test_a_message_has_the_documented_shape(receiver: HTTPReceiver) -> None:
    assert TELEGRAM.send(make_message(), make_destination("-100123")) == Delivered()
    [request] = receiver.requests
    assert (request.method, request.path) == ("POST", f"/bot{TOKEN}/sendMessage")
    assert request.headers["Content-Type"] == "application/json"
    assert json.loads(request.body) == {
        "chat_id": "-100123",
        "text": "Water the plants\n\nThe ferns too. ☂",
        "link_preview_options": {"is_disabled": True},
    }


@pytest.mark.parametrize(
    ("chat", "answer"),
    [
        ("403", Rejected(Reason(Code.BLOCKED), gone=True)),
        ("4030", Rejected(Reason(Code.NOT_WRITTEN_FIRST))),
        ("4031", Rejected(Reason(Code.ACCOUNT_GONE), gone=True)),
        ("-4032", Rejected(Reason(Code.BLOCKED), gone=True)),
        ("-4033", Rejected(Reason(Code.NO_RIGHTS))),
        ("-4034", Rejected(Reason(Code.NO_RIGHTS))),
        ("404", Rejected(Reason(Code.NO_CHAT))),
        ("429", Retryable(answered("Telegram", 429), 7)),
        ("500", Retryable(answered("Telegram", 500))),
    ],
)
def test_each_answer_of_the_service_has_its_meaning(receiver: HTTPReceiver, chat: str, answer: Answer) -> None:
    assert TELEGRAM.send(make_message(), make_destination(chat)) == answer
    assert len(receiver.requests) == 1


def test_an_unknown_token_is_rejected(receiver: HTTPReceiver) -> None:
    answer = TELEGRAM.send(make_message(), make_destination(token=TOKEN[:-1] + "y"))
    assert isinstance(answer, Rejected)
    assert answer.reason.code == Code.BOT_TOKEN


def test_a_message_follows_a_group_that_became_a_supergroup(receiver: HTTPReceiver) -> None:
    assert TELEGRAM.send(make_message(), make_destination("-4")) == Delivered(moved_to={"chat": "-1004"})
    assert [json.loads(request.body)["chat_id"] for request in receiver.requests] == ["-4", "-1004"]


def test_a_move_is_followed_once_and_only_to_a_chat(receiver: HTTPReceiver) -> None:
    receiver.answer = MOVED
    assert isinstance(TELEGRAM.send(make_message(), make_destination("-3")), Rejected)
    assert len(receiver.requests) == 2
    receiver.answer = Reply(400, body=MOVED.body.replace(b"-4", b'"http://x/"'))
    assert isinstance(TELEGRAM.send(make_message(), make_destination("-3")), Rejected)
    assert len(receiver.requests) == 3


def test_both_tries_of_a_move_share_one_deadline(receiver: HTTPReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(TELEGRAM), "deadline", 2.0)

    def move_slowly(request: Received) -> Reply | Hang:
        if len(receiver.requests) > 1:
            return Hang()
        time.sleep(1.8)
        return MOVED

    receiver.answer = move_slowly
    start = time.monotonic()
    assert isinstance(TELEGRAM.send(make_message(), make_destination("-3")), Ambiguous | Retryable)
    assert time.monotonic() - start < 3.0


@hypothesis.settings(max_examples=60, deadline=None, derandomize=True)
@hypothesis.given(
    subject=strategies.text(max_size=200),
    body=strategies.text(max_size=300) | strategies.from_regex(r"(.*@[a-z]+ ?){1,5}", fullmatch=True),
)
def test_no_text_mentions_anybody_or_changes_the_request(subject: str, body: str) -> None:
    with served(ANSWER) as receiver:
        TELEGRAM.send(make_message(subject=subject, body=body), make_destination())
    document = json.loads(receiver.requests[0].body)
    assert set(document) == {"chat_id", "text", "link_preview_options"}
    assert document["chat_id"] == "1"
    assert not re.search(r"(?<!\w)@\w", document["text"])
    assert document["text"].replace("@\u2060", "@") == "\n\n".join(filter(None, (subject, body)))
