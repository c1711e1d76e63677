"""Counts the events of each key."""

from events.flows.base import Flow, FlowEvent, State, Turn, on


class Counted(State):
    count: int = 0


class Tally(Flow):
    name = "tally"
    State = Counted

    def key(self, event: FlowEvent) -> str:
        return str(event.data["key"])

    @on("tally.add")
    def add(self, run: Turn, event: FlowEvent) -> None:
        run.state.count += 1
