"""Send what goes to a channel elsewhere: to another address, or with another token.

The row stays, and with it the reminders that use it, what waits for it and its history. The link in what the old
address got, and the codes that it was sent, go to a removed channel that keeps the old address: whoever reads there is
a stranger to the new one, and is to be spared as before.
"""

from __future__ import annotations

import hashlib
import json

from django.contrib.admin.models import CHANGE, LogEntry
from django.db.models.functions import Now

from common import encryption
from common.uuid7 import uuid7
from notifications import deliveries, providers
from notifications.channels import lifecycle
from notifications.message import Destination
from notifications.models import Channel, Delivery, Notification
from notifications.reasons import Code, Reason
from people import codes
from people.user_lock import turn


class Meanwhile(Exception):
    """The channel is not as it was read: another tab, or its service, has changed it."""


def mark(channel: Channel) -> str:
    """Tell one state of what a person may change from the next, and nothing about its secrets."""
    state = json.dumps([channel.label, channel.address, channel.sealed_secrets], sort_keys=True)
    return hashlib.sha256(state.encode()).hexdigest()[:32]


def readable(channel: Channel) -> Destination:
    """The channel's destination, without its secrets where the configured keys cannot read them."""
    try:
        return channel.destination()
    except encryption.Unreadable:
        return Destination(channel.address)


def change(read: Channel, marked: str, after: Destination, label: str) -> Channel:
    """Give the channel a label and a destination; `marked` stands for the state that the person had before them.

    Where another address or secret comes of it, it is to be verified anew, unless nothing is left to prove, and what
    was held against it is forgotten. One that an operator disabled stays so. Sent twice, it changes once. Raises
    Meanwhile, `verification.Refused`.
    """
    with turn(read.user):
        channel = Channel.objects.select_for_update().filter(id=read.id, removed_at=None).first()
        if channel is None:
            raise Meanwhile
        before = readable(channel)
        if (channel.label, before) == (label, after):
            return channel
        if mark(channel) != marked:
            raise Meanwhile
        channel.label = label
        if _where(channel, before) != _where(channel, after):
            _begin_anew(channel, after)
        else:
            if before != after:
                channel.hold(after)
            channel.save()
    return channel


def _where(channel: Channel, destination: Destination) -> tuple[dict[str, object], dict[str, str]]:
    options = providers.get(channel.provider).option_fields
    address = {name: value for name, value in destination.address.items() if name not in options}
    return address, dict(destination.secrets)


def _former(channel: Channel) -> Channel:
    """A removed channel of what `channel` was, for the link in its messages, and for those who count its codes."""
    return Channel(
        user=channel.user,
        provider=channel.provider,
        label=channel.label,
        address=channel.address,
        verified_at=channel.verified_at,
        removed_at=Now(),
        link_id=channel.named_by_link,
    )


def _begin_anew(channel: Channel, after: Destination) -> None:
    former = _former(channel)
    channel.hold(after)
    lifecycle.judge(channel)
    if channel.disabled_at is None or channel.is_owners_to_enable:
        channel.disabled_at, channel.disabled_code, channel.disabled_params = None, "", {}
    channel.failing_since = channel.unsubscribed_at = None
    channel.link_id = uuid7()
    channel.save()  # the link's name is free for the former one
    former.save(force_insert=True)
    # A code that the old address was sent must not verify the new one.
    codes.forget(channel.id)
    tried = Delivery.objects.filter(channel=channel, notification__origin__in=Notification.OF_CHANNELS)
    waiting = tried.filter(state=Delivery.State.PENDING).values_list("id", flat=True)
    deliveries.cancel(waiting, Reason(Code.CHANGED))
    tried.update(channel=former)
    LogEntry.objects.log_actions(channel.user_id, [channel], CHANGE, "Changed the address or a secret.")
