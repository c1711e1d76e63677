"""Events with their types, the trace of a chain, rules, and the runs of flows that decide by them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Unpack
from urllib.parse import quote

from carillon_client.connection import Resource
from carillon_client.documents import (
    Event,
    EventType,
    EventTypeFields,
    FlowRun,
    FlowRunWithSteps,
    FlowStep,
    Rule,
    RuleFields,
    RulePreview,
    Trace,
    TypeRoutes,
)


class Events(Resource):
    def publish(self, *events: Mapping[str, Any], key: str | None = None) -> Sequence[str]:
        """Up to 100, each with its `type`, and `id`, `source`, `occurred_at`, `data`, `delay` as wanted.

        Returns their ids.
        """
        return [one["id"] for one in self._connection.post("/events", list(events), key=key)["items"]]

    def list(self, type: str | None = None, *, state: str | None = None) -> Iterator[Event]:
        """Newest first, with what followed from each. `state` "dead": only dead letters."""
        return self._connection.pages("/events", type=type, state=state)

    def read(self, event_id: str) -> Event:
        return self._connection.get(f"/events/{quote(event_id, safe='')}")

    def replay(self, event_id: str) -> str:
        """Handle it again. Returns the id of the new event; a dead event keeps its id, and is handled itself."""
        return self._connection.post(f"/events/{quote(event_id, safe='')}/replay")["ids"][0]

    def discard(self, event_id: str, reason: str) -> Event:
        """Have a dead event handled no more."""
        return self._connection.post(f"/events/{quote(event_id, safe='')}/discard", {"reason": reason})

    def trace(self, correlation_id: str) -> Trace:
        """The whole chain: events and deliveries with their tries, oldest first."""
        return self._connection.get(f"/trace/{quote(correlation_id, safe='')}")


class EventTypes(Resource):
    """Data of your events that does not fit its type's JSON Schema is refused, or handled with a warning."""

    def list(self) -> Iterator[EventType]:
        """Yours and those for everybody, newest first."""
        return self._connection.pages("/event-types")

    def topology(self) -> Iterator[TypeRoutes]:
        """List where each type goes, what waits or is dead there, and which programs pull it."""
        return self._connection.pages("/event-types/topology")

    def create(self, name: str, *, key: str | None = None, **fields: Unpack[EventTypeFields]) -> EventType:
        return self._connection.post("/event-types", {"name": name, **fields}, key=key)

    def read(self, event_type_id: str) -> EventType:
        return self._connection.get(f"/event-types/{event_type_id}")

    def change(self, event_type_id: str, version: int | None = None, **fields: Unpack[EventTypeFields]) -> EventType:
        """Fields that are not given stay as they are."""
        return self._connection.change("PATCH", f"/event-types/{event_type_id}", fields, version)

    def delete(self, event_type_id: str, version: int | None = None) -> None:
        self._connection.change("DELETE", f"/event-types/{event_type_id}", version=version)


class Rules(Resource):
    """`version` of a change is that of the document that you have read; a newer one is refused with a 412 problem."""

    def list(self) -> Iterator[Rule]:
        """Newest first."""
        return self._connection.pages("/rules")

    def create(self, *, key: str | None = None, **fields: Unpack[RuleFields]) -> Rule:
        """`key` is the Idempotency-Key: the same call with the same key makes one rule."""
        return self._connection.post("/rules", fields, key=key)

    def preview(
        self, *, event_id: str | None = None, event: Mapping[str, Any] | None = None, **fields: Unpack[RuleFields]
    ) -> RulePreview:
        """Return what it would make of a past event, or of a given one. Nothing is saved or sent."""
        return self._connection.post("/rules/preview", {"rule": fields, "event_id": event_id, "event": event})

    def read(self, rule_id: str) -> Rule:
        return self._connection.get(f"/rules/{rule_id}")

    def replace(self, rule_id: str, version: int | str | None = None, **fields: Unpack[RuleFields]) -> Rule:
        """Fields that are not given get their defaults."""
        return self._connection.change("PUT", f"/rules/{rule_id}", fields, version)

    def change(self, rule_id: str, version: int | str | None = None, **fields: Unpack[RuleFields]) -> Rule:
        """Fields that are not given stay as they are."""
        return self._connection.change("PATCH", f"/rules/{rule_id}", fields, version)

    def delete(self, rule_id: str, version: int | str | None = None) -> None:
        self._connection.change("DELETE", f"/rules/{rule_id}", version=version)

    def restore(self, rule_id: str) -> Rule:
        return self._connection.post(f"/rules/{rule_id}/restore")

    def enable(self, rule_id: str) -> Rule:
        return self._connection.post(f"/rules/{rule_id}/enable")

    def disable(self, rule_id: str) -> Rule:
        """Deliveries that it caused and that are not sent yet are cancelled."""
        return self._connection.post(f"/rules/{rule_id}/disable")


class Runs(Resource):
    """Runs of flows. An incident is one of the flow `incident`."""

    def list(
        self, *, flow: str | None = None, key: str | None = None, state: str | None = None, phase: str | None = None
    ) -> Iterator[FlowRun]:
        """Newest first; `phase` is that of an incident."""
        return self._connection.pages("/runs", flow=flow, key=key, state=state, phase=phase)

    def read(self, run_id: str) -> FlowRunWithSteps:
        """With what it remembers, its steps and its events."""
        return self._connection.get(f"/runs/{run_id}")

    def end(self, run_id: str, reason: str = "") -> FlowRun:
        """Cancel its open steps. Sent messages stay."""
        return self._connection.post(f"/runs/{run_id}/end", {"reason": reason})

    def acknowledge(self, run_id: str) -> FlowRun:
        """Acknowledge an incident. It notifies again if it lasts."""
        return self._connection.post(f"/runs/{run_id}/acknowledge")

    def resolve(self, run_id: str) -> FlowRun:
        """An incident is over."""
        return self._connection.post(f"/runs/{run_id}/resolve")

    def retry_step(self, run_id: str, step_id: str) -> FlowStep:
        """Run a failed step again, under the same idempotency key."""
        return self._connection.post(f"/runs/{run_id}/steps/{step_id}/retry")

    def skip_step(self, run_id: str, step_id: str, reason: str = "") -> FlowStep:
        """Have the run go on as if a failed step were done with an empty result."""
        return self._connection.post(f"/runs/{run_id}/steps/{step_id}/skip", {"reason": reason})
