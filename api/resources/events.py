"""Events: publish them, list and read them, see what followed, and the trace of a chain."""

import json
import re
from contextlib import nullcontext
from dataclasses import replace
from typing import Annotated, Any, Literal
from uuid import UUID

from django.db import transaction
from django.db.models import Prefetch, QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router
from ninja.decorators import decorate_view
from pydantic import AfterValidator, BaseModel, Discriminator, Field, RootModel, Tag

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, fields_of
from api.protocol.fields import CHOICES, Body, Instant, Search, one_of
from api.protocol.problems import FieldError, Problem, conflict, invalid
from api.resources import cloud_events
from api.resources.dead_letters import Discard, one_line
from api.resources.notifications import ReasonDocument, reason, reason_of
from api.resources.schedules.documents import AudienceBody, AudienceDocument, may_not_announce
from common import correlation
from events.intake import ledger, registered, usage
from events.intake.trace import Row, trace
from events.models import Digest, Effect, Event, Run, Step, Topic
from events.pure import matching, types
from events.pure.cloud_events import key as cloud_event_key
from events.pure.envelope import (
    ID,
    LARGEST_DATA,
    LONGEST_DELAY,
    LONGEST_ID,
    LONGEST_SOURCE,
    MOST_AT_ONCE,
    Envelope,
)
from events.pure.types import Misfit
from jobs.batches import audiences
from jobs.models import Batch, Job
from notifications.models import Delivery
from schedules.inputs.audience_form import MOST_UNCONFIRMED

router = Router(tags=["events"], auth=Bearer("events"))
trace_router = Router(tags=["events"], auth=Bearer("events"))


def _known_shape(name: str) -> str:
    if len(name) > 100 or not matching.TYPE.fullmatch(name):
        raise ValueError("Write a type as a noun and what happened to it, in small letters: order.paid")
    return name


def _not_reserved(name: str) -> str:
    if types.is_reserved(name):
        raise ValueError("Carillon itself emits this type. Choose another name for yours.")
    return name


def _not_own(source: str) -> str:
    if source == types.SOURCE:
        raise ValueError("This is the source of Carillon’s own events. Choose another name for yours.")
    return source


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


def _without_control_characters(id: str) -> str:
    if not re.fullmatch(ID, id):
        raise ValueError("This contains a control character. Remove it.")
    return id


_ID: Any = {"min_length": 1, "json_schema_extra": {"pattern": f"^{ID}$"}}
_CHECKED = AfterValidator(_without_control_characters)
StoredId = Annotated[str, Field(**_ID), _CHECKED]
# The length comes before what is checked, so that an error speaks of characters.
EventId = Annotated[str, Field(max_length=LONGEST_ID, **_ID), _CHECKED]
CorrelationId = Annotated[str, Field(max_length=correlation.LONGEST, **_ID), _CHECKED]


class EnvelopeBody(Body):
    type: Annotated[Type, AfterValidator(_not_reserved)] = Field(description="A noun and what happened: `order.paid`.")
    id: EventId | None = Field(
        None, description="Yours. The same event again has no further effect; another one with this id is refused."
    )
    source: Annotated[str, Field(max_length=LONGEST_SOURCE), AfterValidator(_not_own)] = ""
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


class DigestDocument(BaseModel):
    """The digest in which a rule tells of the event together with others; `reason` says why, where it was cancelled."""

    state: Annotated[str, one_of(Digest.words.states)] = Field(description="`pending` while it gathers events.")
    due_at: Instant = Field(description="When it is sent.")
    count: int = Field(description="How many events it has.")
    reason: ReasonDocument


class EffectDocument(BaseModel):
    """The effect of a rule on it; `reason` says why, where it stayed silent."""

    rule_id: UUID = Field(description="The id of the rule.")
    rule_name: str = Field(description="The name of the rule.")
    outcome: Annotated[str, one_of(Effect.Outcome.values)] = Field(
        description="`digested`: it tells of it later, together with others."
    )
    reason: ReasonDocument
    notification_id: UUID | None = Field(description="What told of it, also in a digest; null if nothing did yet.")
    digest: DigestDocument | None = Field(description="The message in which it waits; null without one.")


