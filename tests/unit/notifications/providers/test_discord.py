import json
import re

from hypothesis import strategies

from demo.receivers import HTTPReceiver, Received, Reply, discord
from demo.receivers.discord import FORUM, LIMITED, LIMITED_ALL, LOCKED, TAGGED, THREAD, WEBHOOK
from notifications import providers
from notifications.messages.message import Delivered, Destination, Message, Rejected
from notifications.reasons import DeliveryCode
from tests.network import answered, make_message
from work.answers import Retryable
from work.reasons import Reason

DISCORD = providers.get("discord")
ANSWER = discord.answer
URL = f"https://discord.com/api/webhooks/{WEBHOOK}"

VALID = [
    {"url": URL},
    {"url": f" https://discordapp.com/api/webhooks/{WEBHOOK}/ "},
    {"url": f"https://canary.discord.com/api/v10/webhooks/{WEBHOOK}"},
    {"url": f"{URL}?thread_id={THREAD}"},
]
WRONG = [
    f"https://example.org/api/webhooks/{WEBHOOK}",
    f"https://discord.com.example.org/api/webhooks/{WEBHOOK}",
    f"https://discord.com@example.org/api/webhooks/{WEBHOOK}",
    f"http://discord.com/api/webhooks/{WEBHOOK}",
    f"{URL}/github",
    f"{URL}?wait=true",
    f"{URL}?thread_id=",
    f"{URL}?thread_id={THREAD}&wait=true",
    "https://discord.com/api/webhooks/1/planted",
    "https://discord.com/channels/1/2",
]
INVALID = [({}, "url"), *[({"url": url}, "url") for url in WRONG]]

SENT = (
    f"/api/webhooks/{WEBHOOK}?wait=true",
    {},
    {
        "embeds": [{"title": "Water the plants", "description": "The ferns too\\. ☂"}],
        "allowed_mentions": {"parse": []},
    },
)
MEANINGS = [
    ({"webhook": LIMITED}, None, Retryable(answered("Discord", 429), 1.337)),
    ({"webhook": LIMITED_ALL}, None, Retryable(answered("Discord", 429), 64.57)),
    (
        {"webhook": WEBHOOK.replace("1/", "2/")},
        None,
        Rejected(Reason(DeliveryCode.WEBHOOK_REMOVED, service="Discord"), gone=True),
    ),
    ({"webhook": f"{WEBHOOK}?thread_id={THREAD}"}, None, Delivered()),
    ({"webhook": f"{FORUM}?thread_id={THREAD}"}, None, Delivered()),
    (
        {"webhook": f"{WEBHOOK}?thread_id={THREAD}9"},
        None,
        Rejected(Reason(DeliveryCode.CHAT_DELETED, service="Discord"), gone=True),
    ),
    (
        {"webhook": f"{WEBHOOK}?thread_id={LOCKED}"},
        None,
        Rejected(Reason(DeliveryCode.CHAT_ARCHIVED, service="Discord")),
    ),
    ({"webhook": WEBHOOK + "x"}, None, Rejected(Reason(DeliveryCode.WEBHOOK_TOKEN, service="Discord"))),
    # A limit of the network in front has a header instead of JSON.
    ({}, Reply(429, {"Retry-After": "65"}, b"error code: 1015"), Retryable(answered("Discord", 429), 65)),
]

TEXTS = {"embeds"}
TEXT = strategies.text(alphabet="*_~`|<>#[]()@\\:/- 1.ahtps\n", max_size=200)
LINK = re.compile(r"<(https?://[^\s>]+)>|(?<!\w)(https?://\S+)")
MARKUP = re.compile(r"(?<!\\)(?:\\\\)*[*_~`|<>#\[\]()@]")


def destination(origin: str = "", webhook: str = WEBHOOK) -> Destination:
    return DISCORD.destination({"url": webhook})


def check_text(request: Received, message: Message) -> None:
    [embed] = json.loads(request.body)["embeds"]
    for shown, typed in [(embed.get("title", ""), message.subject), (embed.get("description", ""), message.body)]:
        assert not MARKUP.search(LINK.sub("", shown))
        if typed.strip():
            assert re.sub(r"\\(.)", r"\1", LINK.sub(lambda link: link[1] or link[2], shown)) == typed


def test_the_sender_names_itself_as_discord_requires(receiver: HTTPReceiver) -> None:
    DISCORD.send(make_message(), destination())
    assert re.fullmatch(r"DiscordBot \(https?://\S+, 1\)", receiver.requests[0].headers["User-Agent"])


def test_in_a_forum_each_message_is_a_post_with_a_name(receiver: HTTPReceiver) -> None:
    assert DISCORD.send(make_message(subject="Water * 2 " + "🌿" * 80), destination(webhook=FORUM)) == Delivered()
    _, request = receiver.requests
    name = json.loads(request.body)["thread_name"]
    assert name.startswith("Water * 2 🌿")
    assert len(name.encode("utf-16-le")) <= 200
    tagged = DISCORD.send(make_message(), destination(webhook=TAGGED))
    assert tagged == Rejected(Reason(DeliveryCode.FORUM, service="Discord"))


def test_a_thread_is_told_from_its_channel() -> None:
    summaries = [
        DISCORD.summary(destination(webhook=webhook)) for webhook in (WEBHOOK, f"{WEBHOOK}?thread_id={LOCKED}")
    ]
    assert summaries == ["Webhook …0001", "Webhook …0002"]


def test_a_message_without_a_body_is_a_title(receiver: HTTPReceiver) -> None:
    assert DISCORD.send(make_message(body="  "), destination()) == Delivered()
    assert json.loads(receiver.requests[0].body)["embeds"] == [{"title": "Water the plants"}]


def test_a_link_stays_a_link_and_nothing_else_formats() -> None:
    body = "see https://example.org/a_b_c?x=1 *now* @everyone <@1> <t:1:R> [x](https://evil.example) - # `x`"
    assert DISCORD.escape(body) == (
        "see https://example.org/a_b_c?x=1 \\*now\\* \\@everyone \\<\\@1\\> \\<t\\:1\\:R\\> "
        "\\[x\\]\\(<https://evil.example>\\) \\- \\# \\`x\\`"
    )
