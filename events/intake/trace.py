"""The trace of a correlation id: the whole chain of events, notifications, deliveries and tries, in order of time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Prefetch, Q

from events.intake import ledger
from events.models import Effect, Event
from notifications.models import Delivery, Notification
from people.models import User
from work.reasons import Reason

MOST = 300
"""Events, and deliveries, that are shown of a chain."""


@dataclass(frozen=True, slots=True)
class Try:
    """One attempt. `seconds` are since the first row's instant; `ended` likewise, None while it is under way."""

    number: int
    seconds: float
    ended: float | None
    worker: str
    outcome: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Row:
    """An event or a delivery of the chain, whose row is `work_id`; `id` is an event's key.

    `seconds` since the first row. `source` is where it came from: what the producer says, or the rule or reminder of a
    notification. `consumers` are the rules that an event reached, or a delivery's channel.
    """

    kind: str
    id: str
    work_id: UUID
    owner_id: int
    at: datetime
    seconds: float
    queue: str
    type: str
    source: str
    consumers: Sequence[str]
    state: str
    reason: Reason
    tries: Sequence[Try]
    notification_id: UUID | None = None
    told: int | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """`rows` are oldest first; `more` says that the chain has others, which are not shown."""

    correlation_id: UUID
    rows: list[Row] = field(default_factory=list)
    more: bool = False

    @property
    def seconds(self) -> float:
        return self.rows[-1].seconds if self.rows else 0.0


def trace(correlation_id: UUID, user: User | None) -> Trace:
    """Return the part of the chain that `user` owns; with None, all of it. Six statements, each on an index."""
    own = Q() if user is None else Q(user=user)
    effects = Effect.objects.select_related("rule", "digest")
    chain = Event.objects.filter(own, correlation_id=correlation_id).select_related("batch").order_by("id")
    stored = list(chain.prefetch_related("history", Prefetch("effects", effects))[: MOST + 1])
    events = stored[:MOST]
    names = {effect.notified_in: effect.rule.name for event in events for effect in event.effects.all()}
    names.pop(None, None)
    # For one person; what topics tell all others is only counted.
    topics = [ledger.batch_of(one.id, one.topic_id) for one in events if one.topic_id and user is not None]
    sent = _sent(own, [correlation_id, *topics], list(names))
    deliveries = sent[:MOST]
    if (began := min((one.created_at for one in (*events, *deliveries)), default=None)) is None:
        return Trace(correlation_id)
    rows = [_event(one, began) for one in events] + [_delivery(one, began, names) for one in deliveries]
    has_more = len(stored) > MOST or len(sent) > MOST
    return Trace(correlation_id, sorted(rows, key=lambda row: row.at), has_more)


def _sent(own: Q, batches: Sequence[UUID], notification_ids: Sequence[UUID | None]) -> list[Delivery]:
    """Deliveries of these batches and notifications, the oldest first, and one more than are shown."""
    notifications = Notification.objects.filter(own, Q(id__in=notification_ids) | Q(batch_id__in=batches))
    found = Delivery.objects.filter(notification__in=notifications).select_related("notification", "channel")
    return list(found.prefetch_related("history").order_by("id")[: MOST + 1])


def _event(event: Event, began: datetime) -> Row:
    return Row(
        kind="event",
        id=event.key,
        work_id=event.id,
        owner_id=event.user_id,
        at=event.created_at,
        seconds=(event.created_at - began).total_seconds(),
        queue="events",
        type=event.type,
        source=event.source,
        consumers=[effect.rule.name for effect in event.effects.all() if effect.outcome != Effect.Outcome.SILENT],
        state=event.state,
        reason=Reason(event.reason_code, **event.reason_params),
        tries=_tries(event.history.all(), began),
        told=event.batch.told if event.batch else None,
    )


def _delivery(delivery: Delivery, began: datetime, names: dict[UUID | None, str]) -> Row:
    notification = delivery.notification
    return Row(
        kind="delivery",
        id=str(delivery.id),
        work_id=delivery.id,
        owner_id=notification.user_id,
        at=delivery.created_at,
        seconds=(delivery.created_at - began).total_seconds(),
        queue=delivery.channel.provider_label,
        type=notification.subject,
        source=names.get(notification.id) or notification.get_origin_display(),
        consumers=[delivery.channel.label],
        state=delivery.state,
        reason=Reason(delivery.reason_code, **delivery.reason_params),
        tries=_tries(delivery.history.all(), began),
        notification_id=notification.id,
    )


def _tries(attempts: Iterable[Any], began: datetime) -> list[Try]:
    return [
        Try(
            number=one.number,
            seconds=(one.started_at - began).total_seconds(),
            ended=None if one.finished_at is None else (one.finished_at - began).total_seconds(),
            worker=one.worker,
            outcome=one.outcome,
            reason=Reason(one.reason_code, **one.reason_params),
        )
        for one in attempts
    ]