class EventDocument(BaseModel):
    id: str = Field(description="Yours, or ours where you gave none.")
    type: str
    source: str
    occurred_at: Instant = Field(description="When it happened.")
    correlation_id: str
    hops: int
    data: dict[str, Any]
    topic: str | None = Field(description="The slug of the topic whose subscribers get it.")
    to: AudienceDocument | None = Field(description="The audience to which staff announced it.")
    audience: int | None = Field(description="How many were subscribed; null until telling them begins.")
    told: int = Field(description="How many of these have been dealt with.")
    state: Annotated[str, one_of(Event.words.states)] = Field(
        description="`handled`: your rules have been applied to it. `dead` and `unknown` wait for a person."
    )
    reason: ReasonDocument
    tries: int
    received_at: Instant
    effects: list[EffectDocument] = Field(description="One of each rule that is for it.")


def document(event: Event) -> dict[str, Any]:
    """Its effects must be prefetched with their rules and digests, its topic and its batch be selected."""
    return fields_of(
        EventDocument,
        event,
        id=event.key,
        correlation_id=event.chain,
        topic=event.topic and event.topic.slug,
        to={"kind": event.audience, "key": event.audience_key} if event.audience else None,
        audience=event.batch and event.batch.size,
        told=event.batch.told if event.batch else 0,
        reason=reason_of(event),
        received_at=event.created_at,
        effects=[_effect(one) for one in event.effects.all()],
    )


def _effect(effect: Effect) -> dict[str, Any]:
    return fields_of(
        EffectDocument,
        effect,
        rule_name=effect.rule.name,
        reason=reason_of(effect),
        notification_id=effect.notified_in,
        digest=effect.digest and _digest(effect.digest),
    )


def _digest(digest: Digest) -> dict[str, Any]:
    return fields_of(
        DigestDocument, digest, due_at=digest.available_at, count=digest.gathered, reason=reason_of(digest)
    )


class Taken(BaseModel):
    ids: list[str] = Field(description="The ids of the events, in the order of the request.")


class PublishedEvent(BaseModel):
    """An event that was sent."""

    id: str = Field(description="Yours, or ours where you gave none.")
    new: bool = Field(description="Whether it was not stored before under this id.")


class Published(BaseModel):
    items: list[PublishedEvent] = Field(description="In the order of the request.")


@router.post("", response={202: Published}, summary="Publish events")
@decorate_view(cloud_events.taken)
def publish(request: ApiRequest, body: EventsBody) -> HttpResponse:
    """They are stored when this answers, and your rules are applied to them at once. Publish again if no answer comes:
    an event with an `id` is taken once. Another event with the same `id` is refused (409), and nothing is stored.

    CloudEvents 1.0 are taken too: in structured and in binary mode, and in batches.
    """
    topics = _topics(request, body)
    _check_audiences(request, body)
    envelopes = [one.envelope(topic_id=topics.get(one.topic or "")) for one in body.all]
    request.messages = len(envelopes)
    if cloud_events.are_in(request):
        envelopes = [replace(one, key=cloud_event_key(one.source, one.key)) for one in envelopes]
    try:
        # A refused single one has stored nothing anyway.
        with transaction.atomic() if isinstance(body.root, list) else nullcontext():
            new = ledger.record(request.auth.user.pk, envelopes, refuses=True)
            _check_repeated(request, body, envelopes, new)
    except registered.Unfit as unfit:
        raise invalid(*(_misfit(body, number, one) for number, one in unfit.misfits.items())) from None
    except usage.QuotaReached as reached:
        raise quota_reached(reached) from None
    return answer({"items": [{"id": one.key, "new": one.key in new} for one in envelopes]}, 202)


def _misfit(body: EventsBody, number: int, misfit: Misfit) -> FieldError:
    name = body.all[number].type
    remedy = (
        f"Events, Types shows what {name} needs." if name in types.TYPES else f"Correct it, or the schema of {name}."
    )
    detail = f"{misfit.problem} {remedy}"
    return FieldError(body.place(number) + misfit.path, detail, f"schema_{misfit.keyword}")


