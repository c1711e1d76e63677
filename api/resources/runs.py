"""Runs of flows, incidents among them: list and read them, retry or skip a step, acknowledge, resolve, end."""

from typing import Annotated, Any, Literal
from uuid import UUID

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router
from pydantic import BaseModel, Field

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, documents, fields_of, of
from api.protocol.fields import Body, Instant, Search, one_of
from api.protocol.problems import conflict
from api.resources.notifications import ReasonDocument, reason_of
from events.flows.incident import ACKNOWLEDGED, RESOLVED, Incident
from events.models import FlowEffect, Run, Step
from events.runs import changes, incidents
from work.dead_letters import MARK_FIXED, REPLAY, Act, Who, act_on_own

router = Router(tags=["runs"], auth=Bearer("events"))

State = Literal["open", "waiting", "finished", "stopped"]
Phase = Literal["open", "acknowledged", "resolved"]


class RunDocument(BaseModel):
    """The state of one entity in a flow. An incident is a run of the flow `incident`."""

    id: UUID
    flow: str = Field(description="The name of the flow.")
    key: str = Field(description="The entity: of a flow, one run of a key is open at a time.")
    title: str = of(incidents.title, "Of an incident that of its alert; of others the key.")
    state: State = of("status", "`stopped`: it cannot go on, `reason` says why; somebody has to end it.")
    phase: Phase | None = of(incidents.phase, "Of an incident; null for runs of other flows.")
    reason: ReasonDocument = of(reason_of)
    waits_for: str = Field(description="The type of event that it waits for; empty while it does not wait.")
    wait_ends_at: Instant | None = of("wait_until", "Until when it waits; null: without a limit, or not at all.")
    event_count: int = of("applied", "How many events it has handled.")
    step_count: int = of("begun", "How many steps it has started.")
    correlation_id: str = of("chain")
    created_at: Instant
    updated_at: Instant = of("changed_at")
    ended_at: Instant | None = Field(description="When it finished; null while it has not.")


class StepDocument(BaseModel):
    """A durable part of a run's work."""

    id: UUID = Field(description="The idempotency key for the services that it calls.")
    name: str = Field(description="The name of the step in its flow.")
    key: str = Field(description="Which one of this name.")
    state: Annotated[str, one_of(Step.words.states)] = Field(
        description="`dead` and `unknown` wait for a person: retry or skip it."
    )
    on_hold: bool = of("is_held", "Whether it starts when another one of its name has ended.")
    reason: ReasonDocument = of(reason_of)
    tries: int
    replays: int
    created_at: Instant
    settled_at: Instant | None = Field(description="When it reached its end; null while it is open.")


class RunEventDocument(BaseModel):
    """An event of the run, and what the flow made of it."""

    id: str = of("event.key", "Your id of it, for `GET /events/{event_id}`.")
    type: str = of("event.type")
    outcome: Annotated[str, one_of(FlowEffect.Outcome.values)] = Field(
        description="`ignored`: nothing followed; `stopped`: the run cannot go on."
    )
    reason: ReasonDocument = of(reason_of)
    handled_at: Instant = of("at", "When the flow handled it.")


class RunWithSteps(RunDocument):
    data: Any = of("state", "What the flow remembers: an object of up to 64 KiB.")
    steps: list[StepDocument] = Field(description="Oldest first; of more than 100, those that failed and the newest.")
    events: list[RunEventDocument] = Field(description="The newest first; at most 100.")
    notification_ids: list[UUID] = Field(description="The messages that it sent, the newest first; at most 100.")


class Why(Body):
    reason: str = Field("", max_length=300, description="Why, for people. It is stored.")


