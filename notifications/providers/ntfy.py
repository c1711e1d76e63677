"""ntfy, on ntfy.sh or on another server (https://docs.ntfy.sh/publish/#publish-as-json)."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext as _, gettext_lazy, gettext_noop, pgettext_lazy

from notifications.messages.message import Delivered, Destination, Message, Rejected
from notifications.messages.text import utf8
from notifications.net import post
from notifications.net.address_field import ServerField
from notifications.net.http import Response
from notifications.providers.base import Limits, PatternField, Provider, Rate
from notifications.reasons import DeliveryCode
from work.answers import Answer
from work.reasons import Reason

PUBLIC = "https://ntfy.sh"

_TOPIC = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TOKEN = re.compile(r"tk_[A-Za-z0-9]{20,60}")
_PRIORITIES = {
    "1": pgettext_lazy("priority", "lowest: no sound"),
    "2": pgettext_lazy("priority", "low"),
    "3": pgettext_lazy("priority", "normal"),
    "4": pgettext_lazy("priority", "high"),
    "5": pgettext_lazy("priority", "highest: keeps ringing"),
}


class NtfyForm(forms.Form):
    server = ServerField(
        label=gettext_lazy("Server"),
        example=PUBLIC,
        required=False,
        max_length=300,
        help_text=format_lazy(
            gettext_lazy("Leave it empty for {public}. It may have a path, such as https://example.org/ntfy."),
            public=PUBLIC,
        ),
    )
    topic = PatternField(
        _TOPIC,
        gettext_lazy("A topic is up to 64 letters, digits, - and _, such as ada-ferns-5tZ9q."),
        label=gettext_lazy("Topic"),
        max_length=64,
        help_text=gettext_lazy("Anyone who knows the topic can read it: choose one that is hard to guess."),
        error_messages={
            "required": gettext_lazy("Enter the topic that your phone subscribes to, such as ada-ferns-5tZ9q.")
        },
    )
    priority = forms.ChoiceField(
        label=gettext_lazy("Priority"),
        required=False,
        choices=_PRIORITIES.items,
        initial="3",
        error_messages={"invalid_choice": gettext_lazy("Use a priority from 1 to 5.")},
    )
    token = PatternField(
        _TOKEN,
        gettext_lazy("An access token is tk_ and letters and digits, such as tk_AgQdq7mVBoFD37zQ…"),
        secret=True,
        label=gettext_lazy("Access token"),
        required=False,
        max_length=100,
        help_text=gettext_lazy("Leave it empty if the topic is open to everybody."),
    )

    def clean(self) -> dict[str, Any]:
        """Take the topic off the server's address, if the whole address of the topic was pasted there."""
        topic = self.cleaned_data.get("topic", "")
        server = (self.cleaned_data.get("server") or PUBLIC).removesuffix(f"/{topic}")
        if server.startswith(f"{PUBLIC}/"):
            text = _("Leave out everything after the server's name; it looks like %(public)s.")
            self.add_error("server", forms.ValidationError(text % {"public": PUBLIC}, "token_server"))
        return {**self.cleaned_data, "server": server}


class Ntfy(Provider):
    """Publishes plain text. The key is sent as sequence_id, with which newer apps replace a repeat on the screen but
    sound again. So a message with an unknown outcome is not repeated.
    """

    kind = "ntfy"
    label = "ntfy"
    about = gettext_lazy(
        "Push notifications on your phone: install the ntfy app, and subscribe to a topic that you make up."
    )
    position = 60
    recognises_repeats = False
    separate_answer_url = True
    # A longer body would arrive as an attached file.
    limits = Limits(subject=1024, body=4096, measure=utf8)
    option_fields = frozenset({"priority"})
    # https://docs.ntfy.sh/publish/#limitations for one sender: 60, then one in 5 seconds
    rates = (Rate("ntfy-host", 60, 300.0, "host"),)
    form = NtfyForm
    secret_fields = ("topic", "token")
    stored_as = {"server": "url"}

    def destination(self, cleaned: Mapping[str, Any]) -> Destination:
        """Return address {"url", "beginning", "priority"}, secrets {"topic"} and, if there is one, {"token"}.

        The topic is a secret: on an open server, anyone who knows it can read and write.
        """
        made = super().destination({**cleaned, "priority": int(cleaned.get("priority") or 3)})
        return replace(made, address={**made.address, "beginning": cleaned["topic"][:3]})

    def summary(self, destination: Destination) -> str:
        server = str(destination.address.get("url", "")).partition("://")[2]
        return f"{server}/{destination.address.get('beginning', '')}…"

    def send(self, message: Message, destination: Destination) -> Answer:
        topic, token = destination.secrets.get("topic", ""), destination.secrets.get("token", "")
        priority = destination.address.get("priority", 3)
        if not _TOPIC.fullmatch(topic) or priority not in range(1, 6) or not self.host(destination):
            return post.damaged("server or topic")
        rendered = self.render(message, destination)
        return post.post_json(
            f"{destination.address['url']}/",  # a proxy would redirect a path without the slash
            {
                "topic": topic,
                "title": rendered.subject.text,
                # An empty message would be shown as "triggered".
                "message": rendered.body.text if rendered.body.text.strip() else rendered.subject.text,
                "priority": priority,
                "sequence_id": str(message.key),
                **({"attach": message.picture} if message.picture else {}),
                **_buttons(message),
            },
            self.deadline,
            _judge,
            {"Authorization": f"Bearer {token}"} if token else {},
        )


def _buttons(message: Message) -> dict[str, Any]:
    """Return the links as buttons, of which ntfy shows three. “Done” and “Snooze” act without opening a page."""
    links = message.links if len(message.links) <= 3 else [one for one in message.links if one[1] != message.open_url]
    # What the answer page takes for these links.
    answers = {message.answer_url: "acknowledge", f"{message.answer_url}#snooze": "10-minutes"}
    actions = [
        {
            "action": "http",
            "label": label,
            "url": message.answer_url,
            "method": "POST",
            "headers": {"Content-Type": "application/x-www-form-urlencoded"},
            "body": f"answer={answers[url]}",
            "clear": True,
        }
        if url in answers
        else {"action": "view", "label": label, "url": url}
        for label, url in links
    ]
    return {name: value for name, value in {"actions": actions, "click": message.open_url}.items() if value}


def _judge(response: Response) -> Answer:
    if response.status == 200:
        return Delivered()
    if response.status in (401, 403):
        return Rejected(Reason(DeliveryCode.TOPIC_TOKEN))
    return post.refused(gettext_noop("the ntfy server"), response)
