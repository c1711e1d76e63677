"""What a provider is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from django import forms

from notifications import retry
from notifications.causes import Code
from notifications.message import Answer, Destination, Message, Rejected
from notifications.text import Fitted, fit, utf8


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `amount` sends in any `per_seconds`, counted over the service, the channel, the address's host or the
    person who is sent to.
    """

    name: str
    amount: int
    per_seconds: float
    scope: Literal["service", "channel", "host", "person"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The longest subject and body that a service takes, as `measure` counts them; None is no limit of its own.

    `joined`: it knows no subject, so that both are one text under the body's limit.
    """

    subject: int | None = None
    body: int | None = None
    measure: Callable[[str], int] = len
    joined: bool = False

    @property
    def unit(self) -> str:
        """What `measure` counts, for people to read."""
        return "bytes" if self.measure is utf8 else "characters"


@dataclass(frozen=True, slots=True)
class Written:
    """What a service is given to say. `subject` is empty where it stands in the body."""

    subject: Fitted
    body: Fitted


def damaged(what: str) -> Rejected:
    """Return the answer for a channel whose address or secrets hold nothing usable."""
    return Rejected(f"This channel's {what} is damaged. Remove the channel and add it again.", code=Code.DAMAGED)


def write(message: Message, limits: Limits, escape: Callable[[str], str] = str) -> Written:
    """Return the message within `limits`. The address at which it is acknowledged ends the body, and is never cut."""
    foot = f"Acknowledge or snooze: {message.answer_url}" if message.answer_url else ""
    if limits.joined:
        joined = "\n\n".join(filter(None, (message.subject, message.body)))
        return Written(Fitted("", 0), fit(joined, limits.body, limits.measure, escape, foot))
    return Written(
        fit(message.subject, limits.subject, limits.measure, escape),
        fit(message.body, limits.body, limits.measure, escape, foot),
    )


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

    policy: ClassVar[retry.Policy] = retry.QUICK

    recognises_repeats: ClassVar[bool]
    """Whether the receiver can tell a repeat by its key, so that a send whose outcome is unknown may be repeated."""

    disturbs: ClassVar[bool] = True
    """Whether what it delivers makes itself heard, so that it waits for the end of a person's quiet hours."""

    unsubscribes: ClassVar[bool] = False
    """Whether its messages carry `unsubscribe_url`: who reads them need not be who made the channel."""

    deadline: ClassVar[float] = 20.0
    """Seconds for one whole send: DNS, connection, TLS, request and answer."""

    limits: ClassVar[Limits] = Limits()

    answers_apart: ClassVar[bool] = False
    """Whether the address at which a message is acknowledged has a place of its own, outside the text."""

    form: ClassVar[type[forms.Form]]
    """The fields that a person fills in to make a channel."""

    manner: ClassVar[frozenset[str]] = frozenset()
    """What of an address says how a message arrives, not where: changed, nothing is to be verified again."""

    revealed: ClassVar[str] = ""
    """The name of the secret that its owner is shown once, when the channel has been made. Empty: none is."""

    overlap: ClassVar[timedelta] = timedelta(0)
    """How long a `revealed` secret goes on signing beside the one that replaced it."""

    @property
    def rates(self) -> tuple[Rate, ...]:
        """How fast the service says it may be sent to; all of them hold at once. What comes sooner waits."""
        return ()

    def limits_for(self, destination: Destination) -> Limits:
        """Return the limits that hold at this destination: those of the kind, unless services differ."""
        return self.limits

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

    def shown(self, destination: Destination) -> dict[str, Any]:
        """Return, by the form's fields, what may be shown of what was typed into them. Never a secret."""
        return {name: destination.address[name] for name in self.form.base_fields if name in destination.address}

    def withheld(self, destination: Destination) -> dict[str, Any]:
        """Return, by the form's fields, what they held that is secret, as the form had cleaned it. None is empty."""
        return {name: destination.secrets[name] for name in self.form.base_fields if name in destination.secrets}

    def changed(self, before: Destination, cleaned: Mapping[str, Any]) -> Destination:
        """Return the destination that the form's cleaned data describe, with what else stays of the one `before`."""
        return self.destination(cleaned)

    def rotated(self, destination: Destination, now: datetime) -> Destination | None:
        """Return the destination with a fresh `revealed` secret, None where Carillon makes none. `now` is aware."""
        return None

    def overlaps(self, destination: Destination, now: datetime) -> list[datetime]:
        """Return until when each `revealed` secret signs that was replaced, newest first."""
        return []

    def escape(self, text: str) -> str:
        """Return `text` so that the service shows it as it was typed: without markup, mentions or commands."""
        return text

    def written(self, message: Message, destination: Destination) -> Written:
        """Return what the service would be given of `message`, as `send` gives it: the preview is the sending."""
        said = replace(message, answer_url="") if self.answers_apart else message
        return write(said, self.limits_for(destination), self.escape)

    def host(self, destination: Destination) -> str:
        """Return the host that rates of the scope "host" count by; it holds no secret."""
        try:
            return urlsplit(str(destination.address.get("url", ""))).hostname or ""
        except ValueError:
            return ""

    def notice(self) -> str:
        """Return what a person must know before they rely on this provider as it is configured, or ""."""
        return ""
