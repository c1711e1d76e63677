"""The interface of a provider, and what several providers share."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.utils.translation import gettext as _

from common.texts.types import StrOrPromise
from notifications.messages import markup
from notifications.messages.markup import Style
from notifications.messages.message import Delivered, Destination, Message
from notifications.messages.text import Fitted, fit, literal, utf8
from work import retry
from work.answers import Answer


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `amount` sends in any `per_seconds`, counted for each service, channel, host or person."""

    name: str
    amount: int
    per_seconds: float
    scope: Literal["service", "channel", "host", "person"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The longest subject and body that a service accepts, as `measure` counts them; None means no limit.

    `joined`: the service has no subject, so subject and body are one text within the body's limit.
    """

    subject: int | None = None
    body: int | None = None
    measure: Callable[[str], int] = len
    joined: bool = False

    @property
    def unit(self) -> str:
        """The unit of `measure`, for people."""
        return _("bytes") if self.measure is utf8 else _("characters")


@dataclass(frozen=True, slots=True)
class Rendered:
    """A message's text as its service gets it. `subject` is empty if it is part of the body.

    `has_marks`: the body has bold, italics, links or lists, which the service shows.
    """

    subject: Fitted
    body: Fitted
    has_marks: bool = False


def render(
    message: Message, limits: Limits, escape: Callable[[str], str] = str, style: Style = markup.PLAIN
) -> Rendered:
    """Return the message within `limits`. Its links end the body and are never cut."""
    links = {_("Done or snooze"): message.answer_url, _("Stop these messages"): message.unsubscribe_url}
    footer = "\n".join(f"{label}: {url}" for label, url in links.items() if url)
    subject, body, measure = message.subject, message.body, limits.measure
    title = Fitted("", 0) if limits.joined else fit(subject, limits.subject, measure, escape)
    if not message.has_marks:
        whole = "\n\n".join(filter(None, (subject, body))) if limits.joined else body
        return Rendered(title, fit(whole, limits.body, measure, escape, footer))
    whole = "\n\n".join(filter(None, (literal(subject), body))) if limits.joined else body
    written = partial(markup.write, style=style, escape=escape)
    return Rendered(title, fit(whole, limits.body, measure, written, footer, markup.closed), style is not markup.PLAIN)


class SecretInput(forms.PasswordInput):
    """Keeps what was typed when another field is wrong, and the page can show it. It must get no initial value."""

    def __init__(self) -> None:
        super().__init__({"autocomplete": "off"}, render_value=True)


class PatternField(forms.CharField):
    """Text that matches `pattern` as a whole; its value is the pattern's first group, if it has one.

    `invalid` is the error for any other text. A `secret` field is a password input without autocompletion.
    """

    def __init__(
        self, pattern: re.Pattern[str], invalid: StrOrPromise, *, secret: bool = False, **options: Any
    ) -> None:
        options.setdefault("widget", SecretInput() if secret else forms.TextInput({"autocomplete": "off"}))
        super().__init__(**options)
        self._pattern, self._invalid = pattern, invalid

    def clean(self, value: Any) -> str:
        typed: str = super().clean(value)
        if not typed:
            return typed
        if (match := self._pattern.fullmatch(typed)) is None:
            raise forms.ValidationError(self._invalid, "invalid")
        return match[1] if self._pattern.groups else typed


class HasForm(ABC):
    """A thing that people configure by a form: parts that may be shown, and secrets."""

    form: ClassVar[type[forms.Form]]
    """The fields of a new one."""

    revealed: ClassVar[str] = ""
    """The name of a secret that Carillon generates and shows its owner once. Empty: none."""

    secret_fields: ClassVar[tuple[str, ...]] = ()
    """The fields of the form that are secrets."""

    stored_as: ClassVar[Mapping[str, str]] = {}
    """The part of the address that a field is, where it has another name."""

    def destination(self, cleaned: Mapping[str, Any]) -> Destination:
        """Return the destination for the form's cleaned data, with everything secret in `secrets`."""
        shown = [name for name in self.form.base_fields if name not in self.secret_fields]
        address = {self.stored_as.get(name, name): cleaned[name] for name in shown}
        return Destination(address, {name: cleaned[name] for name in self.secret_fields if cleaned.get(name)})

    def form_initial(self, destination: Destination) -> dict[str, Any]:
        """Return the form's fields that may be shown, with their values. Never a secret."""
        parts = {name: self.stored_as.get(name, name) for name in self.form.base_fields}
        return {name: destination.address[part] for name, part in parts.items() if part in destination.address}

    def form_secrets(self, destination: Destination) -> dict[str, Any]:
        """Return the form's secret fields that are set, with their cleaned values."""
        return {name: destination.secrets[name] for name in self.form.base_fields if name in destination.secrets}


class Provider(HasForm):
    """Sends to one kind of service. It has no state: one object serves every channel, from any thread."""

    kind: ClassVar[str]
    """Stored with each channel; the name of its module, and of its symbol in static/icons.svg."""

    label: ClassVar[StrOrPromise]
    """Its name for people: "Email"."""

    about: ClassVar[StrOrPromise] = ""
    """One line at the form of a new channel, where the label does not say enough."""

    services: ClassVar[Sequence[str]] = ()
    """The names of the services that it reaches, if they are many."""

    position: ClassVar[int] = 100
    """Its position in lists, lowest first."""

    policy: ClassVar[retry.Policy] = retry.QUICK

    recognises_repeats: ClassVar[bool]
    """Whether the receiver recognises a repeat by its key, so that a send with an unknown outcome may be repeated."""

    disturbs: ClassVar[bool] = True
    """Whether its deliveries wait for the end of a person's quiet hours."""

    is_pulled: ClassVar[bool] = False
    """Whether its owner's programs pull its deliveries over the API. No worker sends them."""

    from_browser: ClassVar[bool] = False
    """Whether a script fills in the form from the person's own browser, so that nothing is left to prove or to type."""

    unsubscribes: ClassVar[bool] = False
    """Whether each of its messages has an `unsubscribe_url`, because their reader may not be the channel's owner.

    Messages of topics have one everywhere.
    """

    deadline: ClassVar[float] = 20.0
    """Seconds for one whole send: DNS, connection, TLS, request and answer."""

    one_at_a_time: ClassVar[bool] = False
    """Whether a host takes only one send at a time."""

    limits: ClassVar[Limits] = Limits()

    style: ClassVar[Style] = markup.PLAIN
    """How the service is told of bold, italics, links and lists; `markup.PLAIN` if it shows none."""

    separate_answer_url: ClassVar[bool] = False
    """Whether `answer_url` and `unsubscribe_url` are sent outside the text."""

    option_fields: ClassVar[frozenset[str]] = frozenset()
    """Parts of the address that say how a message arrives, not where; changing them needs no new verification."""

    operator_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields of the form that only operators are shown."""

    overlap: ClassVar[timedelta] = timedelta(0)
    """The time for which a replaced `revealed` secret still signs beside the new one."""

    @property
    def retry_policy(self) -> retry.Policy:
        """Its policy, or the operator's (RETRY_WAITS_…)."""
        waits = settings.RETRY_WAITS.get(self.kind)
        return retry.Policy(len(waits) + 1, waits) if waits else self.policy

    @property
    def rates(self) -> tuple[Rate, ...]:
        """The service's rate limits, all of them at once. Sends over a limit wait."""
        return ()

    @abstractmethod
    def summary(self, destination: Destination) -> str:
        """Return one line that tells this channel from others in a list. It holds no secret."""

    @abstractmethod
    def send(self, message: Message, destination: Destination) -> Answer:
        """Send the message and return the outcome.

        It never raises for anything that the network or the service does, returns within `deadline` and uses no
        database. Every try of a delivery has the same `message.key`. People see reasons and receipts: no secrets.
        """

    def update(self, before: Destination, cleaned: Mapping[str, Any]) -> Destination:
        """Return the destination for the form's cleaned data, with the parts of `before` that no field holds."""
        return self.destination(cleaned)

    def rotate(self, destination: Destination, now: datetime) -> Destination | None:
        """Return the destination with a new `revealed` secret; None if there is none. `now` is aware."""
        return None

    def overlap_ends(self, destination: Destination, now: datetime) -> list[datetime]:
        """Return when each replaced `revealed` secret stops signing, newest first."""
        return []

    def escape(self, text: str) -> str:
        """Return `text` so that the service shows it as typed: without markup, mentions or commands."""
        return text

    def render(self, message: Message, destination: Destination) -> Rendered:
        """Return the text exactly as `send` sends it; previews use it too."""
        message = replace(message, answer_url="", unsubscribe_url="") if self.separate_answer_url else message
        return render(message, self.limits, self.escape, self.style)

    def host(self, destination: Destination) -> str:
        """Return the host that is sent to, or "" if only `secrets` name it. It holds no secret."""
        url = destination.address.get("url") or settings.SERVICE_URLS.get(self.kind, "")
        try:
            return urlsplit(str(url)).hostname or ""
        except ValueError:
            return ""

    def notice(self) -> str:
        """Return why it sends nothing before an operator has configured it, or ""."""
        return ""


class InternalProvider(Provider):
    """Shows or passes on the message within Carillon, in the transaction that settles it. Its form has no fields."""

    recognises_repeats = True
    disturbs = False
    form = forms.Form

    @property
    @abstractmethod
    def place(self) -> StrOrPromise:
        """The place where people find its messages."""

    def summary(self, destination: Destination) -> str:
        return str(self.place)

    def send(self, message: Message, destination: Destination) -> Answer:
        return Delivered()


class IncomingWebhook(Provider):
    """A chat service that takes messages at a secret URL. `secrets` holds the URL's variable part as {"webhook"}."""

    def destination(self, cleaned: Mapping[str, Any]) -> Destination:
        """Return address {"ending"}, the end of the webhook's id, and secrets {"webhook"}."""
        return Destination(
            address={"ending": self.webhook_id(cleaned["url"])[-4:]}, secrets={"webhook": cleaned["url"]}
        )

    @abstractmethod
    def webhook_id(self, webhook: str) -> str:
        """Return the part of the webhook that is not a secret."""

    def form_secrets(self, destination: Destination) -> dict[str, Any]:
        return {"url": destination.secrets["webhook"]} if "webhook" in destination.secrets else {}

    def summary(self, destination: Destination) -> str:
        return f"Webhook …{destination.address.get('ending', '')}"
