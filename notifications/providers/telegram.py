"""Telegram, with a person's own bot (https://core.telegram.org/bots/api#sendmessage)."""

import re
import time
from dataclasses import replace
from html import escape
from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext, gettext_lazy as _

from notifications.messages import markup
from notifications.messages.message import Delivered, Destination, Message, Rejected
from notifications.messages.text import around_links, utf16
from notifications.net import post
from notifications.net.http import Response
from notifications.providers.base import Limits, PatternField, Provider, Rate, render
from notifications.reasons import DeliveryCode
from work.answers import Answer
from work.reasons import Reason

_TOKEN = re.compile(r"[0-9]{5,20}:[A-Za-z0-9_-]{30,60}")
_CHAT = re.compile(r"(?:-?[0-9]{1,20}|@[A-Za-z][A-Za-z0-9_]{3,31})(?:/[0-9]{1,10})?")
# A chat, with its topic as other programs write it; or the link of one, here and in Telegram's own pages.
_NAMED = re.compile(
    rf"{_CHAT.pattern}|(?:https://web\.telegram\.org/\w/#)?-?[0-9]{{1,20}}(?:[_:][0-9]{{1,10}})?"
    r"|(?:https://)?t\.me/(?:c/[0-9]{1,16}|[A-Za-z][A-Za-z0-9_]{3,31})(?:/[0-9]{1,10}){0,2}/?"
)

# By the status (None: any), and by a pattern in the description.
_REFUSALS = (
    (401, "", DeliveryCode.BOT_TOKEN),
    (404, "", DeliveryCode.BOT_TOKEN),
    (403, "initiate", DeliveryCode.NOT_WRITTEN_FIRST),
    (403, "not enough rights", DeliveryCode.NO_RIGHTS),
    (403, "deactivated", DeliveryCode.ACCOUNT_GONE),
    (403, "", DeliveryCode.BLOCKED),
    (None, "rights to send", DeliveryCode.NO_RIGHTS),
    (None, "chat not found", DeliveryCode.NO_CHAT),
    (None, "thread not found|TOPIC_(CLOSED|DELETED|ID_INVALID)", DeliveryCode.NO_TOPIC),
)
_GONE = (DeliveryCode.ACCOUNT_GONE, DeliveryCode.BLOCKED)


class TelegramForm(forms.Form):
    token = PatternField(
        _TOKEN,
        _("A bot token is a number, a colon and at least 30 letters, digits, - or _, such as 123456:ABC-DEF1234…"),
        secret=True,
        label=_("Bot token"),
        max_length=100,
        help_text=_("BotFather gives it to you when you create a bot with /newbot."),
        error_messages={"required": _("Enter the token that BotFather gave you, such as 123456:ABC-DEF1234…")},
    )
    chat = PatternField(
        _NAMED,
        _(
            "A chat id is a number, such as 123456789, or -1001234567890 for a group. A public channel has a name such"
            " as @newsroom. A topic has a link such as https://t.me/c/1234567890/42."
        ),
        label=_("Chat id"),
        max_length=80,
        widget=forms.TextInput(attrs={"placeholder": "123456789", "autocomplete": "off"}),
        help_text=_(
            "Yours is a number; a group's starts with a minus sign, a public channel's name with @. For a topic of a "
            "group, paste its link. Send your bot a message first: it cannot write to strangers."
        ),
        error_messages={"required": _("Enter the chat's id, such as 123456789, or -1001234567890 for a group.")},
    )

    def clean_chat(self) -> str:
        """Return the chat's id or name, and the number of its topic after a slash, if there is one."""
        chat: str = self.cleaned_data["chat"].rpartition("#")[2]
        if path := chat.partition("t.me/")[2]:
            first, *rest = path.strip("/").split("/")
            name = f"-100{rest.pop(0)}" if first == "c" else f"@{first}"
            chat = "/".join([name, *rest[:1]])
        elif not chat.startswith("@"):
            chat = re.sub("[_:]", "/", chat)
        return chat.removesuffix("/1")  # the general topic, which is not a topic to the API


def _parted(text: str) -> str:
    return around_links(text, lambda rest: re.sub(r"(?<!\w)@(?=\w)", "@\N{WORD JOINER}", rest))


