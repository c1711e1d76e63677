"""Dead letters: by cause and channel; replay, send as new, discard, mark as fixed."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, ConfigDict, Field

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, documents, fields_of, of
from api.protocol.fields import Body, Instant, Search
from api.protocol.problems import FieldError, conflict, invalid
from api.resources.notifications import DeliveryDocument, DeliveryWithAttempts, ReasonDocument, reason_of
from notifications.deliveries import dead_letters
from notifications.deliveries.dead_letters import Action
from notifications.models import Channel, Delivery
from work.dead_letters import NOT_NEEDED, Who, act_on_own, replay, stale

router = Router(tags=["dead letters"], auth=Bearer("notifications"))


class GroupDocument(BaseModel):
    """The dead letters of one cause on one channel; `reason` is the newest one's."""

    cause: str
    channel_id: UUID = of("example.channel_id")
    kind: str = of("example.provider")
    count: int = Field(description="How many there are.")
    first_at: Instant = of("first", "When the first of them failed.")
    last_at: Instant = of("last", "When the last of them failed.")
    reason: ReasonDocument = of(lambda group: reason_of(group.example))


_ONE: Any = [
    {"required": [name], "properties": {name: {"type": "string", "minLength": 1}}} for name in ("cause", "channel_id")
]


class Replay(Body):
    """A cause, a channel, or both."""

    model_config = ConfigDict(json_schema_extra={"anyOf": _ONE})

    cause: str | None = Field(None, description="Only those of this cause.")
    channel_id: UUID | None = Field(None, strict=False, description="Only those of this channel of yours.")
    per_minute: int = Field(60, ge=1, le=100_000, description="How many are sent in a minute.")
    max_age_days: int | None = Field(None, ge=1, le=3650, description="Leave out those that were recorded earlier.")


class Replayed(BaseModel):
    replayed: int = Field(description="How many are sent again.")
    stale: int = Field(
        description="How many stay dead letters: past what their schedule allows, or older than `max_age_days`."
    )


class Discard(Body):
    reason: str = Field(NOT_NEEDED, min_length=1, max_length=300, description="Why, for people. It is stored.")


class Note(Body):
    note: str = Field(min_length=1, max_length=300, description="What you did. It is stored with the delivery.")


@router.get("", response=paging.Page[DeliveryDocument], summary="List dead letters")
def list_dead_letters(
    request: ApiRequest,
    cause: Search | None = None,
    channel_id: UUID | None = None,
    *,
    page: Query[paging.PageParameters],
) -> HttpResponse:
    """Deliveries that failed for good, or may have arrived (`unknown`). Newest first.

    Dead events have a list of their own: `GET /events?state=dead`.
    """
    letters = dead_letters.own(request.auth.user, cause or "", channel_id).select_related("channel")
    return paging.answer_page(letters, request, page, DeliveryDocument)


@router.get("/causes", response=paging.Page[GroupDocument], summary="List the causes of dead letters")
def list_causes(request: ApiRequest) -> HttpResponse:
    """The number of dead letters of each cause on each channel, newest first."""
    return paging.answer_all(documents(GroupDocument, dead_letters.own_groups(request.auth.user)))


@router.get("/{uuid:delivery_id}", response=DeliveryWithAttempts, summary="Read a dead letter")
def read_dead_letter(request: ApiRequest, delivery_id: UUID) -> HttpResponse:
    """With each attempt. Also when it is not a dead letter any more: `state` says what became of it."""
    deliveries = Delivery.objects.select_related("channel").prefetch_related("history")
    return answer(fields_of(DeliveryWithAttempts, deliveries.own(request.auth.user, id=delivery_id)))


@router.post("/replay", response={202: Replayed}, summary="Replay dead letters")
def replay_dead_letters(request: ApiRequest, body: Replay) -> HttpResponse:
    """All of a cause, of a channel, or both: oldest first, at a rate, under the same keys. Leaves out stale ones,
    tests, and those whose channel cannot be used."""
    if not body.cause and body.channel_id is None:
        detail = "Give a cause, a channel, or both. GET /dead-letters/causes lists them."
        raise invalid(FieldError("cause", detail, "required"), FieldError("channel_id", detail, "required"))
    user = request.auth.user
    if body.channel_id is not None and not Channel.objects.filter(user=user, id=body.channel_id).exists():
        raise invalid(FieldError("channel_id", "This is not one of your channels.", "unknown_channel"))
    cause = body.cause or ""
    rows = dead_letters.sendable(dead_letters.own(user, cause, body.channel_id))
    which = "own dead letters" + (f" of the cause {cause}" if cause else "")
    which += f" of the channel {body.channel_id}" if body.channel_id else ""
    skip = stale(None if body.max_age_days is None else timedelta(days=body.max_age_days))
    done = replay(rows, which, Who.of(user), cause=cause, per_minute=body.per_minute, skip=skip)
    return answer({"replayed": len(done.changed), "stale": done.stale}, 202)


@router.post("/{uuid:delivery_id}/replay", response={202: DeliveryDocument}, summary="Replay a dead letter")
def replay_dead_letter(request: ApiRequest, delivery_id: UUID) -> HttpResponse:
    """Now, under the same idempotency key, also if it is stale. An `unknown` one may arrive twice."""
    return _act(request, delivery_id, Action.REPLAYED)


@router.post("/{uuid:delivery_id}/replay-as-new", response={202: DeliveryDocument}, summary="Send a dead letter as new")
def send_as_new(request: ApiRequest, delivery_id: UUID) -> HttpResponse:
    """Under a new idempotency key, for a receiver that ignores the old one. The answer is the new delivery, of a new
    notification; the old delivery is cancelled."""
    return _act(request, delivery_id, Action.AS_NEW)


@router.post("/{uuid:delivery_id}/discard", response=DeliveryDocument, summary="Discard a dead letter")
def discard_dead_letter(request: ApiRequest, delivery_id: UUID, body: Discard) -> HttpResponse:
    """Nothing more is sent; the delivery is cancelled, with the reason."""
    return _act(request, delivery_id, Action.DISCARDED, one_line("reason", body.reason))


@router.post("/{uuid:delivery_id}/fixed", response=DeliveryDocument, summary="Mark a dead letter as fixed")
def mark_fixed(request: ApiRequest, delivery_id: UUID, body: Note) -> HttpResponse:
    """It was dealt with otherwise. Nothing more is sent; the delivery is cancelled, with the note."""
    return _act(request, delivery_id, Action.FIXED, one_line("note", body.note))


def _act(request: ApiRequest, delivery_id: UUID, what: Action, note: str = "") -> HttpResponse:
    """The delivery as it is now, or the new one. Raises problems 404 and 409."""
    user = request.auth.user
    letter = Delivery.objects.select_related("channel", "notification").own(user, id=delivery_id)
    if obstacle := dead_letters.obstacle(letter, what):
        raise conflict(obstacle)
    done = act_on_own(letter, act := dead_letters.ACTS[what], user, note)
    if not done.changed:
        raise conflict("It is not a dead letter. Nothing changed.")
    [key] = done.new or done.changed
    delivery = Delivery.objects.select_related("channel").get(id=key)
    return answer(fields_of(DeliveryDocument, delivery), 200 if act.ends else 202)


def one_line(field: str, text: str) -> str:
    if not (line := " ".join(text.split())):
        raise invalid(FieldError(field, "Write a few words.", "required"))
    return line
