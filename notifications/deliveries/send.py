"""Send one's own message, now or at a time, outside of any schedule."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from common.uuid7 import first_of, uuid7
from notifications.deliveries import outbox
from notifications.deliveries.outbox import NewNotification
from notifications.models import Channel, Notification
from people import quiet
from people.models import User
from people.user_lock import lock_user
from work.broker.wakes import publish_after_commit

_DAY = timedelta(days=1)


class TooManyMessages(Exception):
    """The person's daily limit is reached; the message is for them."""


@dataclass(frozen=True, slots=True)
class Sent:
    notification_id: UUID
    batch_id: UUID
    deliveries: Sequence[UUID]


def send(
    user: User,
    now: datetime,
    title: str,
    body: str,
    channels: Sequence[Channel],
    send_at: datetime | None = None,
    **options: Any,
) -> Sent:
    """Record a valid message and publish it after the commit. Raises TooManyMessages. `options`: see `SendOptions`.

    `send_at` is aware; None sends it now. Unless urgent, it waits for the end of the person's quiet hours, as a
    reminder does.
    """
    new = NewNotification(
        user_id=user.pk,
        channels=[(channel.id, channel.provider) for channel in channels],
        subject=title,
        body=body,
        origin=Notification.Origin.API,
        batch_id=uuid7(),
        available_at=send_at,
        **options,
    )
    if not new.urgent:
        new = replace(new, quiet_hours=quiet.wait(max(send_at or now, now), user.hours))
    with lock_user(user):
        most: int = settings.SENDS_PER_PERSON_PER_DAY
        # By id, which the index of the person's history has: reads one day of it.
        recent = Notification.objects.filter(
            user=user, id__gte=first_of(now - _DAY), origin=Notification.Origin.API, origin_id=None
        )
        if 0 < most <= recent.order_by()[:most].count():
            text = _("You sent %(most)s messages within a day, which is the limit. Try again tomorrow.")
            raise TooManyMessages(text % {"most": most})
        due = outbox.record([new])
        publish_after_commit(due)
    return Sent(new.id, new.batch_id, [wake.id for wake in due])
