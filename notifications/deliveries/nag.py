"""Repeat a message until its person answers it.

Recording marks the first message of a series with the time of its repeat (`nag_at`), so no crash loses it, and the ids
of repeats follow from the first one. An answer to any of them is one to all: see `acknowledge`.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from common.database import fault_points
from common.database.postgres import change, query
from common.database.rows import Rows
from common.texts import languages
from common.uuid7 import child
from notifications.deliveries import outbox
from notifications.deliveries.outbox import NewNotification
from notifications.messages.text import MAX_SUBJECT
from notifications.models import Channel, Notification
from notifications.reasons import DeliveryCode
from work.broker.wakes import publish_after_commit

BATCH = 500


class Series(NamedTuple):
    """A message whose repeat is due. `is_over`: its reminder has fired again. `sent_to`: its channels, in order if it
    has one. `lasts`: how long after its slot it is too late (None: never).

    Of its last repeat, or of itself: whether it has arrived, its outcome (None: deleted), until when it waits, and
    whether an answer that was taken back has cancelled it.
    """

    id: UUID
    language: str
    now: datetime
    is_over: bool
    sent_to: list[UUID]
    arrived: bool
    outcome: str | None
    waits_until: datetime | None
    undone: bool
    lasts: timedelta | None


class Step(NamedTuple):
    """The next step of a series: whether it is repeated now, when to decide again, and why it ends ("": not)."""

    id: UUID
    go: bool = False
    next_at: datetime | None = None
    code: str = ""


WAITING = "SELECT FROM notifications_notification WHERE nag_at <= now()"
_TAKE = """
SELECT n.id, p.language, now() AS now,
       EXISTS (SELECT FROM notifications_notification later
                WHERE later.origin_id = n.origin_id AND later.id > n.id AND later.slot > n.slot
                  AND later.early IS NULL) AS is_over,
       CASE WHEN n.channel_order = '{}' THEN ARRAY(
            SELECT d.channel_id FROM notifications_delivery d WHERE d.notification_id = n.id ORDER BY d.id
       ) ELSE n.channel_order END AS sent_to,
       coalesce(sent.arrived, false) AS arrived, last.outcome, sent.waits_until,
       coalesce(sent.undone, false) AS undone,
       (SELECT max(d.expires_at) FROM notifications_delivery d WHERE d.notification_id = n.id) - n.slot AS lasts
  FROM notifications_notification n JOIN people_user p ON p.id = n.user_id
  LEFT JOIN LATERAL (
       SELECT n.id, n.outcome WHERE n.nagged = 0
        UNION ALL
       SELECT m.id, m.outcome FROM notifications_notification m
        WHERE m.nag_of = n.id AND m.nagged = n.nagged AND n.nagged > 0
       ) last ON true
  CROSS JOIN LATERAL (
       SELECT bool_or(d.state = 'delivered') AS arrived, bool_or(d.reason_code = 'acknowledged') AS undone,
              max(d.available_at) FILTER (WHERE d.state = 'pending') AS waits_until
         FROM notifications_delivery d WHERE d.notification_id = last.id
       ) sent
 WHERE n.nag_at <= now()
 ORDER BY n.nag_at LIMIT %(limit)s FOR NO KEY UPDATE OF n SKIP LOCKED
"""
_STEPS = Rows("step", Step)
_ADVANCE = f"""
UPDATE notifications_notification n
   SET nag_at = step.next_at, nagged = n.nagged + step.go::int,
       withdrawn = CASE WHEN n.withdrawn = '' AND n.outcome <> 'open' THEN step.code ELSE n.withdrawn END
  FROM {_STEPS.sql} WHERE n.id = step.id
"""  # noqa: S608 - constants only


def decide(series: Series, first: Notification, channels: Sequence[object]) -> Step:
    every = timedelta(minutes=first.nag_every or 1)
    if series.is_over:
        return Step(series.id, code=DeliveryCode.NEWER)
    if not channels:
        return Step(series.id, code=DeliveryCode.REMOVED)
    if series.outcome == Notification.Outcome.DROPPED and not series.undone:
        return Step(series.id, code=DeliveryCode.NOT_REPEATED)
    if series.outcome == Notification.Outcome.OPEN and not series.arrived:
        # Nobody can answer what has not gone out.
        return Step(series.id, next_at=max(series.now, series.waits_until or series.now) + every)
    is_last = first.nagged + 1 >= (first.nag_times or 1)
    return Step(series.id, True, None if is_last else series.now + every)


def advance(limit: int = BATCH) -> int:
    """Record the repeats that are due, of up to `limit` messages; they wait for the end of quiet hours like all others.

    Any number of processes may call it at once. Returns how many were recorded; they are published after the commit.
    """
    with transaction.atomic():
        if not (taken := query(_TAKE, {"limit": limit}, Series)):
            return 0
        firsts = Notification.objects.in_bulk([one.id for one in taken])
        wanted = {key for one in taken for key in (*one.sent_to, *firsts[one.id].nag_channel_ids)}
        rows = Channel.objects.filter(id__in=wanted, removed_at=None).values_list("id", "provider")
        existing = {row[0]: row for row in rows}
        steps, repeats = [], []
        for one in taken:
            first = firsts[one.id]
            chosen = [*filter(None, map(existing.get, first.nag_channel_ids))]
            channels = chosen or [*filter(None, map(existing.get, one.sent_to))]
            steps.append(step := decide(one, first, channels))
            if step.go:
                repeats.append(_repeat(one, first, channels, is_chosen=bool(chosen)))
        change(_ADVANCE, _STEPS.values(steps))
        due = outbox.record(repeats)
        fault_points.reach("advancing")
        publish_after_commit(due)
    return len(repeats)


def _repeat(
    series: Series, first: Notification, channels: Sequence[tuple[UUID, str]], is_chosen: bool
) -> NewNotification:
    number = first.nagged + 1
    with languages.override(series.language):
        suffix = _(" (%(number)s of %(most)s)") % {"number": number, "most": first.nag_times}
    return outbox.again(
        first,
        channels,
        batch_id=child(first.id, number),
        subject=first.subject[: MAX_SUBJECT - len(suffix)].rstrip() + suffix,
        urgent=first.urgent,
        expires_at=None if series.lasts is None else series.now + series.lasts,
        nagged=number,
        nag_of=first.id,
        **(outbox.NOT_IN_ORDER if is_chosen else outbox.order_of(first)),
    )
