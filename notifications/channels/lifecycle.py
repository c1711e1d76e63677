"""What a person does with their channels: add, rename, remove, try; and an operator: disable, enable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Now

from notifications import deliveries, providers
from notifications.channels import verification
from notifications.deliveries import outbox
from notifications.models import Channel, Delivery, Notification
from notifications.reasons import NO_REASON, Code, Reason
from people import mailboxes
from people.models import User
from people.user_lock import turn


class TooMany(Exception):
    """The person has as many channels as one may have; the message is for them."""


class AlreadyThere(Exception):
    """The person has their inbox already; a second one would show each message twice."""


def add(user: User, kind: str, cleaned: Mapping[str, Any], label: str = "") -> Channel:
    """A channel on the provider `kind`, from its form's cleaned data; without a label it is called like the provider.

    It is to be verified before it is used, unless nothing is left to prove.

    Raises AlreadyThere for a second inbox, `verification.Refused`, TooMany, `providers.UnknownProvider`.
    """
    with turn(user):
        return _add(user, kind, cleaned, label)


def _add(user: User, kind: str, cleaned: Mapping[str, Any], label: str) -> Channel:
    if Channel.objects.for_user(user).count() >= settings.MOST_CHANNELS:
        raise TooMany(
            f"You have {settings.MOST_CHANNELS} channels, as many as one person may have here. "
            "Remove one that you no longer need."
        )
    provider = providers.get(kind)
    channel = Channel(user=user, provider=kind, label=label or provider.label)
    channel.hold(provider.destination(cleaned))
    judge(channel)
    try:
        with transaction.atomic():
            channel.save(force_insert=True)
    except IntegrityError as error:
        if "channel_one_inbox" in str(error):
            raise AlreadyThere from None
        raise
    return channel


def judge(channel: Channel) -> None:
    """Count a new address as its owner's where nothing is left to prove; the caller saves.

    Raises `verification.Refused`.
    """
    address = channel.address.get("address")
    channel.verified_at = None
    if verification.is_proven(channel.user, channel.provider, address):
        channel.verified_at = Now()
    elif verification.is_refused(channel.provider, address):
        raise verification.Refused(mailboxes.REFUSED)


def open_inbox(user: User) -> Channel:
    """The inbox that everybody has from the start. Raises AlreadyThere."""
    return add(user, "inbox", {})


def change_settings(channel: Channel, label: str, on_unknown: str) -> None:
    """Name it, and say what becomes of a send whose outcome is unknown; empty: its provider's rule."""
    Channel.objects.filter(id=channel.id).update(label=label, on_unknown=on_unknown)


@transaction.atomic
def remove(channel: Channel) -> None:
    """Nothing goes to it any more; what is not yet sent is cancelled, its history stays, its secrets are erased."""
    Channel.objects.filter(id=channel.id, removed_at=None).update(removed_at=Now(), sealed_secrets="")
    waiting = Delivery.objects.filter(channel=channel, state=Delivery.State.PENDING).values_list("id", flat=True)
    deliveries.cancel(waiting, Reason(Code.REMOVED))


def disable(ids: Iterable[UUID], note: str) -> list[UUID]:
    """Send nothing to these channels until `enable`. Returns those that were enabled and not removed."""
    working = Channel.objects.filter(id__in=ids, disabled_at=None)
    return _mark(working, Now(), Reason(Code.NOTE, said=note[:300]))


def enable(ids: Iterable[UUID]) -> list[UUID]:
    """Undo `disable`; what it had failed before is forgotten. Returns those that were disabled and not removed."""
    disabled = Channel.objects.filter(id__in=ids, disabled_at__isnull=False)
    return _mark(disabled, None, NO_REASON)


def try_anew(channel: Channel) -> bool:
    """Enable a channel that its own answers or its reader have disabled; False for one that an operator disabled."""
    marked = Q(failing_since__isnull=False) | Q(unsubscribed_at__isnull=False)
    return bool(enable(Channel.objects.filter(marked, id=channel.id).values_list("id", flat=True)))


@transaction.atomic
def _mark(channels: QuerySet[Channel], disabled_at: Now | None, reason: Reason) -> list[UUID]:
    found = list(channels.filter(removed_at=None).order_by("id").select_for_update().values_list("id", flat=True))
    Channel.objects.filter(id__in=found).update(
        disabled_at=disabled_at,
        disabled_code=reason.code,
        disabled_params=reason.params,
        failing_since=None,
        unsubscribed_at=None,
    )
    return found


def move(channel_id: UUID, address: Mapping[str, Any], moved_to: Mapping[str, Any]) -> bool:
    """Change what of `address` has moved for good, as its service says; False where it is another one by now."""
    here = Channel.objects.filter(id=channel_id, address=dict(address))
    return here.update(address={**address, **moved_to}) == 1


def send_test(channel: Channel, now: datetime) -> UUID:
    """Say something harmless on `channel`, now. Returns the delivery's id. Raises `verification.TooMany`."""
    with turn(channel.user):
        verification.spend_test(channel.user, now)
        batch_id = outbox.notify(
            channel.user_id,
            [channel],
            "Carillon rings",
            f"This is a test of the channel “{channel.label}”. Nothing is due.",
            Notification.Origin.TEST,
        )
    return Delivery.objects.get(notification__batch_id=batch_id, channel=channel).id


def with_last_result(user: User) -> list[tuple[Channel, Delivery | None]]:
    """The person's channels, each with its newest delivery, in two statements."""
    newest = Delivery.objects.filter(channel=OuterRef("id")).order_by("-id").values("id")[:1]
    channels = list(Channel.objects.for_user(user).annotate(newest=Subquery(newest)))
    ids = {channel.id: channel.newest for channel in channels}  # type: ignore[attr-defined]  # the annotation
    found = Delivery.objects.in_bulk(list(ids.values()))
    return [(channel, found.get(ids[channel.id])) for channel in channels]
