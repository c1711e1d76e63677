"""Every change of a channel: add, edit, remove, disable, enable, replace its secret, send a test."""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from allauth.account.signals import user_signed_up
from django.conf import settings
from django.contrib.admin.models import CHANGE, LogEntry
from django.db import transaction
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Now
from django.dispatch import receiver
from django.utils import timezone
from django.utils.translation import gettext as _

from common.database import encryption
from common.database.damaged import readable
from common.forms.edit_form import VersionConflict
from common.forms.not_possible import NotPossible
from common.texts import languages
from common.times import dates
from common.uuid7 import uuid7
from notifications import providers
from notifications.channels import verification
from notifications.deliveries import fallback, outbox
from notifications.messages.change_types import STATUS
from notifications.messages.message import Destination
from notifications.models import BoardMessage, Channel, Delivery, Notification
from notifications.reasons import DeliveryCode
from people import codes, teams
from people.models import User
from people.sign_in import mailboxes
from people.user_lock import lock_user
from work.engine.manual import cancel
from work.reasons import NO_REASON, Reason

MOST_OLD_SECRETS = 4
"""Replaced secrets that still sign beside the newest, at most."""


class SecondInbox(NotPossible):
    """The person already has an inbox; a second one would show each message twice."""


def add(user: User, kind: str, cleaned: Mapping[str, Any], label: str = "", channel_id: UUID | None = None) -> Channel:
    """Add a channel on the provider `kind` from its form's cleaned data; the label defaults to the provider's.

    Raises SecondInbox, NotPossible, `verification.CodeRefused`, `providers.UnknownProvider`, and IntegrityError if
    `channel_id`, from a form, exists already.
    """
    return add_at(user, kind, providers.get(kind).destination(cleaned), label, channel_id)


def add_at(user: User, kind: str, destination: Destination, label: str, channel_id: UUID | None = None) -> Channel:
    """As `add`, with the destination itself, whose secrets may be missing."""
    with lock_user(user):
        own = Channel.objects.for_user(user)
        if own.count() >= settings.MOST_CHANNELS:
            text = _("You have %(most)s channels, which is the limit. Remove one that you no longer need.")
            raise NotPossible(text % {"most": settings.MOST_CHANNELS})
        provider = providers.get(kind)
        if kind in ("team", "on_call") and not (user.is_team and not own.filter(provider=kind).exists()):
            raise NotPossible(_("Only a team has such a channel, and one is enough."))
        channel = Channel(id=channel_id or uuid7(), user=user, provider=kind, label=label or str(provider.label))
        if kind == "inbox" and own.filter(provider=kind).exclude(id=channel.id).exists():
            raise SecondInbox(_("You already have an inbox."))
        channel.hold(destination)
        _check_rights(user, channel.address)
        _reset_verification(channel)
        channel.use_for_new = _is_for_new(user, kind)
        channel.save(force_insert=True)
        return channel


def _is_for_new(user: User, kind: str) -> bool:
    """The inbox and the first other channel. A queue is for programs, so its owner chooses it."""
    others = Channel.objects.for_user(user).for_messages().filter(use_for_new=True).exclude(provider="inbox")
    return not (providers.get(kind).is_pulled or kind == STATUS or others.exists())


@receiver([user_signed_up, teams.created])
def add_inbox(user: User, **_: Any) -> Channel:
    """Add the inbox that everybody has from the start, and for a team its members. Raises SecondInbox."""
    if user.is_team:
        add(user, "team", {})
    return add(user, "inbox", {})


def change_settings(
    channel: Channel, label: str, use_for_new: bool, on_unknown: str, give_up_after: int | None
) -> None:
    """Set all but the address. An empty `on_unknown` or `give_up_after` means the provider's rule."""
    Channel.objects.filter(id=channel.id).update(
        label=label, use_for_new=use_for_new, on_unknown=on_unknown, give_up_after=give_up_after
    )


