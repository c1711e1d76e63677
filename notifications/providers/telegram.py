"""Telegram, over a person's own bot (https://core.telegram.org/bots/api#sendmessage)."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.conf import settings

from notifications.causes import Code
from notifications.message import Answer, Delivered, Destination, Message, Rejected
from notifications.net import http, post
from notifications.providers.base import Limits, Provider, Rate, damaged
from notifications.text import utf16

_TOKEN = re.compile(r"[0-9]{5,20}:[A-Za-z0-9_-]{30,60}")
_CHAT = re.compile(r"-?[0-9]{1,20}|@[A-Za-z][A-Za-z0-9_]{3,31}")
_NO_RIGHTS = "The bot may not write in this chat. Let it post messages: in a channel, only an administrator may."
_DAMAGED = damaged("bot token or chat")


class TelegramForm(forms.Form):
    """The bot that speaks, and the chat in which it does."""

    token = forms.CharField(
        label="Bot token",
        max_length=100,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="BotFather gives it to you when you make a bot with /newbot.",
        error_messages={"required": "Write the token that BotFather gave you, such as 123456:ABC-DEF1234…"},
    )
    chat = forms.CharField(
        label="Chat id",
        max_length=40,
        widget=forms.TextInput(attrs={"placeholder": "123456789", "autocomplete": "off"}),
        help_text="Your own is a number; a group's begins with a minus sign, a public channel's name with @. "
        "Send your bot a message first: it may not write to strangers.",
        error_messages={"required": "Write the chat's id, such as 123456789, or -1001234567890 for a group."},
    )

    def clean_token(self) -> str:
        """Return the token."""
        token: str = self.cleaned_data["token"]
        if not _TOKEN.fullmatch(token):
            raise forms.ValidationError(
                "A bot token is a number, a colon and at least 30 letters, digits, - or _, such as 123456:ABC-DEF1234…"
            )
        return token

    def clean_chat(self) -> str:
        """Return the chat's id."""
        chat: str = self.cleaned_data["chat"]
        if not _CHAT.fullmatch(chat):
            raise forms.ValidationError(
                "A chat id is a number, such as 123456789, or -1001234567890 for a group. "
                "A public channel has a name such as @newsroom."
            )
        return chat


class Telegram(Provider):
    """Writes plain text. Telegram knows no keys: a message whose end is unknown is not sent again."""

    kind = "telegram"
    label = "Telegram"
    icon = "telegram"
    position = 30
    recognises_repeats = False
    limits = Limits(body=4096, measure=utf16, joined=True)
    form: ClassVar[type[forms.Form]] = TelegramForm

    @property
    def rates(self) -> tuple[Rate, ...]:
        """Return what https://core.telegram.org/bots/faq says under "My bot is hitting limits"."""
        return (Rate("telegram", 30, 1.0, "service"), Rate("telegram-chat", 1, 1.0, "channel"))

    def destination(self, cleaned: Mapping[str, Any]) -> Destination:
        """Return address {"chat"}, secrets {"token"}."""
        return Destination(address={"chat": cleaned["chat"]}, secrets={"token": cleaned["token"]})

    def summary(self, destination: Destination) -> str:
        """Return the chat's id."""
        return f"Chat {destination.address.get('chat', '')}"

    def escape(self, text: str) -> str:
        """Return `text` with an invisible joiner within what Telegram would take for a mention of somebody."""
        return re.sub(r"(?<!\w)@(?=\w)", "@\N{WORD JOINER}", text)

    def send(self, message: Message, destination: Destination) -> Answer:
        """Send it, and once more where the group has become a supergroup with another id."""
        token, chat = destination.secrets.get("token", ""), str(destination.address.get("chat", ""))
        if not (_TOKEN.fullmatch(token) and _CHAT.fullmatch(chat)):
            return _DAMAGED
        url = f"{settings.SERVICE_URLS['telegram']}/bot{token}/sendMessage"
        # No parse_mode: the text is shown as it is. No preview: Telegram would fetch what the text links to.
        said = {"text": self.written(message, destination).body.text, "link_preview_options": {"is_disabled": True}}
        expires = time.monotonic() + self.deadline
        answer = post.post_json(url, {"chat_id": chat, **said}, self.deadline)
        moved = _new_chat(answer) if isinstance(answer, http.Response) else None
        if moved is None:
            return _judge(answer) if isinstance(answer, http.Response) else answer
        answer = post.post_json(url, {"chat_id": moved, **said}, max(0.0, expires - time.monotonic()))
        if not isinstance(answer, http.Response):
            return answer
        judged = _judge(answer)
        return Delivered(judged.receipt, moved_to={"chat": moved}) if isinstance(judged, Delivered) else judged


def _new_chat(response: http.Response) -> str | None:
    if response.status != 400:
        return None
    moved = _parameters(response).get("migrate_to_chat_id")
    return str(moved) if moved is not None and _CHAT.fullmatch(str(moved)) else None


def _parameters(response: http.Response) -> dict[str, Any]:
    found = post.document(response).get("parameters")
    return found if isinstance(found, dict) else {}


def _judge(response: http.Response) -> Answer:
    """https://core.telegram.org/bots/api#making-requests: descriptions are for people and may change."""
    if response.status == 200:
        return Delivered()
    if later := post.later("Telegram", response, _parameters(response).get("retry_after")):
        return later
    described = str(post.document(response).get("description", ""))
    if response.status in (401, 404):
        reason = "Telegram does not know this bot token. Write a new one on the channel's page."
        return Rejected(reason, code=Code.TOKEN)
    if response.status == 403:
        if "initiate" in described:
            reason = "The bot may not write first. Send it a message in Telegram, then try again."
            return Rejected(reason, code=Code.NOT_WRITTEN_FIRST)
        if "not enough rights" in described:
            return Rejected(_NO_RIGHTS, code=Code.NO_RIGHTS)
        if "deactivated" in described:
            reason = "The Telegram account that the bot wrote to does not exist any more."
            return Rejected(reason, True, Code.NO_RECIPIENT)
        return Rejected("The bot was blocked, or removed from the chat.", True, Code.BLOCKED)
    if "rights to send" in described:
        return Rejected(_NO_RIGHTS, code=Code.NO_RIGHTS)
    if "chat not found" in described:
        reason = "The bot finds no chat of this id. Send the bot a message, or add it to the group, first."
        return Rejected(reason, code=Code.NO_RECIPIENT)
    return post.refused("Telegram", response)
