"""The trace of a correlation id: all that one cause led to, in order of time, as far as it is work with a row."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import Q

from common.database import correlation
from events.intake import ledger
from events.models import Effect, Event, FlowEffect, Run, Step
from jobs.models import Batch, Job
from notifications.models import Delivery, Notification
from people.models import User
from work.models import Work
from work.reasons import Reason

MOST = 300
"""Rows of each kind that are shown of a chain."""
_LONGEST_KEY = 60


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
    """An event, a run, a job, a batch, a step or a delivery of the chain. Its row is `row_id`; `id` is an event's key.

    `seconds` since the first row; `until` is when a run last changed. `queue` is that of its workers, or the label of a
    queue that programs pull. `source` is where it came from: what the producer says, or the rule or reminder of a
    notification. `consumers` are the rules and flows that an event reached, a delivery's channel, or the programs that
    have pulled it. `key`: the first texts and numbers of its data.
    """

    kind: str
    id: str
    row_id: UUID
    owner_id: int
    at: datetime
    queue: str
    type: str
    state: str
    reason: Reason
    source: str = ""
    consumers: Sequence[str] = field(default_factory=list)
    key: str = ""
    seconds: float = 0.0
    tries: Sequence[Try] = ()
    until: datetime | None = None
    notification_id: UUID | None = None
    told: int | None = None

    @property
    def ended(self) -> float:
        """Seconds since the first row, of what is known last."""
        lasted = (self.until - self.at).total_seconds() if self.until else 0.0
        return max(
            [self.seconds + lasted, *(one.ended if one.ended is not None else one.seconds for one in self.tries)]
        )


@dataclass(frozen=True, slots=True)
class Trace:
    """`rows` are oldest first; `more` says that the chain has others, which are not shown."""

    correlation_id: str
    rows: list[Row] = field(default_factory=list)
    more: bool = False


def trace(correlation_id: str, user: User | None) -> Trace:
    """Return the part of the chain that `user` owns; with None, all of it. Each statement is on an index."""
    own = Q() if user is None else Q(user=user)
    chain = correlation.key_of(correlation_id)
    happened = Event.objects.filter(own, correlation_id=chain).with_effects()
    events = _first(happened.prefetch_related("history", "flow_effects"))
    names = {effect.notified_in: effect.rule.name for event in events for effect in event.effects.all()}
    names.pop(None, None)
    batches = _first(Batch.objects.filter(own, Q(correlation_id=chain) | Q(id=chain)).prefetch_related("history"))
    causes = [chain, *(ledger.batch_of(event.id, event.topic_id) for event in events if event.topic_id)]
    sent, jobs = Q(id__in=list(names)), Q()
    # Of what a batch tells others, operators see the numbers on its page.
    if user is not None or not batches:
        sent |= Q(batch_id__in=causes) | Q(correlation_id=chain)
        jobs = Q(batch_id=chain) | Q(correlation_id=chain)
    deliveries = _first(
        Delivery.objects.filter(notification__in=Notification.objects.filter(own, sent))
        .select_related("notification", "channel")
        .prefetch_related("history")
    )
    checks = _first(Job.objects.filter(own, jobs).prefetch_related("history")) if jobs else []
    steps = _first(Step.objects.filter(own, correlation_id=chain).select_related("run").prefetch_related("history"))
    came = _came(events, steps)
    runs = _first(Run.objects.filter(own, Q(correlation_id=chain) | Q(id__in=list(came))).defer("state"))
    several: list[tuple[Callable[[Any], Row], Sequence[Any]]] = [
        (_event, events),
        (_batch, batches),
        (_job, checks),
        (partial(_run, chain, came), runs),
        (_step, steps),
        (partial(_delivery, names), deliveries),
    ]
    return _in_time(correlation_id, several)


def _in_time(correlation_id: str, several: Sequence[tuple[Callable[[Any], Row], Sequence[Any]]]) -> Trace:
    rows = [row(one) for row, result in several for one in result[:MOST]]
    if not rows:
        return Trace(correlation_id)
    attempts = {one.id: one.history.all() for _, result in several for one in result if not isinstance(one, Run)}
    began = min(row.at for row in rows)
    timed = [
        replace(row, seconds=(row.at - began).total_seconds(), tries=_tries(attempts.get(row.row_id, ()), began))
        for row in sorted(rows, key=lambda row: row.at)
    ]
    return Trace(correlation_id, timed, any(len(result) > MOST for _, result in several))


def _first(rows: Any) -> list[Any]:
    """The oldest, and one more than are shown."""
    return list(rows.order_by("id")[: MOST + 1])


def _came(events: Sequence[Event], steps: Sequence[Step]) -> dict[UUID, list[datetime]]:
    """When the chain came to each run, or began a step of it."""
    came: dict[UUID, list[datetime]] = {}
    for event in events:
        for effect in event.flow_effects.all():
            if effect.run_id is not None:
                came.setdefault(effect.run_id, []).append(effect.at)
    for step in steps:
        came.setdefault(step.run_id, []).append(step.created_at)
    return came


def _common(kind: str, work: Work, owner_id: int) -> dict[str, Any]:
    return {
        "kind": kind,
        "id": str(work.pk),
        "row_id": work.pk,
        "owner_id": owner_id,
        "at": work.created_at,
        "state": work.state,
        "reason": Reason(work.reason_code, **work.reason_params),
    }


def _event(event: Event) -> Row:
    return Row(
        **_common("event", event, event.user_id) | {"id": event.key},
        queue="events",
        type=event.type,
        source=event.source,
        consumers=[
            *(effect.rule.name for effect in event.effects.all() if effect.outcome != Effect.Outcome.SILENT),
            *(effect.flow for effect in event.flow_effects.all() if effect.outcome == FlowEffect.Outcome.APPLIED),
        ],
        key=_key(event.data),
        told=event.batch.told if event.batch else None,
    )


def _batch(batch: Batch) -> Row:
    return Row(
        **_common("batch", batch, batch.user_id),
        queue="jobs",
        type=str(batch),
        source=batch.origin,
        key=f"{batch.audience}: {batch.audience_key}".removesuffix(": "),
        told=batch.told,
    )


def _job(job: Job) -> Row:
    return Row(
        **_common("job", job, job.user_id),
        queue=job.queue,
        type=job.kind,
        source=str(job.message.get("title", "")) if isinstance(job.message, dict) else "",
        key=_key(job.payload),
        notification_id=job.notification_id,
    )


def _run(chain: UUID, came: Mapping[UUID, Sequence[datetime]], run: Run) -> Row:
    """One of another chain stands where this chain came to it."""
    is_own = run.correlation_id == chain
    return Row(
        kind="run",
        id=str(run.id),
        row_id=run.id,
        owner_id=run.user_id,
        at=run.created_at if is_own else min(came[run.id]),
        until=run.changed_at if is_own else max(came[run.id]),
        queue="events",
        type=run.flow,
        state=run.status,
        reason=Reason(run.reason_code, **run.reason_params),
        key=run.key,
    )


def _step(step: Step) -> Row:
    return Row(
        **_common("step", step, step.user_id),
        queue="jobs",
        type=step.handler,
        source=f"{step.run.flow} {step.run.key}",
        key=_key(step.input),
    )


def _delivery(names: Mapping[UUID | None, str], delivery: Delivery) -> Row:
    notification, data = delivery.notification, delivery.notification.data
    pulled_by = [one.worker for one in delivery.history.all()] if delivery.is_pulled else []
    return Row(
        **_common("delivery", delivery, notification.user_id),
        queue=delivery.channel.label if delivery.is_pulled else delivery.channel.provider_label,
        type=notification.subject,
        source=names.get(notification.id) or notification.get_origin_display(),
        consumers=list(dict.fromkeys(pulled_by)) if delivery.is_pulled else [delivery.channel.label],
        # An event, or a message to a queue, has its data in its envelope.
        key=_key(data["data"] if isinstance(data, dict) and isinstance(data.get("data"), dict) else data),
        notification_id=notification.id,
    )


def _key(data: Any) -> str:
    """The first texts and numbers of data."""
    result = data.items() if isinstance(data, dict) else ()
    shown = ", ".join(f"{name}: {value}" for name, value in result if isinstance(value, str | int | float))
    return shown if len(shown) <= _LONGEST_KEY else f"{shown[: _LONGEST_KEY - 1]}…"


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
