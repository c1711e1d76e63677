"""Registered types of events: the caller's own, and those for everybody."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router
from pydantic import BaseModel, Field

from api.protocol import paging, versions
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import documents, of
from api.protocol.fields import FormBody, Instant, Partial, Replacement, limited, one_of, shows
from api.protocol.problems import Problem, require_unchanged, require_valid
from api.resources.event_bodies import Type
from common.database.damaged import object_of
from common.forms import edit_form
from events.inputs import type_form
from events.inputs.type_form import TypeForm
from events.models import RegisteredType
from events.rules.topology import topology
from notifications.deliveries.backlog import COUNTED
from people.models import User

router = Router(tags=["types"], auth=Bearer("events"))

OnMisfit = Annotated[str, one_of(RegisteredType.OnMisfit.values)]


class EventTypeBody(FormBody):
    model_config = limited(TypeForm)

    name: Type = Field(description="A noun and what happened: `order.paid`. It cannot be changed.")
    summary: str = Field("", description="What happened, in at most 200 characters.")
    data_schema: dict[str, Any] = Field(
        description="A JSON Schema of draft 2020-12 or 7 for the data of its events, of at most 32 KiB."
    )
    on_misfit: OnMisfit = Field(
        "refuse", description="Data that does not fit is refused (`refuse`), or handled with a warning (`warn`)."
    )
    emitted_by: str = Field("", description="For people: who publishes it, in at most 200 characters.")
    handled_by: str = Field("", description="For people: who handles it, in at most 200 characters.")

    is_for_everybody: bool = Field(False, description="Staff only: for the events of all people.")


class EventTypePatch(Partial, Replacement):
    """Fields that are not given stay as they are."""

    summary: str
    data_schema: dict[str, Any]
    on_misfit: OnMisfit
    emitted_by: str
    handled_by: str


@shows(EventTypeBody)
class EventTypeDocument(BaseModel):
    id: UUID
    name: str
    data_schema: dict[str, Any] = of(lambda type: object_of(type.data_schema))
    is_for_everybody: bool = Field(description="Whether an operator has registered it, for all people.")
    version: int
    created_at: Instant


@router.get("", response=paging.Page[EventTypeDocument], summary="List registered types")
def list_event_types(request: ApiRequest, page: Query[paging.PageParameters]) -> HttpResponse:
    """Newest first: yours, and those for everybody. Yours comes before everybody's of the same name."""
    return paging.answer_page(RegisteredType.objects.for_user(request.auth.user), request, page, EventTypeDocument)


class RouteDocument(BaseModel):
    """To a rule and one of its channels, or to a flow. Fields that are null do not apply."""

    rule_id: UUID | None = of("rule.id", "Null for a flow.")
    rule_name: str | None = of("rule.name", "The name of the rule.")
    flow: str | None = of(lambda route: str(route.flow) or None, "The label of a flow.")
    channel_id: UUID | None = of("channel.id", "Null for a flow, and for a rule without channels.")
    channel_label: str | None = of("channel.label")
    kind: str | None = of("channel.provider", "The kind of the channel; `queue` is one that programs pull.")
    waiting: int = of(
        lambda route: route.backlog.waiting if route.backlog else 0,
        f"Deliveries to the channel that wait; {COUNTED + 1:,} are that many or more.",
    )
    oldest_at: Instant | None = of("backlog.oldest", "When the oldest that waits was recorded.")
    dead: int = of(
        lambda route: route.backlog.dead if route.backlog else 0, "Dead letters of the channel, counted likewise."
    )
    pulled_by: str | None = of("backlog.pulled_by", "The token that took the newest message of a queue.")


class TypeRoutesDocument(BaseModel):
    """The rules, flows and queues that get the events of a type."""

    name: str
    event_type_id: UUID | None = of("registered.id", "The registered type; null: nobody has registered it.")
    came: bool = of("is_seen", "Whether it is among your newest 1,000 events.")
    dead: int = Field(description="Its events that are dead letters: `GET /events?state=dead`.")
    routes: list[RouteDocument] = of(
        lambda type: documents(RouteDocument, type.routes if type.is_heard else ()), "Empty: nobody listens to it."
    )


@router.get("/topology", response=paging.Page[TypeRoutesDocument], summary="Show where events go")
def show_topology(request: ApiRequest) -> HttpResponse:
    """By name, all at once: types that are registered, came lately, are dead, or have a rule or a flow."""
    return paging.answer_all(documents(TypeRoutesDocument, topology(request.auth.user)))


@router.post("", response={201: EventTypeDocument}, summary="Register a type")
def create_event_type(request: ApiRequest, body: EventTypeBody) -> HttpResponse:
    """Events of this type that you publish from now on are checked against its schema."""
    if body.is_for_everybody and not type_form.may_register_for_all(request.auth.user):
        raise _staff_only()
    type = make(request.auth.user, body)
    return versions.show(EventTypeDocument, type, 201, Location=f"{request.path}/{type.id}")


def make(user: User, body: EventTypeBody) -> RegisteredType:
    """Raises NotPossible and a 422 problem."""
    form = TypeForm(body.model_dump(), user)
    require_valid(body, form)
    return type_form.create(form)


@router.get("/{uuid:event_type_id}", response=EventTypeDocument, summary="Read a registered type")
def read_event_type(request: ApiRequest, event_type_id: UUID) -> HttpResponse:
    """`ETag` is its version: send it as `If-Match` with a change."""
    return versions.show(EventTypeDocument, get_object_or_404(_seen(request), id=event_type_id))


@router.patch("/{uuid:event_type_id}", response=EventTypeDocument, summary="Change a registered type")
def change_event_type(request: ApiRequest, event_type_id: UUID, body: EventTypePatch) -> HttpResponse:
    """Fields that are not given stay as they are. Events are checked against the schema that is stored when they come,
    and again when they are handled."""
    with _changing(request, event_type_id) as type:
        require_unchanged(body, EventTypeDocument, type)
        given = body.model_dump(exclude_unset=True)
        if given.get("data_schema") == object_of(type.data_schema):
            del given["data_schema"]  # the text stays as it was typed
        stored = {name: getattr(type, name) for name in EventTypePatch.model_fields}
        form = TypeForm(stored | given, request.auth.user, type)
        require_valid(body, form)
        return versions.show(EventTypeDocument, edit_form.save(form))


@router.delete("/{uuid:event_type_id}", response={204: None}, summary="Delete a registered type")
def delete_event_type(request: ApiRequest, event_type_id: UUID) -> None:
    """Its events are not checked any more."""
    with _changing(request, event_type_id) as type:
        type.delete()


def _seen(request: ApiRequest) -> QuerySet[RegisteredType]:
    return RegisteredType.objects.for_user(request.auth.user)


@contextmanager
def _changing(request: ApiRequest, event_type_id: UUID) -> Iterator[RegisteredType]:
    """Raises problems 403, 404 and 412."""
    with versions.locked(request, _seen(request), EventTypeDocument, id=event_type_id) as type:
        if type.is_for_everybody and not type_form.may_register_for_all(request.auth.user):
            raise _staff_only()
        yield type


def _staff_only() -> Problem:
    detail = "What is for everybody needs staff with the permission to add registered types."
    return Problem(403, "for-everybody", "You may not do this.", detail)
