"""The trace of a chain: all work that followed from an event, or from a reminder that fired."""

from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import Http404, HttpResponse
from ninja import Router
from pydantic import BaseModel, Field

from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, documents, of
from api.protocol.fields import Instant, one_of
from api.resources.notifications import ReasonDocument, reason
from events.intake.trace import Row, Try, trace
from events.models import Event, Run, Step
from jobs.models import Batch, Job
from notifications.models import Delivery

router = Router(tags=["events"], auth=Bearer("events"))

_WORK = (Event, Job, Batch, Step, Delivery)
# A job under way is stored as 1.0.0 wrote it, see docs/decisions.md.
_CALLED = {"looking": "checking"}
_WORK_STATES = (_CALLED.get(state, state) for model in _WORK for state in model.words.states)
_STATES = dict.fromkeys([*Run.Status.values, *_WORK_STATES])
_OUTCOMES = dict(outcome for model in _WORK for outcome in model.words.outcomes)


def _reason(row: Row | Try) -> dict[str, Any]:
    return reason(row.reason.code, row.reason.params)


class TryDocument(BaseModel):
    """One attempt."""

    number: int = Field(description="Counts from 1, from the last replay.")
    seconds: float = Field(description="When it began, in seconds since the first row.")
    ended: float | None = Field(description="When it ended, likewise; null while it is under way.")
    worker: str = Field(description="The process that made it.")
    outcome: Annotated[str, one_of(_OUTCOMES)] = Field(description="Empty while it is under way.")
    reason: ReasonDocument = of(_reason)


class RowDocument(BaseModel):
    """An event, a job, a batch, a run of a flow, a step of one or a delivery."""

    kind: Literal["event", "run", "job", "batch", "step", "delivery"] = Field(description="What it is.")
    id: str = Field(description="Of an event your id of it; of a delivery its idempotency key; else that of the row.")
    recorded_at: Instant = of("at")
    seconds: float = Field(description="When it was recorded, in seconds since the first row.")
    queue: str = Field(description="A queue of workers, the kind of a delivery's channel, or a pulled queue's label.")
    type: str = Field(description="The type of an event, the kind of a job, a flow, a step of one, or a title.")
    source: str = Field(description="What the producer said, or the rule or reminder.")
    consumers: list[str] = Field(description="The rules and flows of an event; a delivery's channel, or who pulled it.")
    key: str = Field(description="The first texts and numbers of its data; of a run its key.")
    state: Annotated[str, one_of(_STATES)] = of(lambda row: _CALLED.get(row.state, row.state), "The state of its row.")
    reason: ReasonDocument = of(_reason)
    tries: list[TryDocument] = of(lambda row: documents(TryDocument, row.tries), "The oldest first.")
    notification_id: UUID | None = Field(description="Whose delivery it is, or what a job has sent; else null.")
    told: int | None = Field(description="How many people an event or a batch has reached; null without an audience.")


class TraceDocument(BaseModel):
    correlation_id: str
    items: list[RowDocument] = Field(description="Oldest first.")
    more: bool = Field(description="Whether the chain has more than is shown.")


@router.get("/{path:correlation_id}", response=TraceDocument, summary="Read the trace of a chain")
def read_trace(request: ApiRequest, correlation_id: str) -> HttpResponse:
    """All work of yours with this correlation id, or of the batch with this id."""
    result = trace(correlation_id, request.auth.user)
    if not result.rows:
        raise Http404
    return answer({"correlation_id": correlation_id, "items": documents(RowDocument, result.rows), "more": result.more})
