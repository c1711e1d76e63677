"""Does to a worker what its events say."""

from __future__ import annotations

from events.flows.base import Flow, FlowEvent, State, Turn, on


class Done(State):
    count: int = 0
    text: str = ""


class Bad(Flow):
    name = "bad"
    State = Done

    def key(self, event: FlowEvent) -> str:
        return str(event.data["key"])

    @on("bad.do")
    def do(self, run: Turn, event: FlowEvent) -> None:
        run.state.count += 1
        match event.data.get("how"):
            case "raise":
                raise RuntimeError("secret")
            case "loop":
                while True:
                    pass
            case "emit":
                for number in range(10_000):
                    run.emit("bad.part", {"number": number})
            case "grow":
                run.state.text = "x" * 70_000
