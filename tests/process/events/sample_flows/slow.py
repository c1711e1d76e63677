"""Counts slowly, so that a process that is killed is often killed in the middle of it."""

from __future__ import annotations

import time

from events.flows.base import Flow, FlowEvent, State, Turn, on


class Counted(State):
    numbers: list[int] = []
    total: int = 0


class Slow(Flow):
    name = "slow"
    State = Counted

    def key(self, event: FlowEvent) -> str:
        return str(event.data["key"])

    @on("slow.add")
    def add(self, run: Turn, event: FlowEvent) -> None:
        time.sleep(0.02)
        run.state.numbers.append(event.data["number"])
        run.state.total += event.data["number"]
