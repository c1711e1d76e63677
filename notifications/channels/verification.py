"""A channel is used once its owner has shown that they read what is sent to it."""

from __future__ import annotations

from datetime import datetime, timedelta

from allauth.account.models import EmailAddress
from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Now

from notifications.deliveries import outbox
from notifications.models import Channel, Notification
from people import codes
from people.models import User
from people.user_lock import turn

SUBJECT = "Your code for Carillon"
CODES_A_DAY = 10
"""How many codes one person may have sent to one address: whoever reads it may have asked for none of them."""


class TooMany(Exception):
    """The person has had as many tests and codes sent as one may have a day; the message is for them."""


def is_proven(user: User, kind: str, address: object) -> bool:
    """Whether nothing is left to show: the inbox is here, and a mail address may have been confirmed at sign-up."""
    if kind == "inbox":
        return True
    own = EmailAddress.objects.filter(user=user, verified=True, email__iexact=str(address))
    return kind == "email" and bool(own.exists())


def can_be_refused(kind: str) -> bool:
    """Whether an address is known again once its channel is removed: what tells others apart is erased with it."""
    return kind == "email"


def is_refused(user: User, kind: str, address: object) -> bool:
    """Whether whoever reads this address has removed it by the link in the code that this person had sent."""
    removed = Channel.objects.filter(
        user=user, provider=kind, removed_at__isnull=False, unsubscribed_at__isnull=False, verified_at=None
    )
    return can_be_refused(kind) and removed.filter(address__address__iexact=str(address)).exists()


def send_code(channel: Channel, now: datetime) -> None:
    """Send a code to `channel`; the last one works no more. Raises `codes.TooSoon`, TooMany."""
    with turn(channel.user):
        spend_test(channel.user, now)
        _spare_the_reader(channel, now)
        codes.renew(channel.id, now)
        outbox.notify(
            channel.user_id,
            [channel],
            SUBJECT,
            f"{codes.MARK} confirms that this channel is yours. Enter it on Carillon's page within 15 minutes. "
            "If you asked for nothing, ignore this message: nothing else will be sent here.",
            Notification.Origin.TEST,
        )


def same_address(channel: Channel) -> QuerySet[Channel]:
    """This person's channels to the same address, removed ones too; only itself where no other can be told."""
    if not can_be_refused(channel.provider):
        return Channel.objects.filter(id=channel.id)
    return Channel.objects.filter(
        user=channel.user_id, provider=channel.provider, address__address__iexact=str(channel.address.get("address"))
    )


def _spare_the_reader(channel: Channel, now: datetime) -> None:
    """What `codes` holds back from one channel is not to be had by removing it and adding it again."""
    sent = Notification.objects.filter(
        user=channel.user_id,
        origin=Notification.Origin.TEST,
        subject=SUBJECT,
        created_at__gt=now - timedelta(days=1),
        deliveries__channel__in=same_address(channel),
    )
    times = list(sent.order_by("-created_at").values_list("created_at", flat=True)[:CODES_A_DAY])
    if times:
        codes.pause(times[0], now)
    if len(times) == CODES_A_DAY:
        raise TooMany(f"{CODES_A_DAY} codes were sent to this address within a day, as many as may be. Try tomorrow.")


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
        user=user, origin=Notification.Origin.TEST, created_at__gt=now - timedelta(days=1)
    )
    if recent.count() >= most:
        raise TooMany(f"{most} tests and codes were sent for you within a day, as many as may be. Try again tomorrow.")
