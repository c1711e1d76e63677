"""Preview of a reminder's text, and its length on each channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from common import encryption
from notifications import providers, text
from notifications.links import ANSWER
from notifications.message import Destination, Message
from notifications.models import Channel
from people.models import User

LONGEST_TITLE, LONGEST_BODY = text.MAX_SUBJECT, text.MAX_BODY


@dataclass(frozen=True, slots=True)
class Length:
    """The length on one channel; `limit` is None if there is none, `cut` if it does not fit."""

    channel_id: UUID
    label: str
    length: int
    limit: int | None
    unit: str
    cut: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """The text of one firing, and its length on each channel."""

    subject: str
    body: str
    lengths: list[Length]


def read(
    user: User, title: str, body: str, slot: datetime, time_zone: str, channels: Sequence[Channel], escalates: bool
) -> Reading:
    """Return how `title` and `body` read at `slot`, and how long they are on these channels.

    What is longer than a reminder may be is left off. Each provider counts what it would really send; where it
    `escalates`, with the address at which it is acknowledged.
    """
    said = text.compose(
        title[:LONGEST_TITLE], body[:LONGEST_BODY], name=user.get_short_name(), slot=slot, time_zone=time_zone
    )
    answer = ANSWER.address(UUID(int=0)) if escalates else ""  # as long as that of any other id
    message = Message(UUID(int=0), said.subject, said.body, user.get_short_name(), slot, answer_url=answer)
    return Reading(
        said.subject, said.body, [_length(message, channel) for channel in channels if providers.find(channel.provider)]
    )


def _length(message: Message, channel: Channel) -> Length:
    provider, there = providers.get(channel.provider), _destination(channel)
    rendered, unit = provider.render(message, there), provider.limits_for(there).unit
    return Length(
        channel.id,
        channel.label,
        rendered.body.length,
        rendered.body.limit,
        unit,
        cut=rendered.subject.cut or rendered.body.cut,
    )


def _destination(channel: Channel) -> Destination:
    try:
        return channel.destination()
    except encryption.Unreadable:  # its page says so
        return Destination(channel.address)
