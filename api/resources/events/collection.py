"""Publish events, list and read them."""

from uuid import UUID

from django.db.models import Prefetch, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Router
from pydantic import BaseModel

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer
from api.protocol.fields import Search
from api.protocol.problems import FieldError, Problem, invalid
from api.resources.events.body import EventsBody
from api.resources.events.document import EventDocument, document
from api.resources.schedules.body import may_not_announce
from events.intake import ledger, usage
from events.models import Effect, Event, Topic
from jobs.batches import audiences
from schedules.inputs.audience_form import MOST_UNCONFIRMED

router = Router(tags=["events"], auth=Bearer("events"))


class Taken(BaseModel):
    """The ids, in the order of the request: yours, or ours where you gave none."""

    ids: list[UUID]


@router.post("", response={202: Taken}, summary="Publish events")
def publish(request: ApiRequest, body: EventsBody) -> HttpResponse:
    """They are stored when this answers, and your rules are applied to them at once. Publish again if no answer comes:
    an event with an `id` is taken once."""
    topics = _topics(request, body)
    _check_audiences(request, body)
    envelopes = [one.envelope(topics.get(one.topic or "")) for one in body.all]
    try:
        ledger.record(request.auth.user.pk, envelopes)
    except usage.QuotaReached as reached:
        raise _quota(reached) from None
    return answer({"ids": [str(one.key) for one in envelopes]}, 202)


def _topics(request: ApiRequest, body: EventsBody) -> dict[str, UUID]:
    """The ids of the named topics. Raises a 422 problem for one that is not the caller's."""
    named = [one.topic for one in body.all if one.topic is not None]
    if not named:
        return {}
    found = dict(Topic.objects.for_user(request.auth.user).filter(slug__in=named).values_list("slug", "id"))
    for number, one in enumerate(body.all):
        if one.topic is not None and one.topic not in found:
            problem = f"You have no topic “{one.topic}”. Make it first, or correct its name."
            raise invalid(FieldError(f"{body.place(number)}topic", problem, "unknown_topic"))
    return found


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
    request: ApiRequest, type: Search | None = None, cursor: str | None = None, limit: paging.Limit = paging.SIZE
) -> HttpResponse:
    """Newest first, with what followed from each."""
    found = Event.objects.for_user(request.auth.user)
    if type is not None:
        found = found.filter(type=type)
    return paging.answer_page(with_effects(found), request, cursor, limit, document)


@router.get("/{uuid:event_id}", response=EventDocument, summary="Read an event")
def read_event(request: ApiRequest, event_id: UUID) -> HttpResponse:
    """By your id of it: its state, and what each of your rules made of it."""
    return answer(document(get_object_or_404(with_effects(Event.objects.for_user(request.auth.user)), key=event_id)))


@router.post("/{uuid:event_id}/replay", response={202: Taken}, summary="Handle an event again")
def replay_event(request: ApiRequest, event_id: UUID) -> HttpResponse:
    """As a new event of the same chain with the same data, whose id this answers; your rules ring again. A dead event
    is handled again itself, and keeps its id."""
    found = get_object_or_404(Event.objects.for_user(request.auth.user), key=event_id)
    try:
        return answer({"ids": [str(ledger.replay(found, request.auth.user))]}, 202)
    except usage.QuotaReached as reached:
        raise _quota(reached) from None


def _quota(reached: usage.QuotaReached) -> Problem:
    headers = {"Retry-After": str(reached.wait)}
    return Problem(429, str(reached.reason.code), "Your quota of events is used up.", str(reached), headers=headers)
