"""Each event begins a step at the sink, and its result a second one. The run ends with the last of `of` events."""

from __future__ import annotations

from typing import Any

import requests

from events.flows.base import Flow, FlowEvent, State, StepCall, TryLater, Turn, on, step
from events.pure import types
from work.retry import Policy

_POLICY = Policy(tries=99, waits=(0.3, 1.0))
_DEADLINE = 2.0  # seconds


class Applied(State):
    """Numbers of events and of steps, in the order in which they were applied."""

    events: list[int] = []
    first: list[int] = []
    second: list[int] = []


class FaultsRun(Flow):
    name = "faults_run"
    begins_on = ("faults.run",)
    State = Applied

    def key(self, event: FlowEvent) -> str:
        return str(event.data["run"])

    @on("faults.run")
    def happened(self, run: Turn, event: FlowEvent) -> None:
        run.state.events.append(event.data["number"])
        run.begin("first", event.data, key=f"{event.data['number']}")

    @on(types.STEP_DONE, step="first")
    def first_done(self, run: Turn, event: FlowEvent) -> None:
        input = event.data["input"]
        run.state.first.append(input["number"])
        run.begin("second", input, key=f"{input['number']}")

    @on(types.STEP_DONE, step="second")
    def second_done(self, run: Turn, event: FlowEvent) -> None:
        input = event.data["input"]
        run.state.second.append(input["number"])
        if len(run.state.second) == input["of"]:
            run.finish()

    @step(policy=_POLICY, seconds=_DEADLINE)
    def first(self, input: dict[str, Any], call: StepCall) -> dict[str, Any]:
        return _send("first", input, call)

    @step(policy=_POLICY, seconds=_DEADLINE)
    def second(self, input: dict[str, Any], call: StepCall) -> dict[str, Any]:
        return _send("second", input, call)


def _send(name: str, input: dict[str, Any], call: StepCall) -> dict[str, Any]:
    body = {"data": {"subject": f"{input['run']} {name} {input['number']}"}}
    try:
        answer = requests.post(input["url"], json=body, headers={"webhook-id": call.key}, timeout=_DEADLINE / 2)
        answer.raise_for_status()
    except requests.RequestException as error:
        raise TryLater(f"The sink does not answer: {type(error).__name__}") from error
    return {"by": name}
