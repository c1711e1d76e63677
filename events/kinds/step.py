"""The step of a flow as a kind of work: its code runs outside of any transaction, its result is given to the run."""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from common.database import correlation
from common.database.postgres import change
from events import flows
from events.flows.base import Flow, Step, StepCall, StepRefused, TryLater
from events.models import Step as StepRow, StepAttempt
from events.pure import types
from events.pure.time_limit import TimeLimitReached, limited
from events.reasons import EventCode
from events.runs import steps
from events.runs.advance import LARGEST_STATE, Stopped, stored_json
from work import kinds
from work.answers import Answer, Cancel, Defer, Done, NotStarted, Rejected, Retryable
from work.kinds import Kind, Loaded, from_json
from work.reasons import Reason
from work.retry import SLOW, Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class StepClaim(kinds.Claim):
    user_id: int
    run_id: UUID
    key: str
    input: Annotated[Any, Loaded("d.input::text", read=from_json)]
    chain: Annotated[str, Loaded("$chain")]
    hops: int
    ended: Annotated[bool, Loaded("r.ended_at IS NOT NULL")]


class StepKind(Kind[StepClaim]):
    task = steps.RUN_STEP
    queue = "jobs"
    model, attempts = StepRow, StepAttempt
    handler = "handler"
    source = "split_part(d.handler, '.', 1)"
    caused_by = "d.run_id::text"
    chain = correlation.sql("d")
    claim = StepClaim
    joins = f"{Kind.joins} JOIN events_run r ON r.id = d.run_id"
    repeats = True  # the other side gets the same key again
    rescues = steps.MISSED
    dead_letters = "admin:events_failedstep"

    def prepare(self, claim: StepClaim) -> Defer | Cancel | Answer | Callable[[], Answer]:
        if claim.ended:
            return Cancel(Reason(EventCode.FLOW_RUN_ENDED))
        flow, step = _find(claim.handler)
        if flow is None or step is None:
            name, _, of = claim.handler.partition(".")
            return NotStarted(Reason(EventCode.FLOW_NO_STEP, flow=name, step=of))
        return partial(_run, claim, flow, step)

    def policy(self, handler: str) -> Policy:
        step = _find(handler)[1]
        return SLOW if step is None else step.policy  # it may be one that only this process does not know

    def after(self, claim: StepClaim, answer: Answer) -> None:
        if not isinstance(answer, Done):
            steps.note_failure(claim.id)

    def discarded(self, ids: Collection[UUID]) -> None:
        steps.tell_skipped(ids)

    def rescue(self) -> int:
        return steps.note_failures()


STEP = StepKind()


def _find(handler: str) -> tuple[Flow | None, Step | None]:
    flow, _, name = handler.partition(".")
    result = flows.find(flow)
    return result, result.steps.get(name) if result else None


def _run(claim: StepClaim, flow: Flow, step: Step) -> Answer:
    call = StepCall(key=str(claim.id), tries=claim.tries, correlation_id=claim.chain)
    try:
        result = limited(step.seconds, step.run, flow, claim.input, call)
        written = stored_json("result", dict(result or {}), LARGEST_STATE)
    except TryLater as later:
        return Retryable(Reason(EventCode.STEP_FAILED, said=str(later)[:300]), later.after)
    except TimeLimitReached:
        return Retryable(Reason(EventCode.STEP_TOO_LONG, seconds=math.ceil(step.seconds)))
    except StepRefused as refused:
        return Rejected(Reason(EventCode.STEP_FAILED, said=str(refused)[:300]))
    except Stopped as unfit:
        return Rejected(unfit.reason)
    return Done(effect=partial(_give, claim, result, written))


def _give(claim: StepClaim, result: Any, written: str) -> None:
    change("UPDATE events_step SET result = %s::jsonb WHERE id = %s", [written, claim.id])
    steps.tell_run(claim, types.STEP_DONE, "done", result=dict(result or {}))
