"""A leased job, with all that a check and its decision need."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from common import zones
from common.database import correlation
from jobs.checks.recording import SendAs
from jobs.kinds.base import Ask, Source
from people import quiet
from people.quiet import Hours
from work import kinds
from work.kinds import FROM_ROW, Loaded, from_json
from work.reasons import Reason

_QUIET = f"CASE WHEN NOT (d.message->>'urgent')::bool THEN {quiet.columns('p')} END"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobClaim(kinds.Claim):
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
