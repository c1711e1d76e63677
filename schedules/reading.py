"""How a reminder that is being typed will read: its text once filled in, and the length that it has on each channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from notifications import providers
from notifications.composers import text
from notifications.message import Message
from people.models import User

LONGEST_TITLE = 200
LONGEST_BODY = 10_000


@dataclass(frozen=True, slots=True)
class Length:
    """On one kind of channel: how much of `limit` (None: there is none) the text takes, in `unit`; `cut` to fit."""

    label: str
    length: int
    limit: int | None
    unit: str
    cut: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """The text of one firing, and its length on each kind of channel."""

    subject: str
    body: str
    lengths: list[Length]


def read(user: User, title: str, body: str, slot: datetime, time_zone: str, kinds: Sequence[str]) -> Reading:
    """Return how `title` and `body` read at `slot`, and how long they are on channels of these `kinds`.

    What is longer than a reminder may be is left off. Each provider counts what it would really send.
    """
    said = text.compose(
        title[:LONGEST_TITLE], body[:LONGEST_BODY], name=user.name or user.email, slot=slot, time_zone=time_zone
    )
    message = Message(UUID(int=0), said.subject, said.body, user.name or user.email, slot)
    lengths = []
    for kind in kinds:
        provider = providers.get(kind)
        written = provider.written(message)
        cut = written.subject.cut or written.body.cut
        lengths.append(Length(provider.label, written.body.length, written.body.limit, provider.limits.unit, cut))
    return Reading(said.subject, said.body, lengths)