class Telegram(Provider):
    """Sends plain text, or HTML where it has marks. Telegram takes no idempotency key, so a message with an unknown
    outcome is not repeated.
    """

    kind = "telegram"
    label = "Telegram"
    position = 30
    recognises_repeats = False
    separate_answer_url = True
    limits = Limits(body=4096, measure=utf16, joined=True)
    # https://core.telegram.org/bots/faq, "My bot is hitting limits"
    rates = (Rate("telegram", 30, 1.0, "service"), Rate("telegram-chat", 1, 1.0, "channel"))
    style = replace(
        markup.HTML, bold="<b>{}</b>".format, italic="<i>{}</i>".format, escape=lambda text: escape(_parted(text))
    )
    form = TelegramForm
    secret_fields = ("token",)

    def summary(self, destination: Destination) -> str:
        return gettext("Chat %(chat)s") % {"chat": destination.address.get("chat", "")}

    def escape(self, text: str) -> str:
        """Return `text` with an invisible joiner in everything that Telegram would read as a mention."""
        return _parted(text)

    def send(self, message: Message, destination: Destination) -> Answer:
        """Send, and send once more if the group has become a supergroup with another id, or without the buttons."""
        token, address = destination.secrets.get("token", ""), str(destination.address.get("chat", ""))
        if not (_TOKEN.fullmatch(token) and _CHAT.fullmatch(address)):
            return post.damaged("bot token or chat")
        chat, _slash, topic = address.partition("/")
        url = f"{settings.SERVICE_URLS['telegram']}/bot{token}/sendMessage"
        # Without parse_mode the text is shown as it is. A preview would make Telegram fetch the links in the text.
        rendered = self.render(message, destination)
        preview = {"url": message.picture} if message.picture else {"is_disabled": True}
        document: dict[str, Any] = {"text": rendered.body.text, "link_preview_options": preview}
        if rendered.has_marks:
            document["parse_mode"] = "HTML"
        expires = time.monotonic() + self.deadline
        if topic:
            document["message_thread_id"] = int(topic)
        if message.links:
            document["reply_markup"] = {"inline_keyboard": _keyboard(message)}

        def send_again(**changed: Any) -> Answer:
            left = max(0.0, expires - time.monotonic())
            return post.post_json(url, {"chat_id": chat, **document, **changed}, left, _judge)

        def judge_first(response: Response) -> Answer:
            if moved_to := _new_chat(response):
                answer = send_again(chat_id=moved_to)
                return replace(answer, moved_to={"chat": moved_to}) if isinstance(answer, Delivered) else answer
            if response.status == 400 and "button" in _description(response).lower():
                # It takes no address without a public name, such as that of a machine at home.
                del document["reply_markup"]
                return send_again(text=render(message, self.limits, self.escape, self.style).body.text)
            return _judge(response)

        return post.post_json(url, {"chat_id": chat, **document}, self.deadline, judge_first)


def _keyboard(message: Message) -> list[list[dict[str, str]]]:
    """Return the links as rows of buttons, the one that stops messages last and alone."""
    buttons = [{"text": label, "url": url} for label, url in message.links]
    rows = (buttons[:-1], buttons[-1:]) if message.unsubscribe_url else (buttons,)
    return [row for row in rows if row]


def _new_chat(response: Response) -> str | None:
    moved_to = str(_parameters(response).get("migrate_to_chat_id", ""))
    return moved_to if response.status == 400 and _CHAT.fullmatch(moved_to) else None


def _parameters(response: Response) -> dict[str, Any]:
    parameters = post.json_object(response).get("parameters")
    return parameters if isinstance(parameters, dict) else {}


def _description(response: Response) -> str:
    return str(post.json_object(response).get("description", ""))


def _judge(response: Response) -> Answer:
    """https://core.telegram.org/bots/api#making-requests: descriptions are for people and may change."""
    if response.status == 200:
        return Delivered()
    if answer := post.retry_later("Telegram", response, _parameters(response).get("retry_after")):
        return answer
    for status, pattern, code in _REFUSALS:
        if status in (None, response.status) and re.search(pattern, _description(response)):
            return Rejected(Reason(code), gone=code in _GONE)
    return post.refused("Telegram", response)
