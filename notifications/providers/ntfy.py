"""ntfy, on ntfy.sh or a server of one's own (https://docs.ntfy.sh/publish/#publish-as-json)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlsplit

from django import forms

from notifications.causes import Code
from notifications.message import Answer, Delivered, Destination, Message, Rejected
from notifications.net import http, post
from notifications.net.address_field import AddressField
from notifications.providers.base import Limits, Provider, Rate, damaged
from notifications.text import utf8

PUBLIC = "https://ntfy.sh"

_TOPIC = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TOKEN = re.compile(r"tk_[A-Za-z0-9]{20,60}")
_PRIORITIES = {"1": "lowest: no sound", "2": "low", "3": "normal", "4": "high", "5": "highest: keeps ringing"}
_DAMAGED = damaged("server or topic")


class NtfyForm(forms.Form):
    """The server, the topic, how loud, and the token of a topic that is protected."""

    server = AddressField(
        label="Server",
        example=PUBLIC,
        required=False,
        max_length=300,
        widget=forms.URLInput(attrs={"placeholder": PUBLIC}),
        help_text=f"Leave it empty for {PUBLIC}.",
    )
    topic = forms.CharField(
        label="Topic",
        max_length=64,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text="Who knows it reads along: choose one that is not easily guessed.",
        error_messages={
            "required": "Write the topic that your phone subscribes to, such as ada-ferns-5tZ9q.",
            "max_length": "A topic has at most %(limit_value)d characters.",
        },
    )
    priority = forms.ChoiceField(
        label="Priority",
        required=False,
        choices=_PRIORITIES.items,
        initial="3",
        error_messages={"invalid_choice": "Use a priority from 1 to 5."},
    )
    token = forms.CharField(
        label="Access token",
        required=False,
        max_length=100,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="Leave it empty where the topic is open to all.",
    )

    def clean_server(self) -> str:
        """Return the server's address without the slash at its end."""
        server: str = self.cleaned_data["server"] or f"{PUBLIC}/"
        parts = urlsplit(server)
        if parts.path != "/" or parts.query:
            raise forms.ValidationError(f"Leave out what follows the server's name; it looks like {PUBLIC}.")
        return server.removesuffix("/")

    def clean_topic(self) -> str:
        """Return the topic."""
        topic: str = self.cleaned_data["topic"]
        if not _TOPIC.fullmatch(topic):
            raise forms.ValidationError("A topic is letters, digits, - and _, such as ada-ferns-5tZ9q.")
        return topic

    def clean_token(self) -> str:
        """Return the token, or "" where there is none."""
        token: str = self.cleaned_data["token"]
        if token and not _TOKEN.fullmatch(token):
            raise forms.ValidationError("An access token is tk_ and letters and digits, such as tk_AgQdq7mVBoFD37zQ…")
        return token


class Ntfy(Provider):
    """Publishes plain text. The key goes along as sequence_id, by which newer apps replace a repeat on the screen, but
    ring again: a message whose end is unknown is not sent again.
    """

    kind = "ntfy"
    label = "ntfy"
    icon = "ntfy"
    position = 60
    recognises_repeats = False
    # What is longer would arrive as an attached file.
    limits = Limits(subject=1024, body=4096, measure=utf8)
    manner = frozenset({"priority"})
    form: ClassVar[type[forms.Form]] = NtfyForm

    @property
    def rates(self) -> tuple[Rate, ...]:
        """Return what https://docs.ntfy.sh/publish/#limitations says of one sender: 60, then one in 5 seconds."""
        return (Rate("ntfy-host", 60, 300.0, "host"),)

    def destination(self, cleaned: Mapping[str, Any]) -> Destination:
        """Return address {"url", "beginning", "priority"}, secrets {"topic"} and, where there is one, {"token"}.

        The topic is a secret: on an open server, who knows it reads along and writes.
        """
        topic, kept = cleaned["topic"], {"topic": cleaned["topic"]}
        if cleaned.get("token"):
            kept["token"] = cleaned["token"]
        priority = int(cleaned.get("priority") or 3)
        return Destination({"url": cleaned["server"], "beginning": topic[:3], "priority": priority}, kept)

    def shown(self, destination: Destination) -> dict[str, Any]:
        """Return the server and the priority."""
        return {"server": destination.address.get("url", ""), "priority": destination.address.get("priority", 3)}

    def summary(self, destination: Destination) -> str:
        """Return the server and how the topic begins."""
        return f"{self.host(destination)}/{destination.address.get('beginning', '')}…"

    def send(self, message: Message, destination: Destination) -> Answer:
        """Publish it."""
        topic, token = destination.secrets.get("topic", ""), destination.secrets.get("token", "")
        priority = destination.address.get("priority", 3)
        if not _TOPIC.fullmatch(topic) or priority not in range(1, 6) or not self.host(destination):
            return _DAMAGED
        written = self.written(message, destination)
        answer = post.post_json(
            str(destination.address["url"]),
            {
                "topic": topic,
                "title": written.subject.text,
                # An empty one would be shown as "triggered".
                "message": written.body.text if written.body.text.strip() else written.subject.text,
                "priority": priority,
                "sequence_id": str(message.key),
            },
            self.deadline,
            {"Authorization": f"Bearer {token}"} if token else {},
        )
        return _judge(answer) if isinstance(answer, http.Response) else answer


def _judge(response: http.Response) -> Answer:
    if response.status == 200:
        return Delivered()
    if response.status in (401, 403):
        reason = "The server does not let this channel write to its topic. Give the channel an access token."
        return Rejected(reason, code=Code.TOKEN)
    if later := post.later("The ntfy server", response):
        return later
    return post.refused("The ntfy server", response)
