"""Discord, with a channel's webhook (https://docs.discord.com/developers/resources/webhook#execute-webhook)."""

import re
import time

from django import forms
from django.conf import settings
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from notifications.messages import markup
from notifications.messages.message import Delivered, Destination, Message, Rejected
from notifications.messages.text import around_links, fit, markdown_link, utf16
from notifications.net import post
from notifications.net.http import Response
from notifications.providers.base import IncomingWebhook, Limits, PatternField, Rate
from notifications.reasons import DeliveryCode
from work.answers import Answer
from work.reasons import Reason

EXAMPLE = "https://discord.com/api/webhooks/1234567890/…"

_WEBHOOK = re.compile(r"[0-9]{15,20}/[A-Za-z0-9_-]{30,120}(?:\?thread_id=[0-9]{15,20})?")
_URL = re.compile(
    rf"https://(?:(?:canary|ptb)\.)?discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/({_WEBHOOK.pattern})/?"
)

_SPECIAL = re.compile(r"[\\*_~`|<>#\[\]()@:.+-]")

_GONE = {10015: DeliveryCode.WEBHOOK_REMOVED, 10003: DeliveryCode.CHAT_DELETED}
_REFUSED = {
    40067: DeliveryCode.FORUM,
    50083: DeliveryCode.CHAT_ARCHIVED,
    160005: DeliveryCode.CHAT_ARCHIVED,
    200000: DeliveryCode.MODERATED,
    200001: DeliveryCode.MODERATED,
}
_NEEDS_THREAD = 220001  # a webhook of a forum


class DiscordForm(forms.Form):
    url = PatternField(
        _URL,
        format_lazy(_("This is not the URL of a Discord webhook. Enter one like {example}"), example=EXAMPLE),
        secret=True,
        label=_("Webhook URL"),
        max_length=300,
        help_text=_(
            "In Discord: edit the channel, Integrations, Webhooks, New webhook, Copy webhook URL. For a thread or a"
            " forum's post, add ?thread_id= and its id; in a forum, each message is a new post otherwise."
        ),
        error_messages={"required": format_lazy(_("Paste the webhook's URL, such as {example}"), example=EXAMPLE)},
    )


class Discord(IncomingWebhook):
    """Sends an embed. Webhooks take no idempotency key, so a message with an unknown outcome is not repeated."""

    kind = "discord"
    label = "Discord"
    position = 40
    recognises_repeats = False
    separate_answer_url = True
    # Of an embed's title and description; with the links they stay under the 6,000 of all embeds.
    limits = Limits(subject=256, body=4096, measure=utf16)
    # A webhook's X-RateLimit headers; the documentation names no numbers.
    rates = (Rate("discord-webhook", 5, 2.0, "channel"),)
    style = markup.MARKDOWN
    form = DiscordForm

    def webhook_id(self, webhook: str) -> str:
        """Return the digits before the token, or those of the thread."""
        return webhook.partition("?thread_id=")[2] or webhook.partition("/")[0]

    def escape(self, text: str) -> str:
        """Return `text` with a backslash before everything that formats, mentions or shows a time, except in links."""
        return around_links(text, lambda rest: _SPECIAL.sub(r"\\\g<0>", rest), markdown_link)

    def send(self, message: Message, destination: Destination) -> Answer:
        """Send, and wait until Discord confirms the message. In a forum, send it once more as a post of its own."""
        webhook = destination.secrets.get("webhook", "")
        if not _WEBHOOK.fullmatch(webhook):
            return post.damaged("webhook")
        rendered = self.render(message, destination)
        embed = {"title": rendered.subject.text, "description": rendered.body.text}
        links = " · ".join(f"[{label}]({url})" for label, url in message.links)
        url = f"{settings.SERVICE_URLS['discord']}/api/webhooks/{webhook}{'&' if '?' in webhook else '?'}wait=true"
        document = {
            "embeds": [
                {name: text for name, text in embed.items() if text.strip()}
                | ({"image": {"url": message.picture}} if message.picture else {}),
                *([{"description": links}] if links else []),
            ],
            "allowed_mentions": {"parse": []},
        }
        # https://docs.discord.com/developers/reference#user-agent: another format may be blocked.
        headers = {"User-Agent": f"DiscordBot ({settings.BASE_URL}, 1)"}
        expires = time.monotonic() + self.deadline

        def judge_first(response: Response) -> Answer:
            if response.status != 400 or post.json_object(response).get("code") != _NEEDS_THREAD:
                return _judge(response)
            left, name = max(0.0, expires - time.monotonic()), fit(message.subject or message.body, 100, utf16).text
            return post.post_json(url, {**document, "thread_name": name}, left, _judge, headers)

        return post.post_json(url, document, self.deadline, judge_first, headers)


def _judge(response: Response) -> Answer:
    if response.status in (200, 204):
        return Delivered()
    document = post.json_object(response)
    code = document.get("code")
    if response.status in (400, 404) and code in _GONE:
        return Rejected(Reason(_GONE[code], service="Discord"), gone=True)
    if response.status == 400 and code in _REFUSED:
        return Rejected(Reason(_REFUSED[code], service="Discord"))
    if response.status == 401:
        return Rejected(Reason(DeliveryCode.WEBHOOK_TOKEN, service="Discord"))
    return post.refused("Discord", response, document.get("retry_after"))
