"""The actions of people on deliveries: cancel, send again, discard, mark as read.

Each change of state also writes the outcome of its notification, by a trigger. An action on several deliveries first
locks their notifications in the order of their ids, so that no two transactions deadlock.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from common.postgres import query
from notifications.deliveries import wakes
from notifications.models import Delivery, Notification
from notifications.reasons import Code, Reason

_STATE = Delivery.State


@transaction.atomic
def cancel(deliveries: Iterable[UUID], reason: Reason) -> int:
    """pending -> cancelled: a person does not want them any more. What is being sent is not touched."""
    chosen = Delivery.objects.filter(id__in=list(deliveries))
    _lock_notifications_of(chosen)
    return chosen.filter(state=_STATE.PENDING).update(**_cancelled(reason))


@transaction.atomic
def cancel_unsent(origin_id: UUID, code: Code) -> int:
    """pending -> cancelled for all that the schedule `origin_id` caused and nobody has sent yet.

    A delivery that is being sent may arrive; if it fails, it is not tried again.
    """
    open_ones = Exists(Delivery.objects.filter(notification=OuterRef("id"), state__in=Delivery.OPEN))
    held = _lock(Notification.objects.filter(open_ones | Q(advance_at__isnull=False), origin_id=origin_id))
    # Before the others are cancelled: one that comes back meanwhile is either marked or pending.
    Notification.objects.filter(open_ones, id__in=held).update(withdrawn=code)
    # By the notifications' ids: with a join, PostgreSQL would not look again at the state of a row it had to wait for.
    return Delivery.objects.filter(notification__in=held, state=_STATE.PENDING).update(**_cancelled(Reason(code)))


_REPLAY = f"""
UPDATE notifications_delivery d
   SET state = 'pending', available_at = now() + (chosen.place - 1) * %(gap)s * interval '1 second',
       wake_at = {wakes.wake_at_unpublished("(chosen.place - 1) * %(gap)s::float")}, wakes = 0, tries = 0, released = 0,
       replays = replays + 1, reason_code = '', reason_params = '{{}}', settled_at = NULL,
       expires_at = CASE WHEN expires_at > now() THEN expires_at END
  FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY AS chosen(id, place)
 WHERE d.id = chosen.id AND d.state IN ('dead', 'unknown')
RETURNING d.id
"""  # noqa: S608 - constants only


@transaction.atomic
def replay(deliveries: Iterable[UUID], gap: float = 0.0) -> list[UUID]:
    """dead, unknown -> pending: a person sends them again, with the same idempotency key. Returns those changed.

    The first is due at once, each after it `gap` seconds later, so that nothing has to stay alive to keep the rate.
    One that is not stale yet can still expire; one that is stale was chosen to be sent.
    """
    ids = list(deliveries)
    _lock_notifications_of(Delivery.objects.filter(id__in=ids))
    return [row.id for row in query(_REPLAY, {"ids": ids, "gap": gap, **wakes.parameters()})]


@transaction.atomic
def discard(deliveries: Iterable[UUID], reason: Reason) -> int:
    """dead, unknown -> cancelled: a person has decided that they need not arrive."""
    chosen = Delivery.objects.filter(id__in=list(deliveries))
    _lock_notifications_of(chosen)
    return chosen.dead_letters().update(**_cancelled(reason))


def mark_read(inbox: Iterable[UUID], at: datetime) -> int:
    """The person has seen these inbox messages; a mark, not a change of state."""
    return Delivery.objects.filter(id__in=list(inbox), read_at=None).update(read_at=at)


def _cancelled(reason: Reason) -> dict[str, Any]:
    return {
        "state": _STATE.CANCELLED,
        "reason_code": reason.code,
        "reason_params": reason.params,
        "settled_at": Now(),
    }


def _lock_notifications_of(deliveries: QuerySet[Delivery]) -> None:
    _lock(Notification.objects.filter(id__in=deliveries.values("notification")))


def _lock(notifications: QuerySet[Notification]) -> list[UUID]:
    return list(notifications.order_by("id").select_for_update(no_key=True).values_list("id", flat=True))
