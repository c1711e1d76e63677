"""Give a channel's signing secret a successor. Both sign for a while, so that its receiver can change over."""

from __future__ import annotations

import hashlib
from datetime import datetime
from uuid import UUID

from django.contrib.admin.models import CHANGE, LogEntry
from django.db import transaction
from django.utils import timezone

from common import encryption
from notifications import providers
from notifications.models import Channel
from people.models import User

MOST = 4
"""How many replaced secrets may sign beside the newest."""


class TooMany(Exception):
    """So many secrets sign already that no other one can be replaced yet; the message is for the person."""


def mark(channel: Channel) -> str:
    """Tell one secret of a channel from the next, and nothing about either."""
    return hashlib.sha256(channel.sealed_secrets.encode()).hexdigest()[:16]


@transaction.atomic
def replace(channel_id: UUID, marked: str, by: User, now: datetime) -> bool:
    """Replace the secret that `marked` stands for; False where that is not the newest one any more.

    `now` is aware. Whoever may see the admin reads there who did it. Raises TooMany, `encryption.Unreadable`.
    """
    channel = Channel.objects.select_for_update().filter(id=channel_id, removed_at=None).first()
    if channel is None or mark(channel) != marked:
        return False
    provider, destination = providers.get(channel.provider), channel.destination()
    if len(overlaps := provider.overlap_ends(destination, now)) >= MOST:
        free = timezone.localtime(min(overlaps))
        raise TooMany(f"{MOST + 1} secrets sign each message already. The oldest stops {free:%a %H:%M}; wait for that.")
    successor = provider.rotate(destination, now)
    if successor is None:
        return False
    sealed = encryption.seal_secrets(successor.secrets, channel.id)
    Channel.objects.filter(id=channel.id).update(sealed_secrets=sealed)
    LogEntry.objects.log_actions(by.pk, [channel], CHANGE, "Replaced the signing secret.")
    return True
