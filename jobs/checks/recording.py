"""Jobs as rows: recorded in the transaction of their cause, so that a crash before its commit has recorded none.

And leased ones, with all that a check and its decision need.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Annotated, Any, Self
from uuid import UUID

from django.conf import settings

from common import zones
from common.database import correlation
from common.database.postgres import query
from common.database.rows import Json, Rows
from common.uuid7 import uuid7
from jobs import kinds
from jobs.kinds.base import Ask, Source
from notifications.deliveries.outbox import SendOptions
from people import quiet
from people.quiet import Hours
from work.broker import wakes
from work.broker.wakes import Wake
from work.kinds import FROM_ROW, Claim, Loaded, from_json
from work.reasons import Reason

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
    def read(cls, stored: str) -> Self:
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


_QUIET = f"CASE WHEN NOT (d.message->>'urgent')::bool THEN {quiet.columns('p')} END"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobClaim(Claim):
    """A leased job. `unusable`: why it cannot run, None when it can.

    `on_error` and `errors_allowed` are what its person wants where a check fails; `memory_version`, `failures`,
    `failing_since` and `told_at` how its reminder has failed lately, see `Memory`. `connection_works`: whether the last
    check through its connection succeeded. `preview`: see `Job`.
    """

    user_id: int
    origin_id: UUID | None
    batch_id: UUID
    correlation_id: Annotated[str | None, Loaded(correlation.sql("d"))]
    slot: datetime
    payload: Annotated[Mapping[str, Any], Loaded("d.payload::text", read=lambda text: dict(json.loads(text)))]
    send_as: Annotated[SendAs, Loaded("d.message::text", read=SendAs.read)]
    time_zone: Annotated[str, Loaded("p.time_zone")]
    quiet: Annotated[Hours | None, Loaded(_QUIET, read=quiet.read)]
    expires_at: datetime | None
    is_active: Annotated[bool, Loaded("p.is_active")]
    source: Annotated[Source | None, FROM_ROW]
    unusable: Annotated[Reason | None, FROM_ROW]
    connection_works: Annotated[bool, Loaded("c.working_since IS NOT NULL")]
    on_error: str
    errors_allowed: int
    memory: Annotated[Any, Loaded("m.state::text", read=from_json)]
    memory_version: Annotated[int, Loaded("coalesce(m.version, 0)")]
    failures: Annotated[int, Loaded("coalesce(m.failures, 0)")]
    failing_since: Annotated[datetime | None, Loaded("m.failing_since")]
    told_at: Annotated[datetime | None, Loaded("m.told_at")]
    preview: Annotated[Mapping[str, Any] | None, Loaded("d.preview::text", read=from_json)]

    def ask(self) -> Ask:
        origin_id = self.origin_id
        if self.preview is not None:
            origin_id = UUID(self.preview["of"]) if self.preview.get("of") else None
        return Ask(
            user_id=self.user_id,
            origin_id=origin_id,
            zone=zones.read(self.time_zone),
            slot=self.slot,
            now=self.claimed_at,
            payload=self.payload,
            memory=self.memory,
            source=self.source,
            job_id=self.id if self.preview is None else None,
        )
