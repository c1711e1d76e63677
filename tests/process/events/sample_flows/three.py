"""Three steps, one after the other; each leaves a line with its idempotency key in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from events.flows.base import Flow, FlowEvent, State, StepCall, Turn, on, step
from events.pure import types


class Steps(State):
    file: str = ""
    done: list[str] = []


def _note(name: str, input: dict[str, Any], call: StepCall) -> dict[str, Any]:
    with Path(input["file"]).open("a") as file:
        file.write(f"{name} {call.key}\n")
    return {"by": name}


class Three(Flow):
    name = "three"
    State = Steps
    begins_on = ("three.begin",)

    def key(self, event: FlowEvent) -> str:
        return str(event.data["key"])

    @on("three.begin")
    def begin(self, run: Turn, event: FlowEvent) -> None:
        run.state.file = event.data["file"]
        run.begin("first", {"file": run.state.file})

    @on(types.STEP_DONE, step="first")
    def after_first(self, run: Turn, event: FlowEvent) -> None:
        run.state.done.append(event.data["result"]["by"])
        run.begin("second", {"file": run.state.file})

    @on(types.STEP_DONE, step="second")
    def after_second(self, run: Turn, event: FlowEvent) -> None:
        run.state.done.append(event.data["result"]["by"])
        run.begin("third", {"file": run.state.file})

    @on(types.STEP_DONE, step="third")
    def after_third(self, run: Turn, event: FlowEvent) -> None:
        run.state.done.append(event.data["result"]["by"])
        run.finish()

    @step()
    def first(self, input: dict[str, Any], call: StepCall) -> dict[str, Any]:
        return _note("first", input, call)

    @step()
    def second(self, input: dict[str, Any], call: StepCall) -> dict[str, Any]:
        return _note("second", input, call)

    @step()
    def third(self, input: dict[str, Any], call: StepCall) -> dict[str, Any]:
        return _note("third", input, call)