@router.get("", response=paging.Page[RunDocument], summary="List runs of flows")
def list_runs(
    request: ApiRequest,
    flow: Search | None = None,
    key: Search | None = None,
    state: State | None = None,
    phase: Phase | None = None,
    *,
    page: Query[paging.PageParameters],
) -> HttpResponse:
    """Newest first; incidents with `flow=incident`, of which `phase` is.

    With `key`, `state` or `phase`, a page may be short and have a `next`.
    """
    among = paging.narrowed(Run.objects.for_user(request.auth.user), flow=flow)
    rows = paging.narrowed(among, key=key, status=state)
    if phase == "resolved":
        rows = rows.filter(Q(state__phase=phase) | Q(ended_at__isnull=False), flow=Incident.name)
    elif phase is not None:
        rows = rows.filter(state__phase=phase, ended_at=None)
    return paging.answer_page(
        rows, request, page, RunDocument, among=among if key is not None or state or phase else None
    )


@router.get("/{uuid:run_id}", response=RunWithSteps, summary="Read a run")
def read_run(request: ApiRequest, run_id: UUID) -> HttpResponse:
    """With what it remembers, its steps, its events, and the messages that it sent."""
    run = Run.objects.own(request.auth.user, id=run_id)
    of_run = changes.history(run)
    steps, events = documents(StepDocument, of_run.steps), documents(RunEventDocument, of_run.effects)
    sent = [one.id for one in of_run.messages]
    return answer(fields_of(RunWithSteps, run, steps=steps, events=events, notification_ids=sent))


@router.post("/{uuid:run_id}/end", response=RunDocument, summary="End a run")
def end_run(request: ApiRequest, run_id: UUID, body: Why) -> HttpResponse:
    """Also a stopped one. Its open steps are cancelled; what was sent stays. Its key may begin another run."""
    if not changes.end(Run.objects.own(request.auth.user, id=run_id), Who.of(request.auth.user), body.reason):
        raise conflict("The run has ended before.")
    return answer(fields_of(RunDocument, Run.objects.own(request.auth.user, id=run_id)))


@router.post("/{uuid:run_id}/acknowledge", response={202: RunDocument}, summary="Acknowledge an incident")
def acknowledge_incident(request: ApiRequest, run_id: UUID) -> HttpResponse:
    """It sends nothing for a while, then again if it lasts. The event `incident.acknowledged` is recorded, and handled
    in a moment; `phase` changes then."""
    return _act(request, run_id, ACKNOWLEDGED)


@router.post("/{uuid:run_id}/resolve", response={202: RunDocument}, summary="Resolve an incident")
def resolve_incident(request: ApiRequest, run_id: UUID) -> HttpResponse:
    """It is over, and each channel that was notified gets one message about it. The event `alert.resolved` is recorded,
    and handled in a moment; `phase` changes then."""
    return _act(request, run_id, RESOLVED)


@router.post("/{uuid:run_id}/steps/{uuid:step_id}/retry", response={202: StepDocument}, summary="Retry a failed step")
def retry_step(request: ApiRequest, run_id: UUID, step_id: UUID) -> HttpResponse:
    """Now, under the same idempotency key."""
    return _on_step(request, run_id, step_id, REPLAY)


@router.post("/{uuid:run_id}/steps/{uuid:step_id}/skip", response={202: StepDocument}, summary="Skip a failed step")
def skip_step(request: ApiRequest, run_id: UUID, step_id: UUID, body: Why) -> HttpResponse:
    """The run goes on in a moment, as if the step were done with an empty result."""
    return _on_step(request, run_id, step_id, MARK_FIXED, body.reason or "Skipped.")


def _act(request: ApiRequest, run_id: UUID, type: str) -> HttpResponse:
    run = Run.objects.own(request.auth.user, id=run_id)
    if not incidents.act(run, type):
        raise conflict("It is not an open incident. Nothing changed.")
    before = incidents.phase(run)
    after = "resolved" if type == RESOLVED or before == "resolved" else "acknowledged"
    return answer(fields_of(RunDocument, run, phase=after), 202)


def _on_step(request: ApiRequest, run_id: UUID, step_id: UUID, act: Act, why: str = "") -> HttpResponse:
    step = get_object_or_404(Step, id=step_id, run=Run.objects.own(request.auth.user, id=run_id))
    if not act_on_own(step, act, request.auth.user, why).changed:
        raise conflict("This step has not failed. Nothing changed.")
    return answer(fields_of(StepDocument, Step.objects.get(id=step_id)), 202)
