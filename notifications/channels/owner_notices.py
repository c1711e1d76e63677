"""Notices to people about their channels that do not work: once a day for each channel and cause.

A task looks for them again and again. The id of a notice's batch follows from its cause, so each is recorded once.
What is not sent yet is dropped once its channel works again.
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid5

from django.conf import settings
from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext as _

from common.database.postgres import blames_no_row, query
from common.texts import languages
from notifications.deliveries import outbox, withdrawal
from notifications.models import Channel, Delivery, Notification
from notifications.reasons import DeliveryCode
from people import quiet
from work import reasons
from work.broker.wakes import Wake, publish_after_commit
from work.models import DEAD_LETTERS

log = logging.getLogger(__name__)

# Names the batches of notices (RFC 9562, section 5.5).
_NOTICES = UUID("5d3f6b1e-2f0b-4c58-9d0e-8f4b7c1a6e21")
# Nothing older causes a notice.
NEWS = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice to a person, with the id of its batch. `about`: the channel that it is about, if any.

    `until_repaired`: the notice is dropped if that channel works again before it is sent. `reached_nobody`: so did
    the message that failed, and quiet hours do not hold the notice.
    """

    user_id: int
    batch_id: UUID
    subject: str
    body: str
    about: UUID | None = None
    until_repaired: bool = False
    reached_nobody: bool = False


_DIED = """
SELECT DISTINCT ON (c.id, d.cause, day)
       c.id, c.user_id, c.label, c.failing_since, d.cause, (d.settled_at AT TIME ZONE 'UTC')::date AS day, n.subject,
       n.outcome, d.state, d.reason_code, d.reason_params, u.language
  FROM notifications_delivery d
  JOIN notifications_notification n ON n.id = d.notification_id AND n.origin IN ('schedule', 'status')
  JOIN notifications_channel c ON c.id = d.channel_id AND c.removed_at IS NULL AND c.disabled_at IS NULL
  JOIN people_user u ON u.id = c.user_id
 WHERE d.state IN ('dead', 'unknown') AND d.settled_at > now() - %s * interval '1 second'
   AND d.settled_at < '9999-01-01Z'
   AND (c.failing_since IS NOT NULL OR d.reason_code = ANY(%s))
 ORDER BY c.id, d.cause, day, d.settled_at DESC
"""

# Failures that no service caused, so that they set no `failing_since` (see `channel_health`). After any
# other, a channel without one works again.
_OWN = [
    *reasons.WorkCode,
    DeliveryCode.REMOVED,
    DeliveryCode.UNVERIFIED,
    DeliveryCode.DAMAGED,
    DeliveryCode.NO_PROVIDER,
    DeliveryCode.UNREADABLE,
    DeliveryCode.RETURNED,
    DeliveryCode.NOT_ACKED,
]


def tell_owners(now: datetime) -> int:
    """Record a notice for each new dead letter's cause and each disabled channel. Returns how many deliveries."""
    # Cancel what is not sent yet of notices about channels that work again.
    works = Channel.objects.filter(disabled_at=None, failing_since=None)
    waiting = Notification.objects.filter(origin=Notification.Origin.NOTICE, outcome=Notification.Outcome.OPEN)
    withdrawal.drop(waiting.filter(origin_id__in=works.values("id")), DeliveryCode.MENDED)
    with transaction.atomic():
        wakes = record([*_deaths(), *_disabled()], now)
        publish_after_commit(wakes)
    return len(wakes)


def record(notices: Collection[Notice], now: datetime) -> list[Wake]:
    """Record those notices that were not before, within the caller's transaction; returns what to publish after it.

    Each goes to a working channel of its person and to their inbox, but not to the channel that it is about. People
    without such a channel find it on the pages only. Quiet hours hold a notice only if the inbox has it meanwhile and
    the message that failed reached its person elsewhere. A row that cannot be read stops nobody else's notices.
    """
    ids = [notice.batch_id for notice in notices]
    existing = set(Notification.objects.filter(batch_id__in=ids).values_list("batch_id", flat=True))
    new = [notice for notice in notices if notice.batch_id not in existing]
    return _record(new, now) if new else []


