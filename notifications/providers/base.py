"""What a provider is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms

from notifications import backoff
from notifications.message import Answer, Destination, Message


class Provider(ABC):
    """Speaks to one kind of service. Without state: one object serves every channel, from any thread."""

    kind: ClassVar[str]
    """The word stored with each channel. The same as the module's name."""

    label: ClassVar[str]
    """What people call it: "E-mail"."""

    icon: ClassVar[str]
    """The id of an SVG symbol on the pages."""

    position: ClassVar[int] = 100
    """Where it stands among the others, lowest first."""

    policy: ClassVar[backoff.Policy] = backoff.QUICK

    recognises_repeats: ClassVar[bool]
    """Whether the receiver can tell a repeat by its key, so that a send whose outcome is unknown may be repeated."""

    disturbs: ClassVar[bool] = True
    """Whether what it delivers makes itself heard, so that it waits for the end of a person's quiet hours."""

    deadline: ClassVar[float] = 20.0
    """Seconds for one whole send: DNS, connection, TLS, request and answer."""

    form: ClassVar[type[forms.Form]]
    """The fields that a person fills in to make a channel."""

    revealed: ClassVar[str] = ""
    """The name of the secret that its owner is shown once, when the channel has been made. Empty: none is."""

    @abstractmethod
    def destination(self, cleaned: Mapping[str, Any]) -> Destination:
        """Return the destination that the form's cleaned data describe, with what must stay secret in `secrets`."""

    @abstractmethod
    def summary(self, destination: Destination) -> str:
        """Return one line that tells this channel from others in a list. Never holds a secret."""

    @abstractmethod
    def send(self, message: Message, destination: Destination) -> Answer:
        """Send, and say what became of it.

        Never raises for what the network or the service does. Returns within `deadline`. Touches no database.
        Every try of a delivery carries the same `message.key`. Reasons and receipts are shown to people: no
        secret in them.
        """

    def notice(self) -> str:
        """Return what a person must know before they rely on this provider as it is configured, or ""."""
        return ""
