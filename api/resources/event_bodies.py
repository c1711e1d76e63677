"""Events as callers write them: their fields, one event, and a list of them."""

import re
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Discriminator, Field, RootModel, Tag

from api.protocol.fields import CHOICES, Body, Instant, require, small
from api.resources.schedules.documents import AudienceBody
from common.database import correlation
from events.pure import matching, types
from events.pure.envelope import ID, LARGEST_DATA, LONGEST_DELAY, LONGEST_ID, LONGEST_SOURCE, MOST_AT_ONCE, Envelope

Type = Annotated[
    str,
    require(
        lambda name: len(name) <= 100 and matching.TYPE.fullmatch(name),
        "Write a type as a noun and what happened to it, in small letters: order.paid",
    ),
    Field(json_schema_extra={"pattern": f"^{matching.TYPE.pattern}$", "maxLength": 100}),
]
Data = Annotated[dict[str, Any], small(LARGEST_DATA, "taken. Send ids instead")]


_ID: Any = {"min_length": 1, "json_schema_extra": {"pattern": f"^{ID}$"}}
_CHECKED = require(lambda id: re.fullmatch(ID, id), "This contains a control character. Remove it.")
StoredId = Annotated[str, Field(**_ID), _CHECKED]
# The length comes before what is checked, so that an error speaks of characters.
EventId = Annotated[str, Field(max_length=LONGEST_ID, **_ID), _CHECKED]
CorrelationId = Annotated[str, Field(max_length=correlation.LONGEST, **_ID), _CHECKED]


_NOT_RESERVED = require(
    lambda name: not types.is_reserved(name), "Carillon itself emits this type. Choose another name for yours."
)
_NOT_OWN = require(
    lambda source: source != types.SOURCE, "This is the source of Carillon’s own events. Choose another name for yours."
)


class EnvelopeBody(Body):
    type: Annotated[Type, _NOT_RESERVED] = Field(description="A noun and what happened: `order.paid`.")
    id: EventId | None = Field(
        None, description="Yours. The same event again has no further effect; another one with this id is refused."
    )
    source: Annotated[str, Field(max_length=LONGEST_SOURCE), _NOT_OWN] = ""
    occurred_at: Instant | None = Field(None, description="When it happened. Without it, now.")
    correlation_id: CorrelationId | None = Field(
        None, description="The same through a chain of events: any text. Without it, this event begins one."
    )
    hops: int = Field(0, ge=0, le=1_000, description="How many steps it is behind the first event of its chain.")
    data: Data = Field(default_factory=dict, description="At most 128 KiB. Ids rather than whole objects.")
    delay: int = Field(0, ge=0, le=LONGEST_DELAY, description="Seconds after which it is handled.")

    def envelope(self, **more: Any) -> Envelope:
        given = {name: getattr(self, name) for name in ("type", "data", "source", "correlation_id", "hops", "delay")}
        given |= {} if self.id is None else {"key": self.id}
        return Envelope(**given, occurred_at=self.occurred_at, **more)


class EventBody(EnvelopeBody):
    topic: str | None = Field(
        None, max_length=50, description="The slug of a topic of yours, whose subscribers get it."
    )

    to: AudienceBody | None = Field(
        None, description="Staff only: announce it to these people, with `data.title` and `data.body` as its text."
    )

    def envelope(self, **more: Any) -> Envelope:
        to = {"audience": self.to.kind, "audience_key": self.to.key} if self.to else {}
        return super().envelope(**to, **more)


T = TypeVar("T", bound=EnvelopeBody)
_ONE, _LIST = CHOICES


class OneOrMore(
    RootModel[
        Annotated[
            Annotated[T, Tag(_ONE)] | Annotated[list[T], Field(min_length=1, max_length=MOST_AT_ONCE), Tag(_LIST)],
            Discriminator(lambda given: _LIST if isinstance(given, list) else _ONE),
        ]
    ],
    Generic[T],
):
    @property
    def all(self) -> list[T]:
        return self.root if isinstance(self.root, list) else [self.root]

    def place(self, number: int) -> str:
        """The prefix of the fields of this one in an error."""
        return f"{number}." if isinstance(self.root, list) else ""


class EventsBody(OneOrMore[EventBody]):
    """One event, or a list of up to 100."""


class MessagesBody(OneOrMore[EnvelopeBody]):
    """One message, or a list of up to 100."""
