"""Counts what its events say, and does what they ask for."""

from __future__ import annotations

import sys
import time
from typing import Any

from events.flows.base import Flow, FlowEvent, State, StepCall, StepRefused, TryLater, Turn, on, step
from events.pure import types
from work.retry import Policy

CALLS: list[str] = []
"""The idempotency keys of the tries of steps."""


class Counted(State):
    numbers: list[int] = []
    results: list[str] = []
    text: str = ""


class Counter(Flow):
    name = "counter"
    State = Counted
    begins_on = ("counter.add", "counter.bad")

    def key(self, event: FlowEvent) -> str:
        return str(event.data["key"]).replace("half", "\ud800")

    @on("counter.add")
    def add(self, run: Turn, event: FlowEvent) -> None:
        run.state.numbers.append(event.data.get("number", 1))

    @on("counter.split")
    def split(self, run: Turn, event: FlowEvent) -> None:
        for number in range(event.data["parts"]):
            run.emit("counter.part", {"number": number}, delay=number)

    @on("counter.say")
    def say(self, run: Turn, event: FlowEvent) -> None:
        for _ in range(event.data.get("times", 1)):
            run.notify(f"{run.key} has {len(run.state.numbers)}", "All of them.")

    @on("counter.fetch")
    def fetch(self, run: Turn, event: FlowEvent) -> None:
        for number in range(event.data.get("times", 1)):
            key = event.data.get("once", f"{event.key} {number}")
            run.begin("look", event.data, key=key, most_open=event.data.get("most_open"))

    @on(types.STEP_DONE, step="look")
    def looked(self, run: Turn, event: FlowEvent) -> None:
        run.state.results.append(event.data["result"].get("found", "skipped"))

    @on(types.STEP_FAILED, step="look")
    def not_looked(self, run: Turn, event: FlowEvent) -> None:
        run.state.results.append("failed")

    @on("counter.wait")
    def wait(self, run: Turn, event: FlowEvent) -> None:
        run.wait("counter.add", event.data.get("timeout"))

    @on(types.WAIT_OVER)
    def over(self, run: Turn, event: FlowEvent) -> None:
        run.state.results.append("over")

    @on("counter.end")
    def end(self, run: Turn, event: FlowEvent) -> None:
        run.withdraw()
        run.finish()

    @on("counter.bad")
    def misbehave(self, run: Turn, event: FlowEvent) -> None:
        run.state.numbers.append(666)
        match event.data["how"]:
            case "raise":
                raise RuntimeError("secret")
            case "exit":
                sys.exit()
            case "loop":
                while True:
                    time.monotonic()
            case "emit":
                for _ in range(10_000):
                    run.emit("counter.part", {})
            case "grow":
                run.state.text = "x" * 70_000
            case "nul":
                run.state.text = "\0"
            case "wrong":
                run.state.numbers = object()
            case "reserved":
                run.emit("step.done", {})
            case "deep":
                deep: Any = []
                for _ in range(60):
                    deep = [deep]
                run.emit("counter.part", {"deep": deep})
            case "step":
                run.begin("nothing", {})

    @step(policy=Policy(tries=2, waits=(0,)), seconds=0.3)
    def look(self, input: dict[str, Any], call: StepCall) -> dict[str, Any]:
        CALLS.append(call.key)
        match input.get("how"):
            case "later":
                raise TryLater("It is busy.", 0)
            case "refused":
                raise StepRefused("It does not want to.")
            case "loop":
                while True:
                    time.monotonic()
            case "exit":
                sys.exit(1)
            case "bug":
                raise RuntimeError("secret")
        return {"found": str(input.get("what"))}
