"""A leased job, with all that a check and its decision need. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from common import zones
from jobs.checks.recording import SendAs
from jobs.kinds.base import Ask, Source
from people import quiet
from work import kinds
from work.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(kinds.Claim):
    """A leased job. `unusable`: why it cannot run, None when it can.

    `on_error` and `errors_allowed` are what its person wants where a check fails; `memory_version`, `failures`,
    `failing_since` and `told_at` how its reminder has failed lately, see `Memory`. `connection_works`: whether the last
    check through its connection succeeded. `preview`: see `Job`.
    """

    user_id: int
    origin_id: UUID | None
    batch_id: UUID
    correlation_id: UUID | None
    slot: datetime
    payload: Mapping[str, Any]
    send_as: SendAs
    time_zone: str
    quiet: quiet.Window | None
    expires_at: datetime | None
    is_active: bool
    source: Source | None
    unusable: Reason | None
    connection_works: bool
    on_error: str
    errors_allowed: int
    memory: Any
    memory_version: int
    failures: int
    failing_since: datetime | None
    told_at: datetime | None
    preview: Mapping[str, Any] | None

    def ask(self) -> Ask:
        return Ask(
            user_id=self.user_id,
            origin_id=self.origin_id if self.preview is None else _uuid(self.preview.get("of")),
            zone=zones.read(self.time_zone),
            slot=self.slot,
            now=self.claimed_at,
            payload=self.payload,
            memory=self.memory,
            source=self.source,
            job_id=self.id if self.preview is None else None,
        )


def _uuid(text: str | None) -> UUID | None:
    return None if text is None else UUID(text)
