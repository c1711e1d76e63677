import json
import re
import time

import pytest
from hypothesis import strategies

from demo.receivers import Hang, HTTPReceiver, Received, Reply, telegram
from demo.receivers.telegram import TOKEN
from notifications import providers
from notifications.messages.message import Delivered, Destination, Message, Rejected
from notifications.reasons import DeliveryCode
from tests.network import answered, make_message
from work.answers import Ambiguous, Retryable
from work.reasons import Reason

TELEGRAM = providers.get("telegram")
ANSWER = telegram.answer

LINKS_OF_CHATS = {
    "-1001234567890/42": "-1001234567890/42",
    "@newsroom/42": "@newsroom/42",
    "https://t.me/c/1234567890": "-1001234567890",
    "https://t.me/c/1234567890/42": "-1001234567890/42",
    "t.me/c/1234567890/42/1001/": "-1001234567890/42",
    "https://t.me/newsroom": "@newsroom",
    "https://t.me/newsroom/42/7": "@newsroom/42",
    "https://t.me/c/1234567890/1": "-1001234567890",  # the general topic
    "-1001234567890/11": "-1001234567890/11",
    "-1001234567890:11": "-1001234567890/11",
    "https://web.telegram.org/a/#-1001234567890_42": "-1001234567890/42",
    "https://web.telegram.org/k/#-1001234567890": "-1001234567890",
}
VALID = [{"token": TOKEN, "chat": chat} for chat in ("123456789", " -1001234567890 ", "@newsroom", *LINKS_OF_CHATS)]
INVALID = [
    ({"chat": "1"}, "token"),
    ({"token": TOKEN}, "chat"),
    *[({"token": token, "chat": "1"}, "token") for token in (TOKEN.replace("-", " "), "planted", TOKEN + "/../x")],
    *[({"token": TOKEN, "chat": chat}, "chat") for chat in ("12a", "--1", "@a b", "١٢٣", "1/a", "1/2/3")],
    *[
        ({"token": TOKEN, "chat": chat}, "chat")
        for chat in (
            "https://t.me/+AbCdEf",
            "https://t.me.example/c/1/2",
            "https://t.me/c/1/2?thread=3",
            "https://t.me/",
        )
    ],
]
MOVED = Reply(400, body=b'{"ok": false, "parameters": {"migrate_to_chat_id": -4}}')

SENT = (
    f"/bot{TOKEN}/sendMessage",
    {},
    {
        "chat_id": "-100123",
        "text": "Water the plants\n\nThe ferns too. ☂",
        "link_preview_options": {"is_disabled": True},
    },
)
MEANINGS = [
    ({"chat": "1"}, None, Delivered()),
    ({"chat": "@newsroom"}, None, Delivered()),
    ({"chat": "403"}, None, Rejected(Reason(DeliveryCode.BLOCKED), gone=True)),
    ({"chat": "4030"}, None, Rejected(Reason(DeliveryCode.NOT_WRITTEN_FIRST))),
    ({"chat": "4031"}, None, Rejected(Reason(DeliveryCode.ACCOUNT_GONE), gone=True)),
    ({"chat": "-4032"}, None, Rejected(Reason(DeliveryCode.BLOCKED), gone=True)),
    ({"chat": "-4033"}, None, Rejected(Reason(DeliveryCode.NO_RIGHTS))),
    ({"chat": "-4034"}, None, Rejected(Reason(DeliveryCode.NO_RIGHTS))),
    ({"chat": "-100123/42"}, None, Delivered()),
    ({"chat": "-100123/43"}, None, Rejected(Reason(DeliveryCode.NO_TOPIC))),
    ({"chat": "-100123/44"}, None, Rejected(Reason(DeliveryCode.NO_TOPIC))),
    ({"chat": "404"}, None, Rejected(Reason(DeliveryCode.NO_CHAT))),
    ({"chat": "429"}, None, Retryable(answered("Telegram", 429), 7)),
    ({"chat": "500"}, None, Retryable(answered("Telegram", 500))),
    ({"token": TOKEN[:-1] + "y"}, None, Rejected(Reason(DeliveryCode.BOT_TOKEN))),
]

