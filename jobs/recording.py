"""Record jobs, in the transaction of their cause: a crash before its commit has recorded none."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from common.postgres import column, query
from common.uuid7 import uuid7
from jobs import kinds
from work import wakes
from work.wakes import Wake

LOOK = "jobs.look"


@dataclass(frozen=True, slots=True, kw_only=True)
class SendAs:
    """How a job's notification is sent, if it speaks: the texts with their placeholders, and the channels.

    `channels` are (id, provider), in order where `in_order`; None: all that the person can use when it speaks.
    `escalate_after` is in minutes; `name` the person's;
    `time_zone` that of the times in the texts; `data` is JSON.
    """

    title: str
    body: str
    channels: Sequence[tuple[UUID, str]] | None
    name: str
    time_zone: str
    urgent: bool = False
    in_order: bool = False
    escalate_after: int | None = None
    category: str = ""
    data: str | None = None
    origin: str = "schedule"

    def stored(self) -> str:
        return json.dumps(asdict(self), default=str)

    @classmethod
    def read(cls, stored: str) -> SendAs:
        """Raises TypeError, ValueError or KeyError for a damaged row."""
        fields: dict[str, Any] = json.loads(stored)
        chosen = fields.pop("channels")
        channels = None if chosen is None else [(UUID(key), str(provider)) for key, provider in chosen]
        return cls(channels=channels, **fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to record. Instants are aware; `expires_at`: later, neither its look nor its message is wanted."""

    user_id: int
    kind: str
    payload: Mapping[str, Any]
    connection_id: UUID | None
    batch_id: UUID
    slot: datetime
    send_as: SendAs
    origin_id: UUID | None = None
    correlation_id: UUID | None = None
    available_at: datetime | None = None
    expires_at: datetime | None = None
    on_error: str = "daily"
    errors_allowed: int = 3


_RECORD = f"""
INSERT INTO jobs_job (id, user_id, kind, queue, payload, connection_id, batch_id, correlation_id, origin_id, slot,
                      message, on_error, errors_allowed, state, available_at, wake_at, expires_at, wakes, is_bulk,
                      tries, replays)
SELECT id, user_id, kind, queue, payload::jsonb, connection_id, batch_id, correlation_id, origin_id, slot,
       message::jsonb, on_error, errors_allowed, 'pending', due, {
    wakes.wake_at("extract(epoch FROM due - now())::float")
}, expires_at, 0, %(is_bulk)s, 0, 0
  FROM (SELECT j.*, greatest(available_at, now()) AS due
          FROM unnest(%(ids)s::uuid[], %(users)s::bigint[], %(kinds)s::text[], %(queues)s::text[],
                      %(payloads)s::text[], %(connections)s::uuid[], %(batches)s::uuid[], %(correlations)s::uuid[],
                      %(origins)s::uuid[], %(slots)s::timestamptz[], %(messages)s::text[], %(on_errors)s::text[],
                      %(allowed)s::int[], %(available)s::timestamptz[], %(expires)s::timestamptz[])
               AS j(id, user_id, kind, queue, payload, connection_id, batch_id, correlation_id, origin_id, slot,
                    message, on_error, errors_allowed, available_at, expires_at)) new
ON CONFLICT (batch_id, user_id) DO NOTHING
RETURNING id, extract(epoch FROM available_at - now())::float AS wait, user_id, queue
"""  # noqa: S608 - constants only


def record(jobs: Iterable[NewJob]) -> list[Wake]:
    """Write jobs, pending, in one statement, within the caller's transaction; returns what to publish after it.

    Leaves out a job whose batch and person have one already.
    """
    new = list(jobs)
    if not new:
        return []
    rows = query(
        _RECORD,
        {
            "ids": column(uuid7() for _ in new),
            "users": column(job.user_id for job in new),
            "kinds": column(job.kind for job in new),
            "queues": column(queue_of(job.kind) for job in new),
            "payloads": column(json.dumps(job.payload) for job in new),
            "connections": column(job.connection_id for job in new),
            "batches": column(job.batch_id for job in new),
            "correlations": column(job.correlation_id for job in new),
            "origins": column(job.origin_id for job in new),
            "slots": column(job.slot for job in new),
            "messages": column(job.send_as.stored() for job in new),
            "on_errors": column(str(job.on_error) for job in new),
            "allowed": column(job.errors_allowed for job in new),
            "available": column(job.available_at for job in new),
            "expires": column(job.expires_at for job in new),
            **wakes.parameters(),
        },
    )
    return [Wake(LOOK, row.id, row.wait, row.user_id, queue=own_queue(row.queue)) for row in rows]


def queue_of(name: str) -> str:
    """The queue of a kind's jobs: the operator's choice, or its own; the usual one for a kind that is not installed."""
    kind = kinds.find(name)
    return settings.JOB_QUEUES.get(name) or ("jobs" if kind is None else kind.queue)


def own_queue(queue: str) -> str | None:
    """None for the usual queue, which large amounts of one person's work may leave for the bulk queue."""
    return None if queue == "jobs" else queue
