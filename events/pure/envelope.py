"""The envelope of an event, as producers send it."""

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from common.database import correlation
from common.times.dates import rfc3339
from common.uuid7 import uuid7

LARGEST_DATA = 128 * 1024
LARGEST_COPY = 4_096
"""Bytes of an event that a message has a copy of; of a larger one it has all but the data."""
MOST_AT_ONCE = 100
LONGEST_DELAY = 86_400
LONGEST_ID = 255
LONGEST_SOURCE = 200
ID = r"[^\x00-\x1f\x7f-\x9f]+"
"""A producer's id of an event: any text without control characters."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """`key` is the producer's id, which deduplicates; without `correlation_id`, it starts a chain. `occurred_at` is
    aware, None for now. `delay` is in seconds. `audience`: to whom it is announced; see `jobs.batches.audiences`."""

    type: str
    data: dict[str, Any] = field(default_factory=dict)
    source: str = ""
    key: str = field(default_factory=lambda: str(uuid7()))
    occurred_at: datetime | None = None
    correlation_id: str | None = None
    hops: int = 0
    delay: int = 0
    topic_id: UUID | None = None
    audience: str = ""
    audience_key: str = ""

    @property
    def data_text(self) -> str:
        return json.dumps(self.data, ensure_ascii=False, separators=(",", ":"))

    @property
    def chain(self) -> str | None:
        """The correlation id; None for that of its row, where it starts a chain and its key is not a UUID."""
        if self.correlation_id is None and correlation.is_uuid(self.key):
            return self.key
        return self.correlation_id


def as_sent(event: Any) -> dict[str, Any]:
    """An event, as its row or its claim, as rules see it."""
    return {
        "id": event.key,
        "type": event.type,
        "source": event.source,
        "time": rfc3339(event.occurred_at),
        "correlation_id": event.chain,
        "hops": event.hops,
        "data": event.data,
    }


def copy_of(event: Any) -> str:
    """As JSON, for the messages that it causes: each has one. `data` is null where the whole is too large."""
    fields = {"occurred_at" if name == "time" else name: value for name, value in as_sent(event).items()}
    whole = json.dumps(fields)
    return whole if len(whole) <= LARGEST_COPY else json.dumps(fields | {"data": None})
