"""Preview of a notification's text, and its length on each channel."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from notifications import providers
from notifications.messages.links import ANSWER
from notifications.messages.message import Message
from notifications.messages.text import Text
from notifications.models import Channel
from people.models import User


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
    """A text as it is sent, and its length on each channel."""

    subject: str
    body: str
    lengths: list[Length]


def read(user: User, text: Text, channels: Sequence[Channel], slot: datetime | None) -> Reading:
    """Return a text's preview, and its length on these channels. Each provider counts what it would really send."""
    answer = ANSWER.address(UUID(int=0))  # as long as that of any other id
    message = Message(UUID(int=0), text.subject, text.body, user.get_short_name(), slot, answer_url=answer)
    return Reading(
        text.subject, text.body, [_length(message, channel) for channel in channels if providers.find(channel.provider)]
    )


def _length(message: Message, channel: Channel) -> Length:
    provider, there = providers.get(channel.provider), channel.readable_destination()
    rendered, unit = provider.render(message, there), provider.limits_for(there).unit
    return Length(
        channel.id,
        channel.label,
        rendered.body.length,
        rendered.body.limit,
        unit,
        cut=rendered.subject.cut or rendered.body.cut,
    )