_CONTENT = ("type", "source", "data", "topic_id", "audience", "audience_key")


def _check_repeated(request: ApiRequest, body: EventsBody, envelopes: list[Envelope], new: set[str]) -> None:
    """Raises a 409 problem for an id that names an event of other content, also in the same list."""
    keys = [one.key for one in envelopes]
    if len(new) == len(keys):
        return
    stored = {one.key: one for one in Event.objects.filter(user=request.auth.user, key__in=keys)}
    wrong = [
        id_reused(body.place(number))
        for number, one in enumerate(envelopes)
        if any(getattr(one, name) != getattr(stored[one.key], name) for name in _CONTENT)
    ]
    if wrong:
        raise conflict("An id names an event of other content. Nothing was stored.", errors=wrong)


def _topics(request: ApiRequest, body: EventsBody) -> dict[str, UUID]:
    """The ids of the named topics. Raises a 422 problem for one that is not the caller's."""
    named = [one.topic for one in body.all if one.topic is not None]
    if not named:
        return {}
    result = dict(Topic.objects.for_user(request.auth.user).filter(slug__in=named).values_list("slug", "id"))
    for number, one in enumerate(body.all):
        if one.topic is not None and one.topic not in result:
            problem = f"You have no topic “{one.topic}”. Make it first, or correct its name."
            raise invalid(FieldError(f"{body.place(number)}topic", problem, "unknown_topic"))
    return result


def _check_audiences(request: ApiRequest, body: EventsBody) -> None:
    """Raises a problem: 403 where the caller may not announce, 422 for what is not an audience, or is not confirmed."""
    for number, one in enumerate(body.all):
        if one.to is None:
            continue
        if not audiences.may_announce(request.auth.user):
            raise may_not_announce()
        field = f"{body.place(number)}to"
        if one.topic is not None:
            raise invalid(FieldError(field, "Name either a topic or an audience.", "topic_and_audience"))
        if f"{one.to.kind}:{one.to.key}" not in audiences.named(request.auth.user):
            kinds = "everybody, group (key: its id), topic (key: its id) or connected (key: a kind of connection)"
            raise invalid(FieldError(field, f"There is no such audience. The kind is {kinds}.", "unknown_audience"))
        if not one.to.confirmed and (people := audiences.count(one.to.kind, one.to.key)) > MOST_UNCONFIRMED:
            raise invalid(FieldError(f"{field}.confirmed", f"This tells {people:,} people. Confirm it.", "unconfirmed"))


def with_effects(found: QuerySet[Event]) -> QuerySet[Event]:
    effects = Effect.objects.select_related("rule", "digest")
    return found.select_related("topic", "batch").prefetch_related(Prefetch("effects", effects))


@router.get("", response=paging.Page[EventDocument], summary="List events")
def list_events(
    request: ApiRequest,
    type: Search | None = None,
    state: Literal["dead"] | None = None,
    *,
    page: Query[paging.PageParameters],
) -> HttpResponse:
    """Newest first, with what followed from each. `state=dead`: only dead letters, which wait for you."""
    result = Event.objects.for_user(request.auth.user)
    if type is not None:
        result = result.filter(type=type)
    if state is not None:
        result = result.dead()
    return paging.answer_page(with_effects(result), request, page, document)


# First, since an id may have slashes.
@router.post("/{path:event_id}/replay", response={202: Taken}, summary="Handle an event again")
def replay_event(request: ApiRequest, event_id: str) -> HttpResponse:
    """As a new event of the same chain with the same data, whose id this answers; your rules ring again. A dead event
    is handled again itself, and keeps its id."""
    result = _own(Event.objects.for_user(request.auth.user), event_id)
    try:
        return answer({"ids": [ledger.replay(result, request.auth.user)]}, 202)
    except usage.QuotaReached as reached:
        raise quota_reached(reached) from None


@router.post("/{path:event_id}/discard", response=EventDocument, summary="Discard a dead event")
def discard_event(request: ApiRequest, event_id: str, body: Discard) -> HttpResponse:
    """It is handled no more: it becomes `cancelled`, with the reason."""
    mine = Event.objects.for_user(request.auth.user)
    result = _own(mine, event_id)
    if not ledger.discard(result, request.auth.user, one_line("reason", body.reason)):
        raise conflict("It is not a dead letter. Nothing changed.")
    return answer(document(with_effects(mine).get(pk=result.pk)))


