"""Verify a channel by the code that was sent to it, typed on a page or answered by its receiver."""

from contextlib import suppress
from datetime import datetime
from uuid import UUID

from django.db.models.functions import Now

from notifications.models import Channel
from people import codes


def confirm(channel: Channel, typed: str, now: datetime) -> bool:
    """Verify the channel if `typed` is the code that was sent; return whether it was. Raises `codes.Spent`."""
    return codes.check(channel.id, typed, now) and accept(channel)


def confirm_answered(link_id: UUID, answered: str, now: datetime) -> None:
    """Verify the channel if its receiver has answered the code; a wrong one only counts as a try."""
    channel = Channel.objects.linked(link_id).filter(removed_at=None, verified_at=None).first()
    if channel is not None:
        with suppress(codes.Spent):
            confirm(channel, answered, now)


def accept(channel: Channel) -> bool:
    """Mark the channel as verified, unless its address has changed since it was read. Returns whether it was marked."""
    unchanged = Channel.objects.filter(id=channel.id, link_id=channel.link_id, verified_at=None)
    return unchanged.update(verified_at=Now()) == 1
