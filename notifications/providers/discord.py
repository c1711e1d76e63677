"""Discord, over a channel's webhook (https://docs.discord.com/developers/resources/webhook#execute-webhook)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.conf import settings

from notifications.causes import Code
from notifications.message import Answer, Delivered, Destination, Message, Rejected
from notifications.net import http, post
from notifications.providers.base import Limits, Provider, Rate, damaged
from notifications.text import utf16

EXAMPLE = "https://discord.com/api/webhooks/1234567890/…"

_WEBHOOK = re.compile(r"[0-9]{15,20}/[A-Za-z0-9_-]{30,120}")
_URL = re.compile(
    rf"https://(?:(?:canary|ptb)\.)?discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/({_WEBHOOK.pattern})/?"
)
_DAMAGED = damaged("webhook")

# Discord shows a backslash before punctuation as nothing, but within a link as part of the address: a link stays bare
# as far as it holds nothing that formats, an underscore excepted, which formats nothing there.
_SPECIAL = re.compile(r"(https?://[A-Za-z0-9_./?=&%+:,;~-]*[A-Za-z0-9_/])(?![^\s])|([\\*_~`|<>#\[\]()@:.+-])")

_GONE = {10015: "The webhook was deleted in Discord.", 10003: "The webhook's channel was deleted in Discord."}
_FORUM = "The webhook belongs to a forum, where each message would be a post of its own. Make one in a text channel."
_BLOCKED = "The server's AutoMod does not let the message through. Ask those who run the server to allow it."
_REFUSED = {220001: _FORUM, 200000: _BLOCKED, 200001: _BLOCKED}


class DiscordForm(forms.Form):
    """The address of the webhook."""

    url = forms.CharField(
        label="Webhook URL",
        max_length=300,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="In Discord: edit the channel, Integrations, Webhooks, New webhook, Copy webhook URL.",
        error_messages={"required": f"Paste the webhook's URL, such as {EXAMPLE}"},
    )

    def clean_url(self) -> str:
        """Return the webhook's id and token, "1234567890/…"."""
        found = _URL.fullmatch(self.cleaned_data["url"])
        if found is None:
            raise forms.ValidationError(f"This is not the URL of a Discord webhook. One looks like {EXAMPLE}")
        return found[1]


class Discord(Provider):
    """Writes an embed. Webhooks know no keys: a message whose end is unknown is not sent again."""

    kind = "discord"
    label = "Discord"
    icon = "discord"
    position = 40
    recognises_repeats = False
    # Of an embed's title and description; both stay under the 6,000 that an embed may have in all.
    limits = Limits(subject=256, body=4096, measure=utf16)
    form: ClassVar[type[forms.Form]] = DiscordForm

    @property
    def rates(self) -> tuple[Rate, ...]:
        """Return what a webhook's X-RateLimit headers say; the documentation names no numbers."""
        return (Rate("discord-webhook", 5, 2.0, "channel"),)

    def destination(self, cleaned: Mapping[str, Any]) -> Destination:
        """Return address {"ending"} of the webhook's id, secrets {"webhook"}: who knows the URL can post."""
        webhook: str = cleaned["url"]
        return Destination(address={"ending": webhook.partition("/")[0][-4:]}, secrets={"webhook": webhook})

    def withheld(self, destination: Destination) -> dict[str, Any]:
        """Return what of the webhook's URL is kept."""
        return {"url": destination.secrets["webhook"]} if "webhook" in destination.secrets else {}

    def summary(self, destination: Destination) -> str:
        """Return the last digits of the webhook's id."""
        return f"Webhook …{destination.address.get('ending', '')}"

    def escape(self, text: str) -> str:
        """Return `text` with a backslash before all that formats, mentions or shows a time; links stay links."""
        return _SPECIAL.sub(lambda found: found[1] or f"\\{found[2]}", text)

    def send(self, message: Message, destination: Destination) -> Answer:
        """Send it, and wait for Discord's word that it is there."""
        webhook = destination.secrets.get("webhook", "")
        if not _WEBHOOK.fullmatch(webhook):
            return _DAMAGED
        written = self.written(message, destination)
        embed = {"title": written.subject.text, "description": written.body.text}
        answer = post.post_json(
            f"{settings.SERVICE_URLS['discord']}/api/webhooks/{webhook}?wait=true",
            {
                "embeds": [{name: text for name, text in embed.items() if text.strip()}],
                "allowed_mentions": {"parse": []},
            },
            self.deadline,
            # https://docs.discord.com/developers/reference#user-agent: one of another shape may be blocked.
            {"User-Agent": f"DiscordBot ({settings.BASE_URL}, 1)"},
        )
        return _judge(answer) if isinstance(answer, http.Response) else answer


def _judge(response: http.Response) -> Answer:
    if response.status in (200, 204):
        return Delivered()
    document = post.document(response)
    if later := post.later("Discord", response, document.get("retry_after")):
        return later
    code = document.get("code")
    if response.status == 404 and code in _GONE:
        return Rejected(_GONE[code], True, f"{Code.ANSWER}-{code}")
    if response.status == 400 and code in _REFUSED:
        return Rejected(_REFUSED[code], code=f"{Code.ANSWER}-{code}")
    if response.status == 401:
        reason = "Discord does not accept the webhook's token. Copy its URL again, and change the channel."
        return Rejected(reason, code=Code.TOKEN)
    return post.refused("Discord", response)
