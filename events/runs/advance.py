"""Call the handler of a flow, and keep what it asks for in memory. Nothing is written."""

import json
from copy import copy
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import uuid5

from django.conf import settings
from django.urls import reverse

from events.flows.base import Flow, NewEvent, Turn, UnknownVersion
from events.intake.handling import EventClaim
from events.models import Run
from events.models.flow import LONGEST_KEY
from events.pure import matching, types
from events.pure.envelope import LARGEST_DATA, LONGEST_DELAY, MOST_AT_ONCE, Envelope
from events.pure.time_limit import limited
from events.reasons import EventCode
from events.runs import steps
from work.reasons import Reason

LARGEST_STATE = 64 * 1024
MOST_STEPS = 1_000
"""Steps that one run may start in all."""
LONGEST_WAIT = 366 * 86_400  # seconds
SECONDS = 5
"""A handler computes; it may take so long."""


class Stopped(Exception):
    """The run cannot go on; nothing of this event is kept."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.reason = reason


class Advanced(NamedTuple):
    """An event that was applied to its run in memory. `run` is as it is then, `state` its state as JSON; `events` are
    to be recorded. `ended_timer`: the key of the event that would have told the end of a wait that is over."""

    event: EventClaim
    flow: Flow
    run: Run
    turn: Turn
    state: str
    events: list[Envelope]
    ended_timer: str | None

    @property
    def row_count(self) -> int:
        """Rows that its handler asks for."""
        return len(self.events) + len(self.turn.messages) + len(self.turn.steps)


def key_of(event: EventClaim, flow: Flow, seconds: float) -> str:
    """The key of the run that the event is for. Raises what the flow's code does, and ValueError."""
    key = limited(seconds, flow.key, event)
    if not isinstance(key, str) or not 0 < len(key) <= LONGEST_KEY or "\0" in key:
        raise ValueError
    key.encode()  # no half of a surrogate pair
    return key


def why_not(event: EventClaim, run: Run) -> Reason | None:
    """Why the run ignores the event."""
    if run.status == Run.Status.STOPPED:
        return Reason(EventCode.FLOW_RUN_STOPPED)
    if run.ended_at is not None:
        return Reason(EventCode.FLOW_RUN_ENDED)
    if event.type == types.WAIT_OVER and (event.data["wait"] != run.waits or not run.waits_for):
        return Reason(EventCode.FLOW_WAIT_ENDED)
    return None


def advance(event: EventClaim, flow: Flow, run: Run, chosen: Any, seconds: float) -> Advanced:
    """Call the handler with the settings `chosen`, for so many seconds at most. `run` stays as it is.

    Raises Stopped, TimeLimitReached, or what the flow's code raises.
    """
    turn = _handle(event, flow, run, chosen, seconds)
    _check(event, flow, run, turn)
    run = copy(run)
    state = stored_json("state", turn.state.model_dump(mode="json"), LARGEST_STATE)
    events = [_event(event, flow, number, emitted) for number, emitted in enumerate(turn.events)]
    ended_timer = _end_wait(event, run, turn)
    if turn.waiting and not turn.is_finished:
        run.waits_for, run.waits = turn.waiting.type[:100], run.waits + 1
        if turn.waiting.seconds is not None:
            wait = min(max(turn.waiting.seconds, 1), LONGEST_WAIT)
            run.wait_until = event.claimed_at + timedelta(seconds=wait)
            data = {"wait": run.waits}
            events.append(steps.to_run(run.flow, run.id, types.WAIT_OVER, _timer_key(run), event, data, wait))
    status = Run.Status.FINISHED if turn.is_finished else Run.Status.WAITING if run.waits_for else Run.Status.OPEN
    run.status, run.version, run.state = status, flow.version, json.loads(state)
    run.applied, run.begun = run.applied + 1, run.begun + len(turn.steps)
    return Advanced(event, flow, run, turn, state, events, ended_timer)


def _end_wait(event: EventClaim, run: Run, turn: Turn) -> str | None:
    """Of a run that no longer waits for what it waited for. Returns the key of the timer that this ends."""
    if not run.waits_for or not (turn.waiting or turn.is_finished or event.type in (run.waits_for, types.WAIT_OVER)):
        return None
    timer = None if run.wait_until is None else _timer_key(run)
    run.waits_for, run.wait_until = "", None
    return timer


def _handle(event: EventClaim, flow: Flow, run: Run, chosen: Any, seconds: float) -> Turn:
    is_new = not run.applied and not run.state
    stored = run.state
    if run.version != flow.version:
        try:
            stored = limited(seconds, flow.migrate, stored, run.version)
        except UnknownVersion:
            versions = {"stored": run.version, "installed": flow.version}
            raise Stopped(Reason(EventCode.FLOW_VERSION, **versions)) from None
    state = flow.State() if is_new else flow.State.model_validate(stored)
    if flow.Settings is not None and chosen is None:
        raise Stopped(Reason(EventCode.FLOW_OFF))
    page = settings.BASE_URL + reverse("events:run", args=[run.id])
    turn = Turn(run.key, page, state, chosen, event.claimed_at)
    handler = flow.handlers.get((event.type, str(event.data.get("step", "")) if event.type in types.TO_RUNS else ""))
    if handler:
        limited(seconds, handler, flow, turn, event)
    return turn


def _check(event: EventClaim, flow: Flow, run: Run, turn: Turn) -> None:
    """Raises Stopped where the flow asks for what it may not have."""
    for what, count, most in (
        ("events", len(turn.events), MOST_AT_ONCE),
        ("messages", len(turn.messages), MOST_AT_ONCE),
        ("steps", run.begun + len(turn.steps), MOST_STEPS),
    ):
        if count > most:
            raise Stopped(Reason(EventCode.FLOW_TOO_MANY, what=what, count=count, most=most, type=event.type))
    for emitted in turn.events:
        if not matching.TYPE.fullmatch(emitted.type) or len(emitted.type) > 100 or types.is_reserved(emitted.type):
            raise Stopped(Reason(EventCode.FLOW_BAD_TYPE, type=str(emitted.type)[:100]))
        stored_json("data", emitted.data, LARGEST_DATA)
    for step in turn.steps:
        if step.name not in flow.steps:
            raise Stopped(Reason(EventCode.FLOW_NO_STEP, flow=flow.name, step=step.name))
        stored_json("input", step.input, LARGEST_DATA)


def stored_json(what: str, value: Any, most: int) -> str:
    """JSON that PostgreSQL can keep, of at most so many bytes. Raises Stopped."""
    try:
        written = json.dumps(value, ensure_ascii=False, allow_nan=False)
        size = len(written.encode())
        if "\\u0000" in written:
            raise ValueError("NUL")
    except (TypeError, ValueError, RecursionError) as error:
        raise Stopped(Reason(EventCode.FLOW_UNREADABLE, what=what, error=type(error).__name__)) from None
    if size > most:
        raise Stopped(Reason(EventCode.FLOW_TOO_LARGE, what=what, size=size, most=most))
    return written


def _event(event: EventClaim, flow: Flow, number: int, emitted: NewEvent) -> Envelope:
    """Its key follows from the event, so that a repeat emits the same ones."""
    return Envelope(
        type=emitted.type,
        data=dict(emitted.data),
        source=f"flow.{flow.name}",
        key=str(uuid5(event.id, f"{flow.name} {number}")),
        correlation_id=event.chain,
        hops=event.hops + 1,
        delay=min(max(int(emitted.delay), 0), LONGEST_DELAY),
    )


def _timer_key(run: Run) -> str:
    """Of the newest wait."""
    return str(uuid5(run.id, f"wait {run.waits}"))
