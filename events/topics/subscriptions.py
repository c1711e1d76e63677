"""Join and leave a topic, and be added by its owner, who is told nothing of anybody's account."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid5

from django import forms
from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy

from common.forms.not_possible import NotPossible
from common.texts import languages
from common.texts.numbers import grouped
from events.models import Subscription, Topic
from jobs.batches.withdrawal import withdraw
from notifications.channels import changes
from notifications.deliveries import outbox
from notifications.deliveries.outbox import NewNotification
from notifications.models import Channel, Notification
from notifications.reasons import DeliveryCode
from people.models import User
from people.sign_in import mailboxes
from people.sign_in.mailboxes import Purpose
from people.user_lock import lock_at_once, lock_user
from work.broker.wakes import publish_after_commit

log = logging.getLogger(__name__)

_MOST_AT_ONCE = 100


class TopicFull(NotPossible):
    """The owner has added as many addresses as one topic takes."""


class ChannelsForm(forms.Form):
    """The channels of a subscription, for the pages and for the API."""

    channels = forms.ModelMultipleChoiceField(
        queryset=Channel.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("Where its messages go"),
        help_text=gettext_lazy("None chosen: to all channels that work, less queues."),
        error_messages=dict.fromkeys(
            ("invalid_choice", "invalid_pk_value"),
            gettext_lazy("This is not one of your channels. Choose from those listed."),
        ),
    )

    def __init__(self, posted: Any, user: User, chosen: Sequence[UUID] = ()) -> None:
        super().__init__(posted, initial={"channels": chosen})
        field: Any = self.fields["channels"]
        field.queryset = Channel.objects.for_user(user).for_messages()

    @property
    def chosen(self) -> list[UUID]:
        return [channel.id for channel in self.cleaned_data["channels"]]


def join(user: User, topic: Topic, channel_ids: Sequence[UUID]) -> Subscription:
    """Subscribe, or choose other channels; none means all that work. The topic is one `to_join`."""
    with lock_user(user):
        own, made = Subscription.objects.get_or_create(topic=topic, user=user, defaults={"channel_ids": channel_ids})
        if not made:
            own.channel_ids = list(channel_ids)
            if own.left_at is not None:  # from now on: an event that was recorded before is not for them
                Subscription.objects.filter(id=own.id).update(left_at=None, joined_at=Now())
            own.save(update_fields=["channel_ids"])
            own.refresh_from_db(fields=["joined_at"])
    return own


@transaction.atomic
def leave(subscription_id: UUID) -> None:
    """End it, and cancel what has not been sent yet. Repeating it changes nothing."""
    if Subscription.objects.current().filter(id=subscription_id).update(left_at=Now()):
        withdraw([subscription_id], DeliveryCode.LEFT)


@transaction.atomic
def add(topic: Topic, address: str) -> Subscription:
    """Add an address. If an account has it, a worker subscribes its inbox and says so there once. Raises TopicFull.

    A worker does it, so that the time of the answer does not show whether there is an account. Without an account, or
    if it already has a subscription, ended or not, the address is only stored. The owner sees no difference. Adding it
    again repeats it.
    """
    address = User.objects.normalize_email(address)
    get_object_or_404(Topic.objects.select_for_update(no_key=True), id=topic.id)
    added = Subscription.objects.filter(topic=topic).exclude(address="")
    if (listed := added.filter(address=address).first()) is None:
        if added.count() >= settings.MOST_ADDED:
            problem = _(
                "You have added %(most)s addresses, which is the limit. Open the topic, so that others can subscribe."
            )
            raise TopicFull(problem % {"most": grouped(settings.MOST_ADDED)})
        listed = Subscription.objects.create(topic=topic, address=address)
    Subscription.objects.filter(id=listed.id).update(asked_at=Now())
    return listed


def subscribe_added() -> int:
    """Subscribe those whom owners have added since, each in its own transaction. Returns how many were looked for.

    One that fails, such as for the lock of a person who is changing something, comes last the next time.
    """
    waiting = Subscription.objects.filter(asked_at__isnull=False).select_related("topic__user").order_by("asked_at")
    rows = list(waiting[:_MOST_AT_ONCE])
    for listed in rows:
        try:
            with transaction.atomic():
                user = User.objects.filter(email=listed.address, is_active=True).first()
                if listed.user_id is None and user is not None:
                    lock_at_once(user.pk)
                    _subscribe(listed, listed.topic, user)
                Subscription.objects.filter(id=listed.id, asked_at=listed.asked_at).update(asked_at=None)
        except Exception as error:
            log.warning("Subscription %s is tried later: %s", listed.id, type(error).__name__)
            Subscription.objects.filter(id=listed.id).update(asked_at=Now())
    return len(rows)


def _subscribe(listed: Subscription, topic: Topic, user: User) -> None:
    if Subscription.objects.filter(topic=topic, user=user).exists():
        return
    # Nobody fills somebody's inbox with new topics.
    if not mailboxes.may_send(Purpose.ADDED, str(user.pk)) or (inbox := _inbox(user)) is None:
        return
    Subscription.objects.filter(id=listed.id).update(user=user, channel_ids=[inbox.id], joined_at=Now())
    with languages.override(user.language):
        subject = _("You are subscribed to “%(name)s”") % {"name": topic.name}
        body = _(
            "%(person)s added you. Its messages come to your inbox. Choose other channels, or unsubscribe: %(page)s"
        ) % {"person": topic.user.get_full_name(), "page": settings.BASE_URL + reverse("events:subscriptions")}
    new = NewNotification(
        user_id=user.pk,
        channels=[(inbox.id, inbox.provider)],
        subject=subject,
        body=body,
        origin=Notification.Origin.TOPIC,
        origin_id=listed.id,
        batch_id=uuid5(topic.id, "added"),  # once, however often they are added
        category=topic.slug,
    )
    publish_after_commit(outbox.record([new]))


@transaction.atomic
def remove(topic: Topic, subscription_id: UUID) -> bool:
    """The owner removes somebody whom they have added. False if there is no such address.

    That somebody has left is remembered, so that adding them again does not subscribe them.
    """
    added = Subscription.objects.filter(topic=topic).exclude(address="")
    subscription = added.filter(id=subscription_id).select_for_update().first()
    if subscription is None:
        return False
    if subscription.left_at is None:
        withdraw([subscription.id], DeliveryCode.LEFT)
        subscription.delete()
    else:
        Subscription.objects.filter(id=subscription.id).update(address="")
    return True


@transaction.atomic
def forget_account(user_id: int) -> None:
    """Before an account is deleted: addresses that owners of topics have added stay in their lists, as of nobody."""
    Subscription.objects.filter(user=user_id).exclude(address="").update(user=None, channel_ids=[])


def _inbox(user: User) -> Channel | None:
    """Made where they have removed it; None where they have as many channels as one may have."""
    with suppress(NotPossible):
        changes.add_inbox(user)
    return Channel.objects.for_user(user).filter(provider="inbox").first()