TEXTS = {"text"}
TEXT = strategies.from_regex(r"(.*@[a-z]+ ?){1,5}", fullmatch=True)


def destination(origin: str = "", chat: str = "-100123", token: str = TOKEN) -> Destination:
    return TELEGRAM.destination({"token": token, "chat": chat})


def check_text(request: Received, message: Message) -> None:
    text = json.loads(request.body)["text"]
    assert not re.search(r"(?<!\w)@\w", re.sub(r"https?://\S+", "", text))
    assert text.replace("@\u2060", "@") == "\n\n".join(filter(None, (message.subject, message.body)))


def test_a_message_follows_a_group_that_became_a_supergroup(receiver: HTTPReceiver) -> None:
    assert TELEGRAM.send(make_message(), destination(chat="-4")) == Delivered(moved_to={"chat": "-1004"})
    assert [json.loads(request.body)["chat_id"] for request in receiver.requests] == ["-4", "-1004"]


@pytest.mark.parametrize(("typed", "chat"), LINKS_OF_CHATS.items())
def test_a_chat_is_named_by_its_link_too(typed: str, chat: str) -> None:
    form = TELEGRAM.form({"token": TOKEN, "chat": typed})
    assert form.is_valid()
    assert TELEGRAM.destination(form.cleaned_data).address == {"chat": chat}


def test_a_message_goes_to_a_topic(receiver: HTTPReceiver) -> None:
    assert TELEGRAM.send(make_message(), destination(chat="-100123/42")) == Delivered()
    document = json.loads(receiver.requests[0].body)
    assert (document["chat_id"], document["message_thread_id"]) == ("-100123", 42)


def test_a_move_is_followed_once_and_only_to_a_chat(receiver: HTTPReceiver) -> None:
    receiver.answer = MOVED
    assert isinstance(TELEGRAM.send(make_message(), destination(chat="-3")), Rejected)
    assert len(receiver.requests) == 2
    receiver.answer = Reply(400, body=MOVED.body.replace(b"-4", b'"http://x/"'))
    assert isinstance(TELEGRAM.send(make_message(), destination(chat="-3")), Rejected)
    assert len(receiver.requests) == 3


def test_both_tries_of_a_move_share_one_deadline(receiver: HTTPReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(TELEGRAM), "deadline", 4.0)

    def move_slowly(request: Received) -> Reply | Hang:
        if len(receiver.requests) > 1:
            return Hang()
        time.sleep(3.6)
        return MOVED

    receiver.answer = move_slowly
    start = time.monotonic()
    assert isinstance(TELEGRAM.send(make_message(), destination(chat="-3")), Ambiguous | Retryable)
    assert time.monotonic() - start < 7.2  # one for each would end after 7.6 s


LINKS = {
    "answer_url": "https://carillon.example/answer/0a1b/",
    "open_url": "https://carillon.example/history/1/",
    "unsubscribe_url": "https://carillon.example/leave/0c/",
}


def test_links_are_buttons_below_the_text(receiver: HTTPReceiver) -> None:
    assert TELEGRAM.send(make_message(**LINKS), destination()) == Delivered()
    [request] = receiver.requests
    document = json.loads(request.body)
    rows = document["reply_markup"]["inline_keyboard"]
    assert [[button["text"] for button in row] for row in rows] == [["Done", "Snooze", "Open"], ["Stop these messages"]]
    assert rows[0][1]["url"] == f"{LINKS['answer_url']}#snooze"
    assert "https://" not in document["text"]


def test_links_that_telegram_takes_for_no_button_are_sent_in_the_text(receiver: HTTPReceiver) -> None:
    at_home = {name: url.replace("https://carillon.example", "http://nas:8000") for name, url in LINKS.items()}
    assert TELEGRAM.send(make_message(**at_home), destination()) == Delivered()
    _, request = receiver.requests
    document = json.loads(request.body)
    assert "reply_markup" not in document
    assert at_home["answer_url"] in document["text"]
