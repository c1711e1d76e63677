"""Send one's own message, now or at a time, outside of any schedule."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


class TooMany(Exception):
    """The person's daily limit is reached; the message is for them."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A validated message. `send_at` is aware; None sends it now."""

    title: str
    body: str
    channels: Sequence[Channel]
    send_at: datetime | None = None
    urgent: bool = False
    category: str = ""
    data: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """The ids of what was recorded."""

    notification_id: UUID
    batch_id: UUID
    deliveries: Sequence[UUID]


def send(user: User, draft: Draft, now: datetime) -> Sent:
    """Record the message and publish it after the commit. Raises TooMany.

    Outside of `urgent` ones it waits for the end of the person's quiet hours, as a reminder does.
    """
    window = None if draft.urgent else quiet.window(user.quiet_from, user.quiet_until, user.time_zone)
    new = NewNotification(
        user_id=user.pk,
        channels=[(channel.id, channel.provider) for channel in draft.channels],
        subject=draft.title,
        body=draft.body,
        origin=Notification.Origin.API,
        batch_id=uuid7(),
        available_at=draft.send_at,
        urgent=draft.urgent,
        quiet_hours=quiet.wait(max(draft.send_at or now, now), window),
        category=draft.category,
        data=None if draft.data is None else json.dumps(draft.data),
    )
    with lock_user(user):
        _require_allowance(user, now)
        due = outbox.record([new])
        publish_after_commit(due)
    return Sent(new.id, new.batch_id, [wake.id for wake in due])


def _require_allowance(user: User, now: datetime) -> None:
    most: int = settings.SENDS_PER_PERSON_PER_DAY
    # By id, which the index of the person's history has: reads one day of it.
    recent = Notification.objects.filter(user=user, id__gte=first_of(now - _DAY), origin=Notification.Origin.API)
    if 0 < most <= recent.order_by()[:most].count():
        raise TooMany(
            _("You sent %(most)s messages within a day, which is the limit. Try again tomorrow.") % {"most": most}
        )