@router.get("/{path:event_id}", response=EventDocument, summary="Read an event")
def read_event(request: ApiRequest, event_id: str) -> HttpResponse:
    """By your id of it: its state, and what each of your rules made of it."""
    return answer(document(_own(with_effects(Event.objects.for_user(request.auth.user)), event_id)))


def _own(mine: QuerySet[Event], event_id: str) -> Event:
    """Raises Http404."""
    if not re.fullmatch(ID, event_id):  # PostgreSQL takes no NUL
        raise Http404
    return get_object_or_404(mine, key=event_id)


def id_reused(place: str) -> FieldError:
    return FieldError(f"{place}id", "This id names something else. Use a new one.", "id_reused")


def quota_reached(reached: usage.QuotaReached) -> Problem:
    headers = {"Retry-After": str(reached.wait)}
    return Problem(429, str(reached.reason.code), "Your quota of events is used up.", str(reached), headers=headers)


_WORK = (Event, Job, Batch, Step, Delivery)
_STATES = dict.fromkeys([*Run.Status.values, *(state for model in _WORK for state in model.words.states)])
_OUTCOMES = dict(outcome for model in _WORK for outcome in model.words.outcomes)


class TryDocument(BaseModel):
    """One attempt."""

    number: int = Field(description="Counts from 1, from the last replay.")
    seconds: float = Field(description="When it began, in seconds since the first row.")
    ended: float | None = Field(description="When it ended, likewise; null while it is under way.")
    worker: str = Field(description="The process that made it.")
    outcome: Annotated[str, one_of(_OUTCOMES)] = Field(description="Empty while it is under way.")
    reason: ReasonDocument


class RowDocument(BaseModel):
    """An event, a job, a batch, a run of a flow, a step of one or a delivery."""

    kind: Literal["event", "run", "job", "batch", "step", "delivery"] = Field(description="What it is.")
    id: str = Field(description="Of an event your id of it; of a delivery its idempotency key; else that of the row.")
    recorded_at: Instant
    seconds: float = Field(description="When it was recorded, in seconds since the first row.")
    queue: str = Field(description="A queue of workers, the kind of a delivery's channel, or a pulled queue's label.")
    type: str = Field(description="The type of an event, the kind of a job, a flow, a step of one, or a title.")
    source: str = Field(description="What the producer said, or the rule or reminder.")
    consumers: list[str] = Field(description="The rules and flows of an event; a delivery's channel, or who pulled it.")
    key: str = Field(description="The first texts and numbers of its data; of a run its key.")
    state: Annotated[str, one_of(_STATES)] = Field(description="That of its row.")
    reason: ReasonDocument
    tries: list[TryDocument] = Field(description="The oldest first.")
    notification_id: UUID | None = Field(description="Whose delivery it is, or what a job has sent; else null.")
    told: int | None = Field(description="How many people an event or a batch has reached; null without an audience.")


class TraceDocument(BaseModel):
    correlation_id: str
    items: list[RowDocument] = Field(description="Oldest first.")
    more: bool = Field(description="Whether the chain has more than is shown.")


@trace_router.get("/{path:correlation_id}", response=TraceDocument, summary="Read the trace of a chain")
def read_trace(request: ApiRequest, correlation_id: str) -> HttpResponse:
    """All work of yours with this correlation id, or of the batch with this id."""
    result = trace(correlation_id, request.auth.user)
    if not result.rows:
        raise Http404
    rows = [_row(one) for one in result.rows]
    return answer({"correlation_id": correlation_id, "items": rows, "more": result.more})


def _row(row: Row) -> dict[str, Any]:
    tries = [fields_of(TryDocument, one, reason=reason(one.reason.code, one.reason.params)) for one in row.tries]
    why = reason(row.reason.code, row.reason.params)
    return fields_of(RowDocument, row, recorded_at=row.at, tries=tries, reason=why)
