"""Acknowledge or snooze a notification, and take the first back.

Only the first answer counts, to a message or any of its repeats, of all members where a team got it. It marks the
message in the inbox as read, stops repeats and other channels from being tried, and cancels deliveries that have not
gone out; a delivery that is being sent at that moment is not tried again.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from common.database import encryption
from common.database.postgres import execute
from common.redis import live_wakes
from common.texts import languages
from common.times import snooze as snoozes
from notifications.deliveries import outbox
from notifications.models import Channel, Delivery, Notification
from notifications.models.channel import verified
from notifications.providers.web_push import WebPush
from notifications.reasons import DeliveryCode
from people import teams
from people.models import User
from work.broker.wakes import Wake, publish_after_commit
from work.engine.manual import cancel
from work.reasons import Reason

From = Notification.AnsweredFrom

LINK_LIFE = timedelta(days=30)
"""The lifetime of a link to answer, from the record of its notification on."""

LOCKS: list[Callable[[UUID], object]] = []
"""Called before a notification is locked: they lock its cause if a listener changes that."""
LISTENERS: list[Callable[[Notification], object]] = []
"""Called after a notification is acknowledged or snoozed (`snoozed_until`), in its transaction."""
UNDO_LISTENERS: list[Callable[[Notification], object]] = []
"""Called after that was taken back, in its transaction."""


@transaction.atomic
def acknowledge(notification_id: UUID, source: From = From.API, by: User | None = None) -> bool:
    """False when it has been answered before; nothing changes then. `by`: who, where they act for a team."""
    return _answer(notification_id, DeliveryCode.ACKNOWLEDGED, source, by) is not None


@transaction.atomic
def snooze(notification_id: UUID, until: datetime, source: From = From.API, by: User | None = None) -> bool:
    """Acknowledge it, and send the same again at `until` (aware), as a new batch that ignores quiet hours.

    It goes where the first one went or would have gone, less the channels removed since; to all, where a team got it.
    False when it has been answered before; nothing changes then. Raises InvalidSnooze.
    """
    snoozes.check(until, timezone.now(), snoozes.FURTHEST)
    if (notification := _answer(notification_id, DeliveryCode.SNOOZED, source, by, until)) is None:
        return False
    if notification.nag_of is not None:
        notification = Notification.objects.get(id=notification.nag_of)
    sent_to = notification.deliveries.order_by("id").values_list("channel_id", flat=True)
    order, options = notification.channel_order or list(sent_to), outbox.nag_of(notification)
    _send_again(notification, order, until, urgent=True, **options)  # the hour was chosen
    return True


def _send_again(notification: Notification, order: Sequence[UUID], available_at: datetime, **options: Any) -> None:
    """Record the same as a new batch to those of these channels that still exist."""
    providers = dict(Channel.objects.filter(id__in=order, removed_at=None).values_list("id", "provider"))
    channels = [(channel_id, providers[channel_id]) for channel_id in order if channel_id in providers]
    again = outbox.again(notification, channels, available_at=available_at, **options, **outbox.order_of(notification))
    if again.channels:
        publish_after_commit(outbox.record([again]))


# What failed meanwhile is decided at once; else the escalation begins anew, as if it were sent now.
_ADVANCE = """
UPDATE notifications_notification n
   SET advance_at = now() + CASE WHEN newest.state IN ('dead', 'unknown') THEN interval '0'
                                 ELSE n.escalate_after * interval '1 minute' END
  FROM (SELECT state FROM notifications_delivery WHERE notification_id = %(id)s
         ORDER BY created_at DESC, id DESC LIMIT 1) newest
 WHERE n.id = %(id)s AND n.channel_order <> '{}'
