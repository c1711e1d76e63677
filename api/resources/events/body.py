"""The bodies in which programs publish events."""

import json
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Discriminator, Field, RootModel, Tag

from api.protocol.fields import CHOICES, Body, Instant
from api.resources.schedules.body import AudienceBody
from events.pure import matching, types
from events.pure.envelope import LARGEST_DATA, LONGEST_DELAY, MOST_AT_ONCE, Envelope

_EXAMPLE: Any = {
    "id": "0f0c2a52-6f0f-4f2a-9d0e-3b0f4b5e6a71",
    "type": "order.paid",
    "source": "shop",
    "data": {"order_id": 1234, "amount": 129.5},
}


def _known_shape(name: str) -> str:
    if len(name) > 100 or not matching.TYPE.fullmatch(name):
        raise ValueError("Write a type as a noun and what happened to it, in small letters: order.paid")
    return name


def _not_reserved(name: str) -> str:
    if types.is_reserved(name):
        raise ValueError("Carillon itself emits this type. Choose another name for yours.")
    return name


def _small(data: dict[str, Any]) -> dict[str, Any]:
    size = len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())
    if size > LARGEST_DATA:
        raise ValueError(f"This is {size:,} bytes long as JSON; at most {LARGEST_DATA:,} are taken. Send ids instead.")
    return data


Type = Annotated[
    str,
    AfterValidator(_known_shape),
    Field(json_schema_extra={"pattern": f"^{matching.TYPE.pattern}$", "maxLength": 100}),
]
Data = Annotated[dict[str, Any], AfterValidator(_small)]


class EventBody(Body):
    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    type: Annotated[Type, AfterValidator(_not_reserved)] = Field(description="A noun and what happened: `order.paid`.")
    id: UUID | None = Field(
        None, strict=False, description="Yours. The same id again is the same event, and has no further effect."
    )
    source: str = Field("", max_length=200, description="What it comes from.")
    time: Instant | None = Field(None, description="When it happened. Without it, now.")
    correlation_id: UUID | None = Field(
        None, strict=False, description="The same through a chain of events. Without it, this event begins one."
    )
    hops: int = Field(0, ge=0, le=1_000, description="How many steps it is behind the first event of its chain.")
    data: Data = Field(default_factory=dict, description="At most 128 KiB. Ids rather than whole objects.")
    delay: int = Field(0, ge=0, le=LONGEST_DELAY, description="Seconds after which it is handled.")
    topic: str | None = Field(
        None, max_length=50, description="The slug of a topic of yours, whose subscribers get it."
    )

    to: AudienceBody | None = Field(
        None, description="Staff only: announce it to these people, with `data.title` and `data.body` as its text."
    )

    def envelope(self, topic_id: UUID | None) -> Envelope:
        given = {"key": self.id} if self.id is not None else {}
        return Envelope(
            type=self.type,
            data=self.data,
            source=self.source,
            occurred_at=self.time,
            correlation_id=self.correlation_id,
            hops=self.hops,
            delay=self.delay,
            topic_id=topic_id,
            audience=self.to.kind if self.to else "",
            audience_key=self.to.key if self.to else "",
            **given,
        )


_ONE, _LIST = CHOICES
_Events = Annotated[list[EventBody], Field(min_length=1, max_length=MOST_AT_ONCE)]


class EventsBody(
    RootModel[
        Annotated[
            Annotated[EventBody, Tag(_ONE)] | Annotated[_Events, Tag(_LIST)],
            Discriminator(lambda given: _LIST if isinstance(given, list) else _ONE),
        ]
    ]
):
    """One event, or a list of up to 100."""

    @property
    def all(self) -> list[EventBody]:
        return self.root if isinstance(self.root, list) else [self.root]

    def place(self, number: int) -> str:
        """The prefix of this event's fields in an error."""
        return f"{number}." if isinstance(self.root, list) else ""