def _record(notices: Sequence[Notice], now: datetime) -> list[Wake]:
    try:
        with transaction.atomic():
            people = {notice.user_id for notice in notices}
            rows = Channel.objects.read_by_people().filter(user__in=people, failing_since=None)
            working = defaultdict(list)
            for channel in sorted(rows.select_related("user"), key=lambda one: (one.provider == "inbox", one.id)):
                working[channel.user_id].append(channel)
            return outbox.record(
                _notification(notice, chosen, now)
                for notice in notices
                if (chosen := _chosen(notice, working[notice.user_id]))
            )
    except Exception as error:
        if blames_no_row(error):
            raise
        if len(notices) == 1:
            log.error("A notice for person %s cannot be recorded: %s", notices[0].user_id, type(error).__name__)
            return []
        log.warning("%d notices were refused (%s): recording them one by one", len(notices), type(error).__name__)
    return [wake for notice in notices for wake in _record([notice], now)]


def _chosen(notice: Notice, working: Sequence[Channel]) -> list[Channel]:
    """Of its person's working channels, the first, and the inbox, which is the last."""
    others = [channel for channel in working if channel.id != notice.about]
    return others[:1] + [channel for channel in others[1:] if channel.provider == "inbox"]


def _deaths() -> Iterable[Notice]:
    history = f"{settings.BASE_URL}{reverse('notifications:history')}?state=failed"
    for row in query(_DIED, [NEWS.total_seconds(), _OWN]):
        with languages.override(row.language):
            subject = _("“%(channel)s” does not work") % {"channel": row.label}
            body = _(
                "“%(subject)s” did not arrive there. %(reason)s\n\n"
                "You get this once a day, however many there are. All of them: %(url)s"
            ) % {
                "subject": row.subject,
                "reason": reasons.Reason.read(row.reason_code, row.reason_params),
                "url": history,
            }
        yield Notice(
            row.user_id,
            uuid5(_NOTICES, f"{row.id} {row.cause} {row.day}"),
            subject[:200],
            body,
            about=row.id,
            until_repaired=row.failing_since is not None,
            reached_nobody=row.outcome == Notification.Outcome.FAILED,
        )


def _disabled() -> Iterable[Notice]:
    dead_letters = Delivery.objects.filter(channel=OuterRef("id"), state__in=DEAD_LETTERS).order_by("-id")
    last_outcome = Subquery(dead_letters.values("notification__outcome")[:1])
    disabled = Channel.objects.filter(disabled_at__gt=Now() - NEWS, removed_at=None).select_related("user")
    for channel in disabled.annotate(last_outcome=last_outcome):
        page = f"{settings.BASE_URL}{reverse('notifications:channel', args=[channel.id])}"
        with languages.override(channel.user.language):
            subject = _("“%(channel)s” is disabled") % {"channel": channel.label}
            body = _(
                "Nothing is sent to it any more. %(reason)s\n\nTo have messages there again, enable it: %(url)s"
            ) % {"reason": channel.disabled_reason, "url": page}
        yield Notice(
            channel.user_id,
            uuid5(_NOTICES, f"{channel.id} disabled {channel.disabled_at}"),
            subject[:200],
            body,
            about=channel.id,
            until_repaired=True,
            reached_nobody=channel.last_outcome == Notification.Outcome.FAILED,  # type: ignore[attr-defined]  # annotated
        )


def _notification(notice: Notice, channels: Sequence[Channel], now: datetime) -> outbox.NewNotification:
    owner = channels[0].user
    waits = not notice.reached_nobody and any(channel.provider == "inbox" for channel in channels)
    hours = owner.hours if waits else None
    return outbox.NewNotification(
        user_id=notice.user_id,
        channels=[(channel.id, channel.provider) for channel in channels],
        subject=notice.subject,
        body=notice.body,
        origin=Notification.Origin.NOTICE,
        batch_id=notice.batch_id,
        origin_id=notice.about if notice.until_repaired else None,
        quiet_hours=quiet.wait(now, hours),
    )