"""


class Undone(NamedTuple):
    """The labels of the channels to which it goes after all, and of those for which it is too late."""

    again: list[str]
    late: list[str]


@transaction.atomic
def undo(notification_id: UUID) -> Undone | None:
    """Take `acknowledge` back. What it cancelled is sent as a new batch unless it has expired, and further channels
    are tried again. Its repeats go on. An answer to the new one is one to it, too.

    What followed from it elsewhere stays, such as an acknowledged incident, but for a next time that was counted from
    Done (see `UNDO_LISTENERS`). None when it is not done. What a team got
    is open again for all; its members get nothing more of it.
    """
    notification_id, _ = _whole(notification_id)
    series = Notification.objects.filter(id__in=_lock_series(notification_id))
    done = series.filter(acknowledged_at__isnull=False, snoozed_until=None)
    if (notification := done.filter(id=notification_id).first()) is None:
        return None
    first = notification.nag_of or notification.id
    again, late = _stopped(notification, Q(notification__nag_of=first, notification__nagged=0))
    unanswered: dict[str, Any] = {"acknowledged_at": None, "answered_from": "", "acknowledged_by": ""}
    _of_members(*series.values_list("id", flat=True)).update(**unanswered)
    done.update(**unanswered)
    every = F("nag_every") * timedelta(minutes=1)
    series.filter(nag_every__isnull=False, nagged__lt=F("nag_times"), withdrawn="").update(nag_at=Now() + every)
    if again:
        order = notification.channel_order
        channels = order[order.index(again[0].channel_id) :] if order else [one.channel_id for one in again]
        # The latest, so that none comes in quiet hours.
        available_at = max(one.available_at for one in again)
        until, urgent = again[0].expires_at, notification.urgent
        _send_again(notification, channels, available_at, urgent=urgent, expires_at=until, nag_of=first)
    else:
        execute(_ADVANCE, {"id": notification_id})
    _wake(notification)
    for tell in UNDO_LISTENERS:
        tell(notification)
    return Undone([one.channel.label for one in again], [one.channel.label for one in late])


def _stopped(notification: Notification, sent_again: Q) -> tuple[list[Delivery], list[Delivery]]:
    """The deliveries that its last answer cancelled, one of each channel: those still in time, and those too late.

    `sent_again`: those of what earlier calls of `undo` have sent.
    """
    stopped = Delivery.objects.filter(
        Q(notification=notification) | sent_again,
        reason_code=DeliveryCode.ACKNOWLEDGED,
        settled_at__gte=notification.acknowledged_at,
    )
    by_channel = {one.channel_id: one for one in stopped.select_related("channel").order_by("id")}
    wanted = list(by_channel.values())
    late = [one for one in wanted if one.expires_at and one.expires_at <= timezone.now()]
    return [one for one in wanted if one not in late], late


def _answer(
    notification_id: UUID, code: DeliveryCode, source: From, by: User | None, until: datetime | None = None
) -> Notification | None:
    """The notification, of the team for a member's, as it is now; None if it was answered before."""
    notification_id, member = _whole(notification_id)
    series = _lock_series(notification_id)
    who = member or by
    values: dict[str, Any] = {"acknowledged_at": Now(), "snoozed_until": until, "advance_at": None, "nag_at": None}
    values |= {"answered_from": source, "acknowledged_by": "" if who is None else who.get_full_name()[:150]}
    if not Notification.objects.filter(id__in=series, acknowledged_at=None).update(**values):
        return None
    _of_members(*series).filter(acknowledged_at=None).update(**values)
    ids = [*series, *_of_members(*series).values_list("id", flat=True)]
    waiting = Delivery.objects.filter(notification__in=ids, state=Delivery.State.PENDING)
    cancel(Delivery, waiting.values_list("id", flat=True), Reason(code))
    read = Delivery.objects.filter(notification__in=ids, provider="inbox", state=Delivery.State.DELIVERED)
    read.mark_read(timezone.now())
    shown = _shown(*ids).order_by().values_list("notification_id", flat=True).distinct()
    publish_after_commit([Wake(CLOSE, one, queue="deliveries") for one in shown])
    notification = Notification.objects.get(id=notification_id)
    _wake(notification)
    for tell in LISTENERS:
        tell(notification)
    return notification


def _wake(notification: Notification) -> None:
    """Open pages of its account, for which somebody else may have answered it, or by a link."""
    transaction.on_commit(partial(live_wakes.wake, notification.user_id))


def _lock_series(notification_id: UUID) -> list[UUID]:
    """Lock the message with all that repeats it, or that it repeats; returns their ids."""
    for lock in LOCKS:
        lock(notification_id)
    first = Notification.objects.filter(id=notification_id).values_list("nag_of", flat=True).first() or notification_id
    series = Notification.objects.filter(Q(id=first) | Q(nag_of=first)).order_by("id").select_for_update(no_key=True)
    locked = list(series.values_list("id", "nag_every"))
    if any(every for _, every in locked):  # and a repeat that was recorded while this waited for the first one
        locked = list(series.values_list("id", "nag_every"))
    return [key for key, _ in locked]


def _whole(notification_id: UUID) -> tuple[UUID, User | None]:
    """The id of the team's notification and the member, for what a member of a team got; else the id itself.

    Who is no longer an owner or a member of the team answers for themself alone.
    """
    rows = Notification.objects.select_related("user").filter(id=notification_id, origin=Notification.Origin.TEAM)
    if (own := rows.first()) is None:
        return notification_id, None
    team_id = Notification.objects.filter(id=own.batch_id).values_list("user_id", flat=True).first()
    is_member = teams.recipients(team_id).filter(person=own.user).exists()
    return (own.batch_id, own.user) if is_member else (notification_id, None)


def _of_members(*notification_ids: UUID) -> QuerySet[Notification]:
    return Notification.objects.filter(batch_id__in=notification_ids, origin=Notification.Origin.TEAM)


CLOSE = "notifications.close_shown"
# What a browser may show: also what is on its way to it.
_SHOWN = (Delivery.State.DELIVERED, Delivery.State.SENDING, Delivery.State.UNKNOWN)


def close_shown(notification_id: UUID) -> None:
    """Tell each browser that may show the notification to close it. Best effort: if a message is lost, it stays."""
    for delivery in _shown(notification_id).select_related("channel__user"):
        try:
            with languages.override(delivery.channel.user.language):
                WebPush().close(delivery.id, delivery.channel.destination())
        except encryption.Unreadable:
            continue


def _shown(*notification_ids: UUID) -> QuerySet[Delivery]:
    return Delivery.objects.filter(
        verified("channel__"), notification__in=notification_ids, provider=WebPush.kind, state__in=_SHOWN
    )
