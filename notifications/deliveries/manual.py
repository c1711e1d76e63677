"""What people decide about deliveries: cancel, send again, discard, read.

Each change of state also writes the outcome of its notification, by a trigger. Whoever changes several deliveries first
locks their notifications in the order of their ids, so that no two transactions wait for each other for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from common.postgres import query
from notifications.models import Delivery, Notification

_STATE = Delivery.State


@transaction.atomic
def cancel(deliveries: Iterable[UUID], reason: str) -> int:
    """pending -> cancelled: a person does not want them any more. What is being sent is not touched."""
    chosen = Delivery.objects.filter(id__in=list(deliveries))
    _lock_notifications_of(chosen)
    return chosen.filter(state=_STATE.PENDING).update(state=_STATE.CANCELLED, reason=reason[:500], settled_at=Now())


@transaction.atomic
def cancel_unsent(origin_id: UUID, reason: str) -> int:
    """pending -> cancelled for all that the schedule `origin_id` caused and nobody has sent yet.

    What is being sent may arrive; if it fails, it is not tried again. `reason` has at most 100 characters.
    """
    open_ones = Exists(Delivery.objects.filter(notification=OuterRef("id"), state__in=Delivery.OPEN))
    held = _lock(Notification.objects.filter(open_ones | Q(advance_at__isnull=False), origin_id=origin_id))
    # Before the others are cancelled: one that comes back meanwhile is either marked or pending.
    Notification.objects.filter(open_ones, id__in=held).update(withdrawn=reason)
    # By the notifications' ids: with a join, PostgreSQL would not look again at the state of a row it had to wait for.
    return Delivery.objects.filter(notification__in=held, state=_STATE.PENDING).update(
        state=_STATE.CANCELLED, reason=reason[:500], settled_at=Now()
    )


_REPLAY = """
UPDATE notifications_delivery d
   SET state = 'pending', available_at = now() + (chosen.place - 1) * %(gap)s * interval '1 second',
       wake_at = now() + (chosen.place - 1) * %(gap)s * interval '1 second', wakes = 0, tries = 0, released = 0,
       replays = replays + 1, reason = '', settled_at = NULL,
       expires_at = CASE WHEN expires_at > now() THEN expires_at END
  FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY AS chosen(id, place)
 WHERE d.id = chosen.id AND d.state IN ('dead', 'unknown')
RETURNING d.id
"""


@transaction.atomic
def replay(deliveries: Iterable[UUID], gap: float = 0.0) -> list[UUID]:
    """dead, unknown -> pending: a person sends them again, with the same idempotency key. Returns those changed.

    The first is due at once, each after it `gap` seconds later, so that nothing has to stay alive to keep the rate.
    One that is not stale yet can still expire; one that is stale was chosen to be sent.
    """
    ids = list(deliveries)
    _lock_notifications_of(Delivery.objects.filter(id__in=ids))
    return [row.id for row in query(_REPLAY, {"ids": ids, "gap": gap})]


@transaction.atomic
def discard(deliveries: Iterable[UUID], reason: str) -> int:
    """dead, unknown -> cancelled: a person has decided that they need not arrive."""
    chosen = Delivery.objects.filter(id__in=list(deliveries))
    _lock_notifications_of(chosen)
    return chosen.dead_letters().update(state=_STATE.CANCELLED, reason=reason[:500], settled_at=Now())


def mark_read(inbox: Iterable[UUID], at: datetime) -> int:
    """The person has seen these inbox messages; a mark, not a change of state."""
    return Delivery.objects.filter(id__in=list(inbox), read_at=None).update(read_at=at)


def _lock_notifications_of(deliveries: QuerySet[Delivery]) -> None:
    _lock(Notification.objects.filter(id__in=deliveries.values("notification")))


def _lock(notifications: QuerySet[Notification]) -> list[UUID]:
    return list(notifications.order_by("id").select_for_update(no_key=True).values_list("id", flat=True))
