"""The values that cross the boundary between Carillon and a provider.

All of them are frozen and hold plain data, so a provider can be read, tested and reasoned about without a database.
The `code` of an answer, from `causes.Code`, groups dead letters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from notifications.causes import Code


@dataclass(frozen=True, slots=True)
class Message:
    """What one delivery says.

    `key` is the delivery's id. It is the idempotency key: the same at every try and every replay, so a receiver that
    remembers keys never acts twice. `slot` is the aware UTC instant at which the message was due, None when nothing
    scheduled it. `unsubscribe_url` is the page at which whoever gets the messages ends them; where it is an https
    address, a single POST does (RFC 8058). `answer_url` is the page at which whoever got the message acknowledges or
    snoozes it; empty where nothing follows when nobody does.
    """

    key: UUID
    subject: str
    body: str
    recipient: str
    slot: datetime | None = None
    unsubscribe_url: str = field(default="", repr=False)
    answer_url: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Destination:
    """A channel as its provider sees it: `address` is public (shown in pages), `secrets` never leaves the provider."""

    address: Mapping[str, Any]
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Delivered:
    """The service accepted the message. `receipt` is what it said, fit to show to the channel's owner.

    `moved_to` holds what of the channel's address has changed, where the service says that it has moved for good.
    """

    receipt: str = ""
    moved_to: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Retryable:
    """Not sent, or the service said later. `retry_after` is the service's own wish, in seconds from now."""

    reason: str
    retry_after: float | None = None
    code: str = field(default=Code.REFUSED, compare=False)


@dataclass(frozen=True, slots=True)
class Rejected:
    """Will never work as it stands: no retry. `gone` says that the address itself no longer exists."""

    reason: str
    gone: bool = False
    code: str = field(default=Code.REFUSED, compare=False)


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """The request went out and the answer never came: it may or may not have arrived."""

    reason: str
    code: str = field(default=Code.NO_ANSWER, compare=False)


Answer = Delivered | Retryable | Rejected | Ambiguous
