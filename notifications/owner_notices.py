"""Notices to people about their channels that do not work: once a day for each channel and cause.

A task looks for them again and again. The id of a notice's batch follows from its cause, so each is recorded once.
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.urls import reverse

from common.postgres import blames_no_row, query
from notifications import providers
from notifications.deliveries import outbox
from notifications.models import Channel, Delivery, Notification
from people import quiet
from work.wakes import Wake, publish_after_commit

log = logging.getLogger(__name__)

# Names the batches of notices (RFC 9562, section 5.5).
_NOTICES = UUID("5d3f6b1e-2f0b-4c58-9d0e-8f4b7c1a6e21")
# Nothing older causes a notice.
NEWS = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice to a person, with the id of its batch. `about`: the channel that it is about, if any."""

    user_id: int
    batch_id: UUID
    subject: str
    body: str
    about: UUID | None = None


_DIED = """
SELECT DISTINCT ON (c.id, d.cause, day)
       c.id, c.user_id, c.label, d.cause, (d.settled_at AT TIME ZONE 'UTC')::date AS day, n.subject,
       d.state, d.reason_code, d.reason_params
  FROM notifications_delivery d
  JOIN notifications_notification n ON n.id = d.notification_id AND n.origin IN ('schedule', 'status')
  JOIN notifications_channel c ON c.id = d.channel_id AND c.removed_at IS NULL AND c.disabled_at IS NULL
 WHERE d.state IN ('dead', 'unknown') AND d.settled_at > now() - %s * interval '1 second'
   AND d.settled_at < '9999-01-01Z'
 ORDER BY c.id, d.cause, day, d.settled_at DESC
"""


def tell_owners(now: datetime) -> int:
    """Record a notice for each new dead letter's cause and each disabled channel. Returns how many."""
    with transaction.atomic():
        wakes = record([*_deaths(), *_disabled()], now)
        publish_after_commit(wakes)
    return len(wakes)


def record(notices: Collection[Notice], now: datetime) -> list[Wake]:
    """Record those notices that were not before, within the caller's transaction; returns what to publish after it.

    Each goes to a working channel of its person, the inbox last, and not to the channel that it is about. A notice
    about no channel goes to the inbox too. People without such a channel find it on the pages only. A row that cannot
    be read stops nobody else's notices.
    """
    ids = [notice.batch_id for notice in notices]
    known = set(Notification.objects.filter(batch_id__in=ids).values_list("batch_id", flat=True))
    new = [notice for notice in notices if notice.batch_id not in known]
    try:
        return _record(new, now)
    except Exception as error:
        if blames_no_row(error):
            raise
        log.warning("%d notices were refused (%s): recording them one by one", len(new), type(error).__name__)
    return [wake for notice in new for wake in _record_alone(notice, now)]


def _record_alone(notice: Notice, now: datetime) -> list[Wake]:
    try:
        return _record([notice], now)
    except Exception as error:
        if blames_no_row(error):
            raise
        log.error("A notice for person %s cannot be recorded: %s", notice.user_id, type(error).__name__)
        return []


@transaction.atomic
def _record(notices: Collection[Notice], now: datetime) -> list[Wake]:
    if not notices:
        return []
    working = _working_channels({notice.user_id for notice in notices})
    return outbox.record(
        _notification(notice, chosen, now) for notice in notices if (chosen := _chosen(notice, working[notice.user_id]))
    )


def _chosen(notice: Notice, working: Sequence[Channel]) -> list[Channel]:
    others = [channel for channel in working if channel.id != notice.about]
    inbox = [channel for channel in others[1:] if channel.provider == "inbox"]
    return others[:1] if notice.about else others[:1] + inbox


def _deaths() -> Iterable[Notice]:
    for row in query(_DIED, [NEWS.total_seconds()]):
        yield Notice(
            row.user_id,
            uuid5(_NOTICES, f"{row.id} {row.cause} {row.day}"),
            f"“{row.label}” does not work"[:200],
            f"“{row.subject}” did not arrive there. {_reason(row)}\n\nYou get this once a day, however many there are. "
            f"All of them: {settings.BASE_URL}{reverse('notifications:history')}?state=failed",
            about=row.id,
        )


def _reason(row: Any) -> str:
    delivery = Delivery(state=row.state, reason_code=row.reason_code, reason_params=json.loads(row.reason_params))
    return delivery.reason


def _disabled() -> Iterable[Notice]:
    for channel in Channel.objects.filter(disabled_at__gt=Now() - NEWS, removed_at=None):
        page = reverse("notifications:channel", args=[channel.id])
        yield Notice(
            channel.user_id,
            uuid5(_NOTICES, f"{channel.id} disabled {channel.disabled_at}"),
            f"“{channel.label}” is disabled"[:200],
            f"Nothing is sent to it any more. {channel.disabled_reason}\n\n"
            f"To have messages there again, enable it: {settings.BASE_URL}{page}",
            about=channel.id,
        )


def _working_channels(user_ids: Iterable[int]) -> Mapping[int, list[Channel]]:
    """The working channels of each of these people, the inbox last."""
    working = (
        Channel.objects.for_messages()
        .exclude(provider__in=providers.pulled())  # a notice is for a person
        .filter(user__in=user_ids, removed_at=None, disabled_at=None, verified_at__isnull=False, failing_since=None)
    )
    found = defaultdict(list)
    for channel in sorted(
        working.select_related("user"), key=lambda channel: (channel.provider == "inbox", channel.id)
    ):
        found[channel.user_id].append(channel)
    return found


def _notification(notice: Notice, channels: Sequence[Channel], now: datetime) -> outbox.NewNotification:
    owner = channels[0].user
    return outbox.NewNotification(
        user_id=notice.user_id,
        channels=[(channel.id, channel.provider) for channel in channels],
        subject=notice.subject,
        body=notice.body,
        origin=Notification.Origin.NOTICE,
        batch_id=notice.batch_id,
        quiet_hours=quiet.wait(now, quiet.window(owner.quiet_from, owner.quiet_until, owner.time_zone)),
    )
