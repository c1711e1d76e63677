import json
import re
from collections.abc import Iterator

import hypothesis
import pytest
from hypothesis import strategies

from demo.receivers import HTTPReceiver, Reply, Reset, discord
from demo.receivers.discord import FORUM, LIMITED, LIMITED_ALL, WEBHOOK
from notifications import providers
from notifications.message import Ambiguous, Delivered, Destination, Message, Rejected, Retryable
from notifications.text import utf16
from tests.providers.making import make_message, out_of_reach, stand_in

DISCORD = providers.get("discord")
URL = f"https://discord.com/api/webhooks/{WEBHOOK}"

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


@pytest.fixture
def api() -> Iterator[HTTPReceiver]:
    with stand_in("discord", discord.answer) as receiver:
        yield receiver


def worlds() -> Iterator[Destination]:
    """For the contract: destinations, each in another state of the world."""
    with stand_in("discord", discord.answer) as receiver:
        for webhook in (WEBHOOK, LIMITED, LIMITED_ALL, FORUM, WEBHOOK + "x", WEBHOOK.replace("1/", "2/")):
            yield make_destination(webhook)
        for told in (Reset(), Reply(200, body=b""), Reply(404, body=b"[]"), Reply(500), Reply(302), Reply(400)):
            receiver.answers.append(told)
            yield make_destination()
    for _ in out_of_reach("discord"):
        yield make_destination()


def keys_sent(message: Message) -> list[str]:
    """For the contract: a webhook has no place for a key."""
    return []


def test_a_message_has_the_documented_shape(api: HTTPReceiver) -> None:
    assert DISCORD.send(make_message(), make_destination()) == Delivered()
    [request] = api.requests
    assert (request.method, request.path) == ("POST", f"/api/webhooks/{WEBHOOK}?wait=true")
    assert request.headers["Content-Type"] == "application/json"
    assert re.fullmatch(r"DiscordBot \(https?://\S+, 1\)", request.headers["User-Agent"])
    assert json.loads(request.body) == {
        "embeds": [{"title": "Water the plants", "description": "The ferns too\\. ☂"}],
        "allowed_mentions": {"parse": []},
    }


def test_the_body_says_how_long_to_wait(api: HTTPReceiver) -> None:
    assert DISCORD.send(make_message(), make_destination(LIMITED)) == Retryable(
        "Discord answered 429 Too Many Requests.", 1.337
    )


def test_a_limit_on_all_that_is_sent_is_kept_too(api: HTTPReceiver) -> None:
    assert DISCORD.send(make_message(), make_destination(LIMITED_ALL)) == Retryable(
        "Discord answered 429 Too Many Requests.", 64.57
    )


def test_a_webhook_of_a_forum_is_told_apart(api: HTTPReceiver) -> None:
    answer = DISCORD.send(make_message(), make_destination(FORUM))
    assert isinstance(answer, Rejected)
    assert "Make one in a text channel" in answer.reason


def test_a_limit_by_the_network_has_no_json_and_a_header(api: HTTPReceiver) -> None:
    api.answer = Reply(429, {"Retry-After": "65"}, b"error code: 1015")
    answer = DISCORD.send(make_message(), make_destination())
    assert answer == Retryable("Discord answered 429 Too Many Requests.", 65)


def test_a_webhook_that_was_deleted_is_gone(api: HTTPReceiver) -> None:
    answer = DISCORD.send(make_message(), make_destination(WEBHOOK.replace("1/", "2/")))
    assert answer == Rejected("The webhook was deleted in Discord.", gone=True)


def test_another_token_is_rejected_with_advice(api: HTTPReceiver) -> None:
    answer = DISCORD.send(make_message(), make_destination(WEBHOOK + "x"))
    assert isinstance(answer, Rejected)
    assert not answer.gone
    assert "Copy its URL again" in answer.reason


def test_a_silent_service_leaves_the_outcome_unknown(api: HTTPReceiver) -> None:
    api.answer = Reset()
    assert isinstance(DISCORD.send(make_message(), make_destination()), Ambiguous)


def test_a_message_without_a_body_is_a_title(api: HTTPReceiver) -> None:
    assert DISCORD.send(make_message(body="  "), make_destination()) == Delivered()
    assert json.loads(api.requests[0].body)["embeds"] == [{"title": "Water the plants"}]


def test_a_link_stays_a_link_and_nothing_else_formats(api: HTTPReceiver) -> None:
    body = "see https://example.org/a_b_c?x=1 *now* @everyone <@1> <t:1:R> [x](https://evil.example) - # `x`"
    DISCORD.send(make_message(body=body), make_destination())
    assert json.loads(api.requests[0].body)["embeds"][0]["description"] == (
        "see https://example.org/a_b_c?x=1 \\*now\\* \\@everyone \\<\\@1\\> \\<t\\:1\\:R\\> "
        "\\[x\\]\\(https\\://evil\\.example\\) \\- \\# \\`x\\`"
    )


def test_what_is_escaped_counts_as_it_is_sent(api: HTTPReceiver) -> None:
    assert DISCORD.send(make_message(body="*👍🏽" * 3000), make_destination()) == Delivered()
    description = json.loads(api.requests[0].body)["embeds"][0]["description"]
    assert utf16(description) in range(4090, 4097)
    assert description.endswith(("👍🏽…", "\\*…"))


MARKUP = re.compile(r"(?<!\\)(?:\\\\)*[*_~`|<>#\[\]()@]")


@hypothesis.settings(max_examples=100, deadline=None, derandomize=True)
@hypothesis.given(
    subject=strategies.text(max_size=80),
    body=strategies.text(max_size=200) | strategies.text(alphabet="*_~`|<>#[]()@\\:/- 1.ahtps\n", max_size=200),
)
def test_no_text_formats_mentions_or_changes_the_request(subject: str, body: str) -> None:
    with stand_in("discord", discord.answer) as receiver:
        DISCORD.send(make_message(subject=subject, body=body), make_destination())
    document = json.loads(receiver.requests[0].body)
    assert set(document) == {"embeds", "allowed_mentions"}
    assert document["allowed_mentions"] == {"parse": []}
    [embed] = document["embeds"]
    for shown, typed in [(embed.get("title", ""), subject), (embed.get("description", ""), body)]:
        assert not MARKUP.search(re.sub(r"https?://[^\s\\]*", "", shown))
        if typed.strip():
            assert re.sub(r"\\(.)", r"\1", shown) == typed