def change(read: Channel, seen: str, after: Destination, label: str) -> Channel:
    """Give the channel a label and a destination; `seen` is the `version` that the person started from.

    The row stays, with its reminders, pending deliveries and history. A new address or secret must be verified again.
    The old address keeps its links and code limits on a removed channel, because another person may read there.
    A channel that an operator disabled stays disabled. Repeating the same change does nothing.
    Raises VersionConflict, `verification.CodeRefused`.
    """
    with lock_user(read.user):
        channel = Channel.objects.select_for_update(no_key=True).filter(id=read.id, removed_at=None).first()
        if channel is None:
            raise VersionConflict(read)
        before = channel.readable_destination()
        if (channel.label, before) == (label, after):
            return channel
        if channel.version != seen:
            raise VersionConflict(channel)
        _check_rights(read.user, after.address)
        channel.label = label
        if _target(channel, before) != _target(channel, after):
            _change_target(channel, after)
        else:
            if before != after:
                channel.hold(after)
            channel.save()
    return channel


def _target(channel: Channel, destination: Destination) -> tuple[dict[str, object], dict[str, str]]:
    """The target of messages: the destination without its options."""
    options = providers.get(channel.provider).option_fields
    address = {name: value for name, value in destination.address.items() if name not in options}
    return address, dict(destination.secrets)


def _change_target(channel: Channel, after: Destination) -> None:
    former = Channel(
        user=channel.user,
        provider=channel.provider,
        label=channel.label,
        address=channel.address,
        verified_at=channel.verified_at,
        removed_at=Now(),
        link_id=channel.link_id or channel.id,
    )
    channel.hold(after)
    _reset_verification(channel)
    if channel.disabled_at is None or channel.is_owners_to_enable:
        channel.disabled_at, channel.disabled_code, channel.disabled_params = None, "", {}
    channel.failing_since = channel.unsubscribed_at = None
    channel.link_id = uuid7()
    channel.save()  # first, so that the former channel can take the old link id
    former.save(force_insert=True)
    # A code that the old address received must not verify the new one.
    codes.forget(channel.id)
    tests = Delivery.objects.filter(channel=channel, notification__origin__in=Notification.OF_CHANNELS)
    pending = tests.filter(state=Delivery.State.PENDING).values_list("id", flat=True)
    cancel(Delivery, pending, Reason(DeliveryCode.CHANGED))
    tests.update(channel=former)
    LogEntry.objects.log_actions(channel.user_id, [channel], CHANGE, "Changed the address or a secret.")


def _check_rights(user: User, address: Mapping[str, Any]) -> None:
    """Raises `verification.CodeRefused`. `changes.feed` asks again whenever it sends."""
    if address.get("everybody") and not user.sees_everybody:
        raise verification.CodeRefused(_("Only an operator can follow everybody's changes."))


def _reset_verification(channel: Channel) -> None:
    """Mark a new address as verified only if nothing is left to prove; the caller saves.

    Raises `verification.CodeRefused`.
    """
    address = channel.address.get("address")
    channel.verified_at = None
    if verification.is_proven(channel.user, channel.provider, address):
        channel.verified_at = Now()
    elif verification.is_refused(channel.provider, address):
        raise verification.CodeRefused(mailboxes.REFUSED)


@transaction.atomic
def remove(channel: Channel) -> None:
    """Remove the channel: cancel what is pending, erase the secrets, keep the history."""
    Channel.objects.filter(id=channel.id, removed_at=None).update(removed_at=Now(), sealed_secrets="")
    pending = Delivery.objects.filter(channel=channel, state=Delivery.State.PENDING)
    fallback.cancel_removed(list(pending.values_list("id", flat=True)))
    BoardMessage.objects.filter(board=channel).delete()


def disable(ids: Iterable[UUID], note: str) -> list[UUID]:
    """Send nothing to these channels until `enable`. Returns those that were enabled and not removed."""
    enabled = Channel.objects.filter(id__in=ids, disabled_at=None)
    return _update(enabled, Now(), Reason(DeliveryCode.NOTE, said=note[:300]))


