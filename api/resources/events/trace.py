"""The trace of a chain of events."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field

from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, fields_of
from api.protocol.fields import Instant
from events.intake.trace import trace

router = Router(tags=["events"], auth=Bearer("events"))

_TRY: Any = {"number": 1, "seconds": 0.02, "ended": 0.05, "worker": "worker1:4711", "outcome": "handled", "reason": ""}
_ROW: Any = {
    "kind": "event",
    "id": "0f0c2a52-6f0f-4f2a-9d0e-3b0f4b5e6a71",
    "at": "2026-03-29T16:00:01Z",
    "seconds": 0.0,
    "queue": "events",
    "type": "order.paid",
    "source": "shop",
    "consumers": ["Orders above 100"],
    "state": "handled",
    "reason": "",
    "tries": [_TRY],
    "notification_id": None,
    "told": None,
}


class TryDocument(BaseModel):
    """One attempt; `ended` is null while it is under way."""

    number: int
    seconds: float
    ended: float | None
    worker: str
    outcome: str
    reason: str


class RowDocument(BaseModel):
    """An event or a delivery. Seconds are since the first row."""

    kind: str = Field(description="event or delivery.")
    id: UUID
    at: Instant
    seconds: float
    queue: str
    type: str = Field(description="The type of an event, or the title of what was delivered.")
    source: str = Field(description="What the producer said, or the rule or reminder.")
    consumers: list[str] = Field(description="The rules that an event reached, or the channel of a delivery.")
    state: str
    reason: str
    tries: list[TryDocument]
    notification_id: UUID | None
    told: int | None = Field(description="How many people of its topic an event has reached; null without a topic.")


class TraceDocument(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"correlation_id": _ROW["id"], "rows": [_ROW], "more": False}]}
    )

    correlation_id: UUID
    rows: list[RowDocument] = Field(description="Oldest first.")
    more: bool = Field(description="Whether the chain has more than is shown.")


@router.get("/{uuid:correlation_id}", response=TraceDocument, summary="Read the trace of a chain")
def read_trace(request: ApiRequest, correlation_id: UUID) -> HttpResponse:
    """Every event, delivery and attempt of yours with this correlation id, or of the batch with this id."""
    found = trace(correlation_id, request.auth.user)
    if not found.rows:
        raise Http404
    rows = [fields_of(RowDocument, row, tries=[fields_of(TryDocument, one) for one in row.tries]) for row in found.rows]
    return answer({"correlation_id": str(correlation_id), "rows": rows, "more": found.more})
