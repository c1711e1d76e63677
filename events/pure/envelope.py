"""The envelope of an event, as producers send it."""

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from common.times.dates import rfc3339
from common.uuid7 import uuid7

MOST_HOPS = 3
LARGEST_DATA = 128 * 1024
LARGEST_COPY = 4_096
"""Bytes of an event that a message has a copy of; of a larger one it has all but the data."""
MOST_AT_ONCE = 100
LONGEST_DELAY = 86_400


@dataclass(frozen=True, slots=True)
class Envelope:
    """`key` is the producer's id, which deduplicates; without `correlation_id`, it starts a chain. `occurred_at` is
    aware, None for now. `delay` is in seconds. `audience`: to whom it is announced; see `jobs.batches.audiences`."""

    type: str
    data: dict[str, Any] = field(default_factory=dict)
    source: str = ""
    key: UUID = field(default_factory=uuid7)
    occurred_at: datetime | None = None
    correlation_id: UUID | None = None
    hops: int = 0
    delay: int = 0
    topic_id: UUID | None = None
    audience: str = ""
    audience_key: str = ""

    @property
    def data_text(self) -> str:
        return json.dumps(self.data, ensure_ascii=False, separators=(",", ":"))


def as_sent(event: Any) -> dict[str, Any]:
    """An event, as its row or its claim, as rules and receivers see it."""
    return {
        "id": str(event.key),
        "type": event.type,
        "source": event.source,
        "time": rfc3339(event.occurred_at),
        "correlation_id": str(event.correlation_id),
        "hops": event.hops,
        "data": event.data,
    }


def copy_of(event: Any) -> str:
    """As JSON, for the messages that it causes: each has one. `data` is null where the whole is too large."""
    whole = json.dumps(as_sent(event))
    return whole if len(whole) <= LARGEST_COPY else json.dumps(as_sent(event) | {"data": None})