def enable(ids: Iterable[UUID]) -> list[UUID]:
    """Undo `disable` and forget earlier failures. Returns those that were disabled and not removed."""
    return _update(Channel.objects.filter(id__in=ids, disabled_at__isnull=False), None, NO_REASON)


def enable_own(channel: Channel) -> bool:
    """Enable a channel that failures or its reader disabled; False if an operator disabled it."""
    by_failures_or_reader = Q(failing_since__isnull=False) | Q(unsubscribed_at__isnull=False)
    return bool(enable(Channel.objects.filter(by_failures_or_reader, id=channel.id).values_list("id", flat=True)))


@transaction.atomic
def _update(channels: QuerySet[Channel], disabled_at: Now | None, reason: Reason) -> list[UUID]:
    ids = list(
        channels.filter(removed_at=None).order_by("id").select_for_update(no_key=True).values_list("id", flat=True)
    )
    Channel.objects.filter(id__in=ids).update(
        disabled_at=disabled_at,
        disabled_code=reason.code,
        disabled_params=reason.params,
        failing_since=None,
        unsubscribed_at=None,
    )
    return ids


def secret_fingerprint(channel: Channel) -> str:
    """Identify the channel's current secrets without revealing them."""
    return hashlib.sha256(channel.sealed_secrets.encode()).hexdigest()[:16]


@transaction.atomic
def replace_secret(channel_id: UUID, seen: str, by: User, now: datetime) -> bool:
    """Replace the signing secret; both sign for a while. False if `seen` is not the current `secret_fingerprint`.

    `now` is aware. The admin log records who did it. Raises NotPossible, `encryption.Unreadable`.
    """
    channel = Channel.objects.select_for_update(no_key=True).filter(id=channel_id, removed_at=None).first()
    if channel is None or secret_fingerprint(channel) != seen:
        return False
    provider, destination = providers.get(channel.provider), channel.destination()
    if len(overlaps := provider.overlap_ends(destination, now)) >= MOST_OLD_SECRETS:
        end = timezone.localtime(min(overlaps))
        text = _("%(count)s secrets sign each message already. The oldest expires %(end)s. Try again after that.")
        raise NotPossible(text % {"count": MOST_OLD_SECRETS + 1, "end": dates.hour_of_week(end)})
    if (successor := provider.rotate(destination, now)) is None:
        return False
    Channel.objects.filter(id=channel.id).update(sealed_secrets=encryption.seal_secrets(successor.secrets, channel.id))
    LogEntry.objects.log_actions(by.pk, [channel], CHANGE, "Replaced the signing secret.")
    return True


def send_test(channel: Channel, now: datetime) -> UUID:
    """Send a test message to the channel. Returns the delivery's id. Raises `verification.TooManyCodes`."""
    with lock_user(channel.user), languages.override(channel.user.language):
        verification.spend_test(channel.user, now)
        batch_id = outbox.notify(
            channel.user_id,
            [channel],
            _("Test from Carillon"),
            _("This is a test of the channel “%(label)s”. Nothing is due.") % {"label": channel.label},
            Notification.Origin.TEST,
        )
    return Delivery.objects.get(notification__batch_id=batch_id, channel=channel).id


def with_last_delivery(user: User) -> list[tuple[Channel, Delivery | None]]:
    """The person's channels, each with its newest delivery, in two statements."""
    newest = Delivery.objects.filter(channel=OuterRef("id")).order_by("-id").values("id")[:1]
    channels = list(Channel.objects.for_user(user).annotate(newest=Subquery(newest)))
    ids = {channel.id: channel.newest for channel in channels}  # type: ignore[attr-defined]  # the annotation
    deliveries = {delivery.id: delivery for delivery in readable(Delivery.objects.filter(id__in=ids.values()))[0]}
    return [(channel, deliveries.get(ids[channel.id])) for channel in channels]
