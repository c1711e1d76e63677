"""Events, and the trace of a chain of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from carillon_client.connection import Connection
from carillon_client.documents import Event, Trace


class Events:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def publish(self, *events: Mapping[str, Any], key: str | None = None) -> Sequence[str]:
        """Up to 100, each with its `type`, and `id`, `source`, `time`, `data`, `delay` as wanted. Returns their ids."""
        return cast("Sequence[str]", self._connection.post("/events", list(events), key=key)["ids"])

    def list(self, type: str | None = None) -> Iterator[Event]:
        """Newest first, with what followed from each."""
        return self._connection.pages("/events", type=type)

    def read(self, event_id: str) -> Event:
        return cast(Event, self._connection.get(f"/events/{event_id}"))

    def replay(self, event_id: str) -> str:
        """Handle it again. Returns the id of the new event; a dead event keeps its id, and is handled itself."""
        return cast(str, self._connection.post(f"/events/{event_id}/replay")["ids"][0])

    def trace(self, correlation_id: str) -> Trace:
        """The whole chain: events and deliveries with their tries, oldest first."""
        return cast(Trace, self._connection.get(f"/trace/{correlation_id}"))
