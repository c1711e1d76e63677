"""Tell people what keeps their reminders from arriving: once a day for each channel and cause, not once a letter.

Looked for again and again; a notice's batch is made from what it is about, so that it is recorded once however often,
and by how many, it is found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid5

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.urls import reverse

from common.postgres import query
from notifications.deliveries import outbox
from notifications.models import Channel, Notification
from people import quiet

# Names the batches of notices (RFC 9562, section 5.5).
_NOTICES = UUID("5d3f6b1e-2f0b-4c58-9d0e-8f4b7c1a6e21")
# What happened longer ago is no news.
NEWS = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class News:
    """What to tell the owner of a channel, and the batch that it is told as."""

    channel_id: UUID
    user_id: int
    batch_id: UUID
    subject: str
    body: str


_DIED = """
SELECT c.id, c.user_id, c.label, d.cause, (d.settled_at AT TIME ZONE 'UTC')::date AS day, max(n.subject) AS subject,
       max(d.reason) AS reason
  FROM notifications_delivery d
  JOIN notifications_notification n ON n.id = d.notification_id AND n.origin = 'schedule'
  JOIN notifications_channel c ON c.id = d.channel_id AND c.removed_at IS NULL AND c.disabled_at IS NULL
 WHERE d.state IN ('dead', 'unknown') AND d.settled_at > now() - %s * interval '1 second'
 GROUP BY c.id, d.cause, day
"""


def tell_owners(now: datetime) -> int:
    """Record a notice of each death and each disabled channel that its owner has not been told of. Returns how many.

    It goes to another channel of the same person that works, one that makes itself heard before the inbox; whoever has
    no other one finds it on the pages only.
    """
    news = [*_deaths(), *_disabled()]
    told = set(
        Notification.objects.filter(batch_id__in=[one.batch_id for one in news]).values_list("batch_id", flat=True)
    )
    untold = [one for one in news if one.batch_id not in told]
    ways = _ways({one.user_id for one in untold})
    with transaction.atomic():
        wakes = outbox.record(
            _saying(one, way, now)
            for one in untold
            if (way := next((way for way in ways[one.user_id] if way.id != one.channel_id), None))
        )
        outbox.publish_after_commit(wakes)
    return len(wakes)


def _deaths() -> Iterable[News]:
    for row in query(_DIED, [NEWS.total_seconds()]):
        yield News(
            row.id,
            row.user_id,
            uuid5(_NOTICES, f"{row.id} {row.cause} {row.day}"),
            f"“{row.label}” does not work"[:200],
            f"“{row.subject}” did not arrive there. {row.reason}\n\nThis is said once a day, however many there are. "
            f"All of them: {settings.BASE_URL}{reverse('notifications:history')}?state=failed",
        )


def _disabled() -> Iterable[News]:
    for channel in Channel.objects.filter(disabled_at__gt=Now() - NEWS, removed_at=None):
        page = reverse("notifications:channel", args=[channel.id])
        yield News(
            channel.id,
            channel.user_id,
            uuid5(_NOTICES, f"{channel.id} disabled {channel.disabled_at}"),
            f"“{channel.label}” is disabled"[:200],
            f"Nothing is sent to it any more. {channel.disabled_reason}\n\n"
            f"To have messages there again, enable it: {settings.BASE_URL}{page}",
        )


def _ways(user_ids: Iterable[int]) -> Mapping[int, list[Channel]]:
    """The channels of each of these people that work, those that make themselves heard first."""
    working = Channel.objects.filter(
        user__in=user_ids, removed_at=None, disabled_at=None, verified_at__isnull=False, failing_since=None
    )
    ways = defaultdict(list)
    for channel in sorted(
        working.select_related("user"), key=lambda channel: (channel.provider == "inbox", channel.id)
    ):
        ways[channel.user_id].append(channel)
    return ways


def _saying(one: News, way: Channel, now: datetime) -> outbox.NewNotification:
    owner = way.user
    return outbox.NewNotification(
        user_id=one.user_id,
        channels=[(way.id, way.provider)],
        subject=one.subject,
        body=one.body,
        origin=Notification.Origin.NOTICE,
        batch_id=one.batch_id,
        quiet_hours=quiet.wait(now, quiet.window(owner.quiet_from, owner.quiet_until, owner.time_zone)),
    )
