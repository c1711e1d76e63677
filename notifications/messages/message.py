"""The frozen values that pass between Carillon and a provider; a provider needs no database."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _, pgettext

from notifications.messages import markup
from work import answers
from work.answers import Done


@dataclass(frozen=True, slots=True)
class Message:
    """The content of one delivery.

    `key` is the delivery's id and the idempotency key: the same at every try and replay. `slot` is the UTC instant at
    which the message was due; None if nothing scheduled it. `early`: the minutes by which it is sent before that.
    `unsubscribe_url` opens a page that stops messages like it and, with https, takes a POST (RFC 8058). `answer_url`
    opens the page on which the reader acknowledges or snoozes; empty if the message needs no answer. `open_url` shows
    the notification to its person, who must be signed in. `correlation_id` is the same for all that one cause sent,
    `hops` the steps since that; `schedule_id`, `category` and `data` are those of its schedule, if it has one. `code`
    is that of a verification, also in `body`.
    `left`: seconds until it is stale, None for never. `may_have_marks`: `markup` reads bold, links and the like in the
    body. `team` is the name of the team it is from, "" for none.
    """

    key: UUID
    subject: str
    body: str
    recipient: str
    slot: datetime | None = None
    early: int | None = None
    unsubscribe_url: str = field(default="", repr=False)
    answer_url: str = field(default="", repr=False)
    open_url: str = ""
    correlation_id: str | None = None
    hops: int = 0
    schedule_id: UUID | None = None
    category: str = ""
    code: str = field(default="", repr=False)
    data: Mapping[str, Any] | None = field(default=None, repr=False)
    left: float | None = None
    may_have_marks: bool = False
    team: str = ""

    @property
    def has_marks(self) -> bool:
        return self.may_have_marks and markup.has_marks(self.body)

    @property
    def picture(self) -> str:
        """The https address of the picture in its body, or ""."""
        return markup.picture(self.body) if self.may_have_marks else ""

    @property
    def links(self) -> list[tuple[str, str]]:
        """Its links, each with the text of its button, in the order in which readers need them."""
        snooze = f"{self.answer_url}#snooze" if self.answer_url else ""
        links = (
            (pgettext("button", "Done"), self.answer_url),
            (pgettext("button", "Snooze"), snooze),
            (pgettext("button", "Open"), self.open_url),
            (_("Stop these messages"), self.unsubscribe_url),
        )
        return [(label, url) for label, url in links if url]


@dataclass(frozen=True, slots=True)
class Destination:
    """A channel as its provider sees it: pages show `address`; `secrets` never leaves the provider."""

    address: Mapping[str, Any]
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Delivered(Done):
    """The service accepted the message. The channel's owner reads the receipt.

    `moved_to` holds the parts of the channel's address that the service has changed permanently; `code` is what the
    receiver answered to the code of a verification.
    """

    moved_to: Mapping[str, Any] | None = None
    code: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Rejected(answers.Rejected):
    """No retry can succeed. `gone`: the address no longer exists."""

    gone: bool = False
