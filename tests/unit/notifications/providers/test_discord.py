import json
import re

import hypothesis
import pytest
from hypothesis import strategies

from demo.receivers import HTTPReceiver, Reply, discord
from demo.receivers.discord import FORUM, LIMITED, LIMITED_ALL, WEBHOOK
from notifications import providers
from notifications.message import Delivered, Destination, Rejected
from notifications.reasons import Code
from tests.network import answered, make_message, served
from work.answers import Answer, Retryable
from work.reasons import Reason

DISCORD = providers.get("discord")
ANSWER = discord.answer
URL = f"https://discord.com/api/webhooks/{WEBHOOK}"
DELETED = WEBHOOK.replace("1/", "2/")

VALID = [
    {"url": URL},
    {"url": f" https://discordapp.com/api/webhooks/{WEBHOOK}/ "},
    {"url": f"https://canary.discord.com/api/v10/webhooks/{WEBHOOK}"},
]
INVALID = [
    ({}, "url"),
    ({"url": f"https://example.org/api/webhooks/{WEBHOOK}"}, "url"),
    ({"url": f"https://discord.com.example.org/api/webhooks/{WEBHOOK}"}, "url"),
    ({"url": f"https://discord.com@example.org/api/webhooks/{WEBHOOK}"}, "url"),
    ({"url": f"http://discord.com/api/webhooks/{WEBHOOK}"}, "url"),
    ({"url": f"{URL}/github"}, "url"),
    ({"url": f"{URL}?wait=true"}, "url"),
    ({"url": "https://discord.com/api/webhooks/1/planted"}, "url"),
    ({"url": "https://discord.com/channels/1/2"}, "url"),
]


def make_destination(webhook: str = WEBHOOK) -> Destination:
    return DISCORD.destination({"url": webhook})


def destinations(origin: str) -> list[Destination]:
    return [*map(make_destination, (WEBHOOK, LIMITED, LIMITED_ALL, FORUM, WEBHOOK + "x", DELETED))]


def test_a_message_has_the_documented_shape(receiver: HTTPReceiver) -> None:
    assert DISCORD.send(make_message(), make_destination()) == Delivered()
    [request] = receiver.requests
    assert (request.method, request.path) == ("POST", f"/api/webhooks/{WEBHOOK}?wait=true")
    assert request.headers["Content-Type"] == "application/json"
    assert re.fullmatch(r"DiscordBot \(https?://\S+, 1\)", request.headers["User-Agent"])
    assert json.loads(request.body) == {
        "embeds": [{"title": "Water the plants", "description": "The ferns too\\. ☂"}],
        "allowed_mentions": {"parse": []},
    }


@pytest.mark.parametrize(
    ("webhook", "answer"),
    [
        (LIMITED, Retryable(answered("Discord", 429), 1.337)),
        (LIMITED_ALL, Retryable(answered("Discord", 429), 64.57)),
        (DELETED, Rejected(Reason(Code.WEBHOOK_REMOVED, service="Discord"), gone=True)),
        (FORUM, Rejected(Reason(Code.FORUM))),
        (WEBHOOK + "x", Rejected(Reason(Code.WEBHOOK_TOKEN, service="Discord"))),
    ],
)
def test_each_answer_of_the_service_has_its_meaning(receiver: HTTPReceiver, webhook: str, answer: Answer) -> None:
    assert DISCORD.send(make_message(), make_destination(webhook)) == answer


def test_a_limit_of_the_network_has_a_header_instead_of_json(receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(429, {"Retry-After": "65"}, b"error code: 1015")
    answer = DISCORD.send(make_message(), make_destination())
    assert answer == Retryable(answered("Discord", 429), 65)


def test_a_message_without_a_body_is_a_title(receiver: HTTPReceiver) -> None:
    assert DISCORD.send(make_message(body="  "), make_destination()) == Delivered()
    assert json.loads(receiver.requests[0].body)["embeds"] == [{"title": "Water the plants"}]


def test_a_link_stays_a_link_and_nothing_else_formats() -> None:
    body = "see https://example.org/a_b_c?x=1 *now* @everyone <@1> <t:1:R> [x](https://evil.example) - # `x`"
    assert DISCORD.escape(body) == (
        "see https://example.org/a_b_c?x=1 \\*now\\* \\@everyone \\<\\@1\\> \\<t\\:1\\:R\\> "
        "\\[x\\]\\(https\\://evil\\.example\\) \\- \\# \\`x\\`"
    )


MARKUP = re.compile(r"(?<!\\)(?:\\\\)*[*_~`|<>#\[\]()@]")


@hypothesis.settings(max_examples=100, deadline=None, derandomize=True)
@hypothesis.given(
    subject=strategies.text(max_size=80),
    body=strategies.text(max_size=200) | strategies.text(alphabet="*_~`|<>#[]()@\\:/- 1.ahtps\n", max_size=200),
)
def test_no_text_formats_mentions_or_changes_the_request(subject: str, body: str) -> None:
    with served(ANSWER) as receiver:
        DISCORD.send(make_message(subject=subject, body=body), make_destination())
    document = json.loads(receiver.requests[0].body)
    assert set(document) == {"embeds", "allowed_mentions"}
    assert document["allowed_mentions"] == {"parse": []}
    [embed] = document["embeds"]
    for shown, typed in [(embed.get("title", ""), subject), (embed.get("description", ""), body)]:
        assert not MARKUP.search(re.sub(r"https?://[^\s\\]*", "", shown))
        if typed.strip():
            assert re.sub(r"\\(.)", r"\1", shown) == typed
