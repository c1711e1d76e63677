"""What people decide about deliveries: cancel, send again, discard, read."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models.functions import Now

from notifications.models import Delivery

_STATE = Delivery.State


def cancel(deliveries: Iterable[UUID], reason: str) -> int:
    """pending -> cancelled: a person does not want them any more. What is being sent is not touched."""
    return Delivery.objects.filter(id__in=list(deliveries), state=_STATE.PENDING).update(
        state=_STATE.CANCELLED, reason=reason[:500], settled_at=Now()
    )


def cancel_unsent(origin_id: UUID, reason: str) -> int:
    """pending -> cancelled for all that the schedule `origin_id` caused and nobody has sent yet."""
    return Delivery.objects.filter(notification__origin_id=origin_id, state=_STATE.PENDING).update(
        state=_STATE.CANCELLED, reason=reason[:500], settled_at=Now()
    )


def replay(deliveries: Iterable[UUID]) -> list[UUID]:
    """dead, unknown -> pending: a person sends them again, with the same idempotency key. Returns those changed."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE notifications_delivery
               SET state = 'pending', available_at = now(), ring_at = now(), rings = 0, tries = 0, released = 0,
                   replays = replays + 1, expires_at = NULL, reason = '', settled_at = NULL
             WHERE id = ANY(%s) AND state IN ('dead', 'unknown')
         RETURNING id
            """,
            [list(deliveries)],
        )
        return [row[0] for row in cursor.fetchall()]


def discard(deliveries: Iterable[UUID], reason: str) -> int:
    """dead, unknown -> cancelled: a person has decided that they need not arrive."""
    return (
        Delivery.objects.filter(id__in=list(deliveries))
        .dead_letters()
        .update(state=_STATE.CANCELLED, reason=reason[:500], settled_at=Now())
    )


def mark_read(inbox: Iterable[UUID], at: datetime) -> int:
    """The person has seen these inbox messages; a mark, not a change of state."""
    return Delivery.objects.filter(id__in=list(inbox), read_at=None).update(read_at=at)
