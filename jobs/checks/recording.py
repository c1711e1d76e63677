"""Record jobs, in the transaction of their cause: a crash before its commit has recorded none."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from common.database import correlation
from common.database.postgres import query
from common.database.rows import Json, Rows
from common.uuid7 import uuid7
from jobs import kinds
from notifications.deliveries.outbox import SendOptions
from work.broker import wakes
from work.broker.wakes import Wake

CHECK = "jobs.check"


@dataclass(frozen=True, slots=True, kw_only=True)
class SendAs(SendOptions):
    """The form of a job's notification, if it speaks: the texts with their placeholders, and the channels.

    `channels` are (id, provider), in order where `in_order`; None: all that the person can use when it speaks.
    `name` is the person's, `time_zone` that of the times in the texts.
    """

    title: str
    body: str
    channels: Sequence[tuple[UUID, str]] | None
    name: str
    time_zone: str
    origin: str = "schedule"

    def options(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(SendOptions)}

    @classmethod
    def read(cls, stored: str) -> SendAs:
        """Raises TypeError, ValueError or KeyError for a damaged row."""
        given: dict[str, Any] = json.loads(stored)
        chosen = given.pop("channels")
        channels = None if chosen is None else [(UUID(key), str(provider)) for key, provider in chosen]
        return cls(channels=channels, **given)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to record. Instants are aware; `expires_at`: later, neither its check nor its message is wanted."""

    user_id: int
    kind: str
    payload: Mapping[str, Any]
    connection_id: UUID | None
    batch_id: UUID
    slot: datetime
    send_as: SendAs
    origin_id: UUID | None = None
    correlation_id: str | None = None
    available_at: datetime | None = None
    expires_at: datetime | None = None
    on_error: str = "daily"
    errors_allowed: int = 3
    preview: Mapping[str, Any] | None = None


_JOBS = Rows(
    "j",
    NewJob,
    without=("send_as",),
    **correlation.COLUMNS,
    id=(UUID, lambda _: uuid7()),
    queue=(str, lambda job: queue_of(job.kind)),
    message=(Json, lambda job: json.dumps(asdict(job.send_as), default=str)),
)
_DUE = "greatest(available_at, now())"
_RECORD = f"""
{_JOBS.insert("jobs_job", **wakes.new_work(f"extract(epoch FROM {_DUE} - now())::float"), available_at=_DUE)}
ON CONFLICT (batch_id, user_id) DO NOTHING
RETURNING id, extract(epoch FROM available_at - now())::float AS wait, user_id, queue
"""


def record(jobs: Iterable[NewJob]) -> list[Wake]:
    """Write jobs, pending, in one statement, within the caller's transaction; returns what to publish after it.

    Leaves out a job whose batch and person have one already.
    """
    if not (new := list(jobs)):
        return []
    rows = query(_RECORD, {**_JOBS.values(new), **wakes.parameters()})
    return [Wake(CHECK, row.id, row.wait, row.user_id, queue=own_queue(row.queue)) for row in rows]


def queue_of(name: str) -> str:
    """The queue of a kind's jobs: the operator's choice, or its own; the usual one for a kind that is not installed."""
    kind = kinds.find(name)
    return settings.JOB_QUEUES.get(name) or ("jobs" if kind is None else kind.queue)


def own_queue(queue: str) -> str | None:
    """None for the usual queue, which large amounts of one person's work may leave for the bulk queue."""
    return None if queue == "jobs" else queue
