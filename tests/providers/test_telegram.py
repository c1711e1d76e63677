import json
import re
import time
from collections.abc import Iterator

import hypothesis
import pytest
from hypothesis import strategies

from demo.receivers import Hang, HTTPReceiver, Received, Reply, Reset, telegram
from demo.receivers.telegram import TOKEN
from notifications import providers
from notifications.message import Ambiguous, Answer, Delivered, Destination, Message, Rejected, Retryable
from notifications.text import utf16
from tests.providers.making import make_message, out_of_reach, stand_in

TELEGRAM = providers.get("telegram")

NO_RIGHTS = "The bot may not write in this chat. Let it post messages: in a channel, only an administrator may."

VALID = [
    {"token": TOKEN, "chat": "123456789"},
    {"token": TOKEN, "chat": " -1001234567890 "},
    {"token": TOKEN, "chat": "@newsroom"},
]
INVALID = [
    ({"chat": "1"}, "token"),
    ({"token": TOKEN}, "chat"),
    ({"token": TOKEN.replace("-", " "), "chat": "1"}, "token"),
    ({"token": "planted", "chat": "1"}, "token"),
    ({"token": TOKEN + "/../x", "chat": "1"}, "token"),
    ({"token": TOKEN, "chat": "12a"}, "chat"),
    ({"token": TOKEN, "chat": "--1"}, "chat"),
    ({"token": TOKEN, "chat": "@a b"}, "chat"),
    ({"token": TOKEN, "chat": "١٢٣"}, "chat"),
]


def make_destination(chat: str = "1", token: str = TOKEN) -> Destination:
    return TELEGRAM.destination({"token": token, "chat": chat})


@pytest.fixture
def bot_api() -> Iterator[HTTPReceiver]:
    with stand_in("telegram", telegram.answer) as receiver:
        yield receiver


def worlds() -> Iterator[Destination]:
    """For the contract: destinations, each in another state of the world."""
    with stand_in("telegram", telegram.answer) as receiver:
        for chat in ("1", "-100123", "@newsroom", "403", "4030", "4031", "-4032", "-4033", "404", "-4", "429", "500"):
            yield make_destination(chat)
        yield make_destination(token=TOKEN[:-1] + "y")
        for told in (Reset(), Reply(200, body=b""), Reply(400, body=b"[]"), Reply(302), Reply(418, body=b"\xff")):
            receiver.answers.append(told)
            yield make_destination()
    for _ in out_of_reach("telegram"):
        yield make_destination()


def keys_sent(message: Message) -> list[str]:
    """For the contract: Telegram has no place for a key."""
    return []


def test_a_message_has_the_documented_shape(bot_api: HTTPReceiver) -> None:
    assert TELEGRAM.send(make_message(), make_destination("-100123")) == Delivered()
    [request] = bot_api.requests
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
        ("403", Rejected("The bot was blocked, or removed from the chat.", gone=True)),
        ("4030", Rejected("The bot may not write first. Send it a message in Telegram, then try again.")),
        ("4031", Rejected("The Telegram account that the bot wrote to does not exist any more.", gone=True)),
        ("-4032", Rejected("The bot was blocked, or removed from the chat.", gone=True)),
        ("-4033", Rejected(NO_RIGHTS)),
        ("-4034", Rejected(NO_RIGHTS)),
        (
            "404",
            Rejected("The bot finds no chat of this id. Send the bot a message, or add it to the group, first."),
        ),
        ("429", Retryable("Telegram answered 429 Too Many Requests.", 7)),
        ("500", Retryable("Telegram answered 500 Internal Server Error.")),
    ],
)
def test_each_answer_of_the_service_has_its_meaning(bot_api: HTTPReceiver, chat: str, answer: Answer) -> None:
    assert TELEGRAM.send(make_message(), make_destination(chat)) == answer
    assert len(bot_api.requests) == 1


def test_an_unknown_token_is_rejected(bot_api: HTTPReceiver) -> None:
    answer = TELEGRAM.send(make_message(), make_destination(token=TOKEN[:-1] + "y"))
    assert isinstance(answer, Rejected)
    assert "bot token" in answer.reason


def test_a_group_that_became_a_supergroup_is_followed_and_told(bot_api: HTTPReceiver) -> None:
    assert TELEGRAM.send(make_message(), make_destination("-4")) == Delivered(moved_to={"chat": "-1004"})
    assert [json.loads(request.body)["chat_id"] for request in bot_api.requests] == ["-4", "-1004"]


def test_a_move_is_followed_once_and_only_to_a_chat(bot_api: HTTPReceiver) -> None:
    bot_api.answer = moved = Reply(400, body=b'{"ok": false, "parameters": {"migrate_to_chat_id": -4}}')
    assert isinstance(TELEGRAM.send(make_message(), make_destination("-3")), Rejected)
    assert len(bot_api.requests) == 2
    bot_api.answer = Reply(400, body=moved.body.replace(b"-4", b'"http://x/"'))
    assert isinstance(TELEGRAM.send(make_message(), make_destination("-3")), Rejected)
    assert len(bot_api.requests) == 3


def test_both_tries_of_a_move_share_one_deadline(bot_api: HTTPReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(TELEGRAM), "deadline", 2.0)

    def move_slowly(request: Received) -> Reply | Hang:
        if len(bot_api.requests) > 1:
            return Hang()
        time.sleep(1.8)
        return Reply(400, body=b'{"ok": false, "parameters": {"migrate_to_chat_id": -4}}')

    bot_api.answer = move_slowly
    start = time.monotonic()
    assert isinstance(TELEGRAM.send(make_message(), make_destination("-3")), Ambiguous | Retryable)
    assert time.monotonic() - start < 3.0


def test_a_silent_service_leaves_the_outcome_unknown(bot_api: HTTPReceiver) -> None:
    bot_api.answer = Reset()
    assert isinstance(TELEGRAM.send(make_message(), make_destination()), Ambiguous)


def test_a_long_text_is_cut_as_telegram_counts(bot_api: HTTPReceiver) -> None:
    assert TELEGRAM.send(make_message(body="👍🏽" * 3000), make_destination()) == Delivered()
    text = json.loads(bot_api.requests[0].body)["text"]
    assert utf16(text) in range(4092, 4097)
    assert text.endswith("👍🏽…")


@hypothesis.settings(max_examples=60, deadline=None, derandomize=True)
@hypothesis.given(
    subject=strategies.text(max_size=200),
    body=strategies.text(max_size=300) | strategies.from_regex(r"(.*@[a-z]+ ?){1,5}", fullmatch=True),
)
def test_no_text_mentions_anybody_or_changes_the_request(subject: str, body: str) -> None:
    with stand_in("telegram", telegram.answer) as receiver:
        TELEGRAM.send(make_message(subject=subject, body=body), make_destination())
    document = json.loads(receiver.requests[0].body)
    assert set(document) == {"chat_id", "text", "link_preview_options"}
    assert document["chat_id"] == "1"
    assert not re.search(r"(?<!\w)@\w", document["text"])
    assert document["text"].replace("@\u2060", "@") == "\n\n".join(filter(None, (subject, body)))
