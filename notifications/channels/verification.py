"""A channel is used once its owner has shown that they read what is sent to it."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.cache import cache
from django.db.models import QuerySet
from django.db.models.functions import Now

from common import encryption
from notifications import providers
from notifications.deliveries import outbox
from notifications.models import Channel, Notification
from people import codes, mailboxes
from people.models import User
from people.user_lock import turn


class TooMany(Exception):
    """As many tests and codes were sent as may be a day; the message is for the person."""


class Refused(Exception):
    """Whoever reads the address wants no more codes; the message is for the person."""


def is_proven(user: User, kind: str, address: object) -> bool:
    """Whether nothing is left to show: the inbox is here, and a mail address may have been confirmed at sign-up."""
    if kind == "inbox":
        return True
    own = EmailAddress.objects.filter(user=user, verified=True, email__iexact=str(address))
    return kind == "email" and bool(own.exists())


def can_be_refused(kind: str) -> bool:
    """Whether an address is known again once its channel is removed: what tells others apart is erased with it."""
    return kind == "email"


def is_refused(kind: str, address: object) -> bool:
    """Whether the reader of this address has stopped codes, whoever had them sent."""
    return can_be_refused(kind) and mailboxes.is_refused(str(address))


def send_code(channel: Channel, now: datetime) -> None:
    """Send a code to `channel`; the last one works no more. Raises `codes.TooSoon`, Refused, TooMany."""
    if is_refused(channel.provider, channel.address.get("address")):
        raise Refused(mailboxes.REFUSED)
    with turn(channel.user):
        spend_test(channel.user, now)
        _pause(channel, now)
        codes.renew(channel.id, now)
        _spend_code(channel)
        outbox.notify(
            channel.user_id,
            [channel],
            "Your code for Carillon",
            f"{codes.MARK} confirms that this channel is yours. Enter it on Carillon's page within 15 minutes. "
            "If you asked for nothing, ignore this message: nothing else will be sent here.",
            Notification.Origin.CODE,
        )


def same_address(channel: Channel) -> QuerySet[Channel]:
    """This person's channels to the same address, removed ones too; only itself where no other can be told."""
    if not can_be_refused(channel.provider):
        return Channel.objects.filter(id=channel.id)
    return Channel.objects.filter(
        user=channel.user_id, provider=channel.provider, address__address__iexact=str(channel.address.get("address"))
    )


def _pause(channel: Channel, now: datetime) -> None:
    """Removing a channel and adding it again sends no code sooner. Raises `codes.TooSoon`."""
    sent = Notification.objects.filter(
        user=channel.user_id,
        origin=Notification.Origin.CODE,
        created_at__gt=now - timedelta(days=1),
        deliveries__channel__in=same_address(channel),
    )
    if last := sent.order_by("-created_at").values_list("created_at", flat=True).first():
        codes.pause(last, now)


def _spend_code(channel: Channel) -> None:
    """Count a code to wherever this channel leads, across accounts: its reader may have asked for none of them.

    Raises TooMany, also while nothing can be counted.
    """
    if not cache.answers():  # type: ignore[attr-defined]  # common.cache
        raise TooMany("No code can be sent just now, because Redis does not answer. Try again in a minute.")
    if not mailboxes.may_send(mailboxes.Purpose.CODE, _recipient(channel)):
        raise TooMany(
            f"{mailboxes.MAILS_A_DAY} codes were sent to this address within a day, as many as may be. Try tomorrow."
        )


def _recipient(channel: Channel) -> str:
    """Name where the channel leads, alike in every account."""
    if channel.provider == "email":
        return mailboxes.mailbox(str(channel.address.get("address")))
    try:
        there = channel.destination()
    except encryption.Unreadable:
        return str(channel.id)
    provider = providers.get(channel.provider)
    given = {**there.address, **there.secrets}
    own = provider.option_fields | {provider.revealed}  # what says nothing of where it leads, or was made here
    named = sorted((name, value) for name, value in given.items() if name not in own)
    return hashlib.sha256(json.dumps([channel.provider, named]).encode()).hexdigest()


def confirm(channel: Channel, typed: str, now: datetime) -> bool:
    """Whether `typed` is the code that was sent; if so, the channel may be used. Raises `codes.Spent`."""
    if not codes.check(channel.id, typed, now):
        return False
    accept(channel)
    return True


def accept(channel: Channel) -> None:
    """Count the channel as its owner's."""
    Channel.objects.filter(id=channel.id, verified_at=None).update(verified_at=Now())


def spend_test(user: User, now: datetime) -> None:
    """Raises TooMany where no further test or code is to be sent: each may go to somebody who did not ask for it."""
    most: int = settings.TESTS_A_DAY
    recent = Notification.objects.filter(
        user=user, origin__in=Notification.OF_CHANNELS, created_at__gt=now - timedelta(days=1)
    )
    if recent.count() >= most:
        raise TooMany(f"{most} tests and codes were sent for you within a day, as many as may be. Try again tomorrow.")
