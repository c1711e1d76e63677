"""Operations of the unsubscribe link: stop messages to a channel, resume them, remove the channel."""

from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Coalesce, Now

from notifications.channels import changes, verification
from notifications.models import Channel
from notifications.reasons import DeliveryCode
from people.sign_in import mailboxes


@transaction.atomic
def stop(channel_id: UUID) -> None:
    """Disable the channel until its owner enables it or the reader resumes. Repeating it changes nothing.

    An unverified channel is removed: its only messages are codes, which a stranger may have requested. A channel that
    an operator disabled can still be enabled only by an operator.
    """
    for channel in _locked(channel_id):
        if channel.verified_at is None:
            remove(channel_id)
        elif (channel.removed_at, channel.unsubscribed_at) == (None, None) and (
            channel.disabled_at is None or channel.is_owners_to_enable
        ):
            Channel.objects.filter(id=channel_id).update(
                disabled_at=Now(),
                disabled_code=DeliveryCode.UNSUBSCRIBED,
                disabled_params={},
                unsubscribed_at=Now(),
                failing_since=None,
            )


@transaction.atomic
def resume(channel_id: UUID) -> None:
    """Undo the link: enable the channel, or allow an address again that was removed unverified."""
    for channel in _locked(channel_id).filter(unsubscribed_at__isnull=False):
        if channel.removed_at is None:
            changes.enable([channel_id])
        else:
            Channel.objects.filter(id=channel_id).update(unsubscribed_at=None)
            if verification.can_be_refused(channel.provider):
                mailboxes.allow(str(channel.address.get("address")))


@transaction.atomic
def remove(channel_id: UUID) -> None:
    """Remove the channel; an email address that was never verified gets no more codes from any account.

    The person's other unverified channels to the address are removed with it.
    """
    for channel in _locked(channel_id):
        changes.remove(channel)
        if channel.verified_at is None:
            for other in verification.same_address(channel).filter(verified_at=None, removed_at=None):
                changes.remove(other)
            if verification.can_be_refused(channel.provider):
                mailboxes.refuse(str(channel.address.get("address")))
        Channel.objects.filter(id=channel_id).update(unsubscribed_at=Coalesce("unsubscribed_at", Now()))


def _locked(channel_id: UUID) -> QuerySet[Channel]:
    return Channel.objects.select_for_update(no_key=True).filter(id=channel_id)
