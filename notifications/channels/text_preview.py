"""Preview of a notification's text as each channel shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils.html import linebreaks
from django.utils.safestring import SafeString, mark_safe

from notifications import providers
from notifications.messages import markup
from notifications.messages.links import ANSWER
from notifications.messages.message import Message
from notifications.messages.text import Text, as_html, literal
from notifications.models import Channel
from people.models import User


@dataclass(frozen=True, slots=True)
class Length:
    """The length on one channel; `limit` is None if there is none, `cut` if it does not fit. `shown`: how it looks."""

    channel_id: UUID
    label: str
    length: int
    limit: int | None
    unit: str
    cut: bool
    shown: SafeString


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as it is sent, and its length on each channel."""

    subject: str
    body: str
    lengths: list[Length]

    @property
    def page(self) -> SafeString:
        return _as_page(markup.as_page(self.body))


def read(user: User, text: Text, channels: Sequence[Channel], slot: datetime | None) -> Reading:
    """Return a text's preview, and its length on these channels. Each provider counts what it would really send."""
    answer = ANSWER.address(UUID(int=0))  # as long as that of any other id
    message = Message(
        *(UUID(int=0), text.subject, text.body, user.get_short_name(), slot), answer_url=answer, may_have_marks=True
    )
    return Reading(
        text.subject, text.body, [_length(message, channel) for channel in channels if providers.find(channel.provider)]
    )


def _length(message: Message, channel: Channel) -> Length:
    provider, destination = providers.get(channel.provider), channel.readable_destination()
    rendered, unit = provider.render(message, destination), provider.limits.unit
    limit = rendered.body.limit
    # Where a service has no subject, it begins the text.
    source = rendered.body.source.removeprefix(f"{message.subject}\n\n").removeprefix(f"{literal(message.subject)}\n\n")
    plain = markup.write(source) if message.has_marks else source
    return Length(
        channel.id,
        channel.label,
        len(source) if limit is None and rendered.has_marks else rendered.body.length,  # without tags
        limit,
        unit,
        cut=rendered.subject.cut or rendered.body.cut,
        shown=_as_page(markup.as_page(source) if rendered.has_marks else as_html(plain)),
    )


def _as_page(html: SafeString) -> SafeString:
    return mark_safe(linebreaks(html))  # noqa: S308 - of HTML
