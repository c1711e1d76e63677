"""Events: publish them, list and read them, and see what followed."""

import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import wraps
from typing import Annotated, Any, Literal
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router
from ninja.decorators import decorate_view
from pydantic import BaseModel, Field

from api.protocol import paging, parser
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, documents, fields_of, of
from api.protocol.fields import Instant, Search, one_of, read_instant
from api.protocol.problems import FieldError, conflict, invalid
from api.resources.dead_letters import Discard, one_line
from api.resources.event_bodies import EventsBody
from api.resources.notifications import ReasonDocument, reason_of
from api.resources.schedules.documents import AudienceDocument, audience_of, may_not_announce
from common.parsing import strict_json
from events.intake import ledger, registered
from events.models import Digest, Effect, Event, Topic
from events.pure import cloud_events, types
from events.pure.cloud_events import BATCH, STRUCTURED, Malformed
from events.pure.envelope import ID, Envelope
from events.pure.types import Misfit
from jobs.batches import audiences
from schedules.inputs.audience_form import MOST_UNCONFIRMED

router = Router(tags=["events"], auth=Bearer("events"))


Run = Callable[..., HttpResponse]


def _takes_cloud_events(run: Run) -> Run:
    """Let an operation whose body is `EventsBody` take CloudEvents, too."""

    @wraps(run)
    def view(request: ApiRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        request.takes_odd_numbers = True
        if mode := _mode(request):
            request._body = json.dumps(_body(request, mode), ensure_ascii=False, separators=(",", ":")).encode()
            request.content_type, request.content_params = "application/json", {}
        return run(request, *args, **kwargs)

    return view


def _mode(request: HttpRequest) -> str:
    return cloud_events.mode(request.headers.get("Content-Type", ""), _headers(request))


def _headers(request: HttpRequest) -> dict[str, str]:
    return {name.lower(): value for name, value in request.headers.items()}


def _body(request: HttpRequest, mode: str) -> Any:
    """Raises problems 400, 413, 415 and 422."""
    if mode == "structured":
        return _event(parser.read(request, STRUCTURED))
    if mode == "batch":
        batch = parser.read(request, BATCH)
        if not isinstance(batch, list):
            raise invalid(FieldError("(body)", "A batch is a list of CloudEvents."))
        return [_event(one, f"{number}.") for number, one in enumerate(batch)]
    try:
        return _event(cloud_events.from_headers(_headers(request), parser.body(request)))
    except strict_json.Bad as error:
        raise parser.bad_json(error) from None


def _event(given: Any, place: str = "") -> dict[str, Any]:
    """`place` stands before the names of attributes in errors."""
    try:
        fields = cloud_events.read(given)
    except Malformed as malformed:
        raise invalid(*(FieldError(place + name or "(body)", why) for name, why in malformed.problems)) from None
    if "time" in fields:
        try:
            read_instant(fields["time"])
        except ValueError as error:
            raise invalid(FieldError(f"{place}time", str(error))) from None
        fields["occurred_at"] = fields.pop("time")
    return fields


class DigestDocument(BaseModel):
    """The digest in which a rule sends the event together with others; `reason` says why, where it was cancelled."""

    state: Annotated[str, one_of(Digest.words.states)] = Field(description="`pending` while it gathers events.")
    due_at: Instant = of("available_at", "When it is sent.")
    count: int = of("gathered", "How many events it has.")
    reason: ReasonDocument = of(reason_of)


class EffectDocument(BaseModel):
    """The effect of a rule on it; `reason` says why, where it stayed silent."""

    rule_id: UUID = Field(description="The id of the rule.")
    rule_name: str = of("rule.name", "The name of the rule.")
    outcome: Annotated[str, one_of(Effect.Outcome.values)] = Field(
        description="`digested`: it is sent later, together with others."
    )
    reason: ReasonDocument = of(reason_of)
    notification_id: UUID | None = of(
        "notified_in", "The message about it, also in a digest; null while there is none."
    )
    digest: DigestDocument | None = of(
        lambda effect: effect.digest and fields_of(DigestDocument, effect.digest),
        "The message in which it waits; null without one.",
    )


class EventDocument(BaseModel):
    id: str = of("key", "Yours, or ours where you gave none.")
    type: str
    source: str
    occurred_at: Instant = Field(description="When it happened.")
    correlation_id: str = of("chain")
    hops: int
    data: dict[str, Any]
    topic: str | None = of("topic.slug", "The slug of the topic whose subscribers get it.")
    to: AudienceDocument | None = of(audience_of, "The audience to which staff announced it.")
    audience: int | None = of("batch.size", "How many were subscribed; null until telling them begins.")
    told: int = of(lambda event: event.batch.told if event.batch else 0, "How many of these have been dealt with.")
    state: Annotated[str, one_of(Event.words.states)] = Field(
        description="`handled`: your rules have been applied to it. `dead` and `unknown` wait for a person."
    )
    reason: ReasonDocument = of(reason_of)
    tries: int
    received_at: Instant = of("created_at")
    effects: list[EffectDocument] = of(
        lambda event: documents(EffectDocument, event.effects.all()), "One of each rule that is for it."
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
@decorate_view(_takes_cloud_events)
def publish(request: ApiRequest, body: EventsBody) -> HttpResponse:
    """They are stored when this answers, and your rules are applied to them at once. Publish again if no answer comes:
    an event with an `id` is taken once. Another event with the same `id` is refused (409), and nothing is stored.

    CloudEvents 1.0 are taken too: in structured and in binary mode, and in batches.
    """
    topics = _topics(request, body)
    _check_audiences(request, body)
    envelopes = [one.envelope(topic_id=topics.get(one.topic or "")) for one in body.all]
    request.messages = len(envelopes)
    if _mode(request):
        envelopes = [replace(one, key=cloud_events.key(one.source, one.key)) for one in envelopes]
    try:
        # A refused single one has stored nothing anyway.
        with transaction.atomic() if isinstance(body.root, list) else nullcontext():
            new = ledger.record(request.auth.user.pk, envelopes, refuses=True)
            _check_repeated(request, body, envelopes, new)
    except registered.Unfit as unfit:
        raise invalid(*(_misfit(body, number, one) for number, one in unfit.misfits.items())) from None
    return answer({"items": [{"id": one.key, "new": one.key in new} for one in envelopes]}, 202)


def _misfit(body: EventsBody, number: int, misfit: Misfit) -> FieldError:
    name = body.all[number].type
    remedy = f"Correct it, or the schema of {name}."
    if name in types.TYPES:
        remedy = f"Automation, Types shows what {name} needs."
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
    """The ids of the named topics. Raises a 422 problem for those that are not the caller's."""
    named = [one.topic for one in body.all if one.topic is not None]
    if not named:
        return {}
    result = dict(Topic.objects.for_user(request.auth.user).filter(slug__in=named).values_list("slug", "id"))
    wrong = [
        FieldError(
            f"{body.place(number)}topic",
            f"You have no topic “{one.topic}”. Make it first, or correct its name.",
            "unknown_topic",
        )
        for number, one in enumerate(body.all)
        if one.topic is not None and one.topic not in result
    ]
    if wrong:
        raise invalid(*wrong)
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
        if audiences.Chosen(one.to.kind, one.to.key) not in audiences.named(request.auth.user):
            kinds = "everybody, group (key: its id), topic (key: its id) or connected (key: a kind of connection)"
            raise invalid(FieldError(field, f"There is no such audience. The kind is {kinds}.", "unknown_audience"))
        if not one.to.confirmed and (people := audiences.count(one.to.kind, one.to.key)) > MOST_UNCONFIRMED:
            raise invalid(FieldError(f"{field}.confirmed", f"This tells {people:,} people. Confirm it.", "unconfirmed"))


@router.get("", response=paging.Page[EventDocument], summary="List events")
def list_events(
    request: ApiRequest,
    type: Search | None = None,
    state: Literal["dead"] | None = None,
    *,
    page: Query[paging.PageParameters],
) -> HttpResponse:
    """Newest first, with what followed from each. `state=dead`: only dead letters, which wait for you."""
    result = paging.narrowed(Event.objects.for_user(request.auth.user), type=type)
    if state is not None:
        result = result.dead()
    return paging.answer_page(result.with_effects(), request, page, EventDocument)


# First, since an id may have slashes.
@router.post("/{path:event_id}/replay", response={202: Taken}, summary="Handle an event again")
def replay_event(request: ApiRequest, event_id: str) -> HttpResponse:
    """As a new event of the same chain with the same data, whose id this answers; your rules fire again. A dead event
    is handled again itself, and keeps its id."""
    result = _own(Event.objects.for_user(request.auth.user), event_id)
    return answer({"ids": [ledger.replay(result, request.auth.user)]}, 202)


@router.post("/{path:event_id}/discard", response=EventDocument, summary="Discard a dead event")
def discard_event(request: ApiRequest, event_id: str, body: Discard) -> HttpResponse:
    """It is handled no more: it becomes `cancelled`, with the reason."""
    mine = Event.objects.for_user(request.auth.user)
    result = _own(mine, event_id)
    if not ledger.discard(result, request.auth.user, one_line("reason", body.reason)):
        raise conflict("It is not a dead letter. Nothing changed.")
    return answer(fields_of(EventDocument, mine.with_effects().get(pk=result.pk)))


@router.get("/{path:event_id}", response=EventDocument, summary="Read an event")
def read_event(request: ApiRequest, event_id: str) -> HttpResponse:
    """By your id of it: its state, and what each of your rules made of it."""
    return answer(fields_of(EventDocument, _own(Event.objects.for_user(request.auth.user).with_effects(), event_id)))


def _own(mine: QuerySet[Event], event_id: str) -> Event:
    """Raises Http404."""
    if not re.fullmatch(ID, event_id):  # PostgreSQL takes no NUL
        raise Http404
    return get_object_or_404(mine, key=event_id)


def id_reused(place: str) -> FieldError:
    return FieldError(f"{place}id", "This id names something else. Use a new one.", "id_reused")
