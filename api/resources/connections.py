"""Connections: list, add, read, change, check and remove them. No answer has their secrets."""

from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field

from api.protocol import paging, versions
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import documents, of
from api.protocol.fields import FewNames, FormBody, Instant, Partial, Replacement, Search, limited
from api.protocol.idempotency import HEADER
from api.protocol.problems import conflict, require_unchanged, require_valid, too_many_checks
from api.resources.channels.documents import (
    FieldDocument,
    changed_fields,
    field_documents,
    refuse_unknown,
    require_kind,
)
from api.resources.notifications import ReasonDocument, reason
from common.forms.edit_form import VersionConflict
from common.forms.not_possible import NotPossible
from jobs import connections
from jobs.changes import connections as changes
from jobs.changes.connections import ConnectionForm, LabelForm
from jobs.connections.base import ConnectionKind
from jobs.models import Connection
from notifications.messages.message import Destination

router = Router(tags=["connections"], auth=Bearer("connections"))


_KIND = "The kind of the connection: `GET /connections/kinds` lists those of this installation."


class NewConnection(FormBody):
    model_config = limited(LabelForm)

    kind: str = Field(
        max_length=40, description=_KIND, json_schema_extra={"enum": [kind.name for kind in connections.all()]}
    )
    label: str = Field("", description="Without one, the name of the kind.")
    fields: Annotated[dict[str, str], FewNames] = Field({}, description="The fields of its kind, secrets among them.")


class ConnectionPatch(Partial, Replacement):
    """Fields that are not given stay as they are. Another address or secret is checked before it is stored."""

    model_config = limited(LabelForm)

    label: str
    fields: Annotated[dict[str, str | None], FewNames] = Field(description="Null deletes an optional value.")


class ConnectionDocument(BaseModel):
    id: UUID
    kind: str = Field(description=_KIND)
    label: str
    summary: str = Field(description="The account or the address in one line.")
    fields: dict[str, Any] = of(lambda one: _fields(one))
    state: Literal["working", "failing", "disabled", "unchecked"] = Field(
        description="Reminders do not use one that is `disabled`."
    )
    working_started_at: Instant | None = of("working_since", "Since when it has worked; null while it does not.")
    failing_started_at: Instant | None = of("failing_since")
    failing_reason: ReasonDocument = of(
        lambda one: reason(one.failing_code, one.failing_params), "Why it fails; empty while it works."
    )
    unreadable: str = Field(description="Why its secrets cannot be read; empty if they can.")
    created_at: Instant


class ConnectionKindDocument(BaseModel):
    kind: str = of("name", "Its code: the `kind` of a connection.")
    label: str
    about: str
    fields: list[FieldDocument] = of(lambda kind: field_documents(kind.form), "The `fields` that a new one takes.")


@router.get("", response=paging.Page[ConnectionDocument], summary="List connections")
def list_connections(
    request: ApiRequest, kind: Search | None = None, *, page: Query[paging.PageParameters]
) -> HttpResponse:
    """Newest first, without their secrets."""
    result = paging.narrowed(Connection.objects.for_user(request.auth.user), kind=kind)
    return paging.answer_page(result, request, page, ConnectionDocument)


@router.get("/kinds", response=paging.Page[ConnectionKindDocument], summary="List the kinds of connection")
def list_connection_kinds(request: ApiRequest) -> HttpResponse:
    """Each with the fields that a new connection of it takes."""
    return paging.answer_all(documents(ConnectionKindDocument, connections.all()))


@router.post("", response={201: ConnectionDocument}, summary="Add a connection")
def add_connection(request: ApiRequest, body: NewConnection) -> HttpResponse:
    """Its source is asked first. With an `Idempotency-Key` it is not, and the connection is `unchecked` until `check`
    or the first check of a reminder."""
    unknown = "There is no such kind. GET /connections/kinds lists them."
    kind = require_kind(connections.find(body.kind), body, unknown, "unknown_kind")
    refuse_unknown(body, body.fields, kind.form.base_fields)
    form = ConnectionForm(request.auth.user, kind, {**body.fields, "label": body.label})
    # The answer to an Idempotency-Key is kept in the transaction of the operation.
    made = _save(body, form, ask=HEADER not in request.headers)
    return versions.show(ConnectionDocument, made, 201, Location=f"{request.path}/{made.id}")


@router.get("/{uuid:connection_id}", response=ConnectionDocument, summary="Read a connection")
def read_connection(request: ApiRequest, connection_id: UUID) -> HttpResponse:
    """`ETag` is the version of what you may change."""
    return versions.show(ConnectionDocument, _own(request, connection_id))


@router.patch("/{uuid:connection_id}", response=ConnectionDocument, summary="Change a connection")
def change_connection(request: ApiRequest, connection_id: UUID, body: ConnectionPatch) -> HttpResponse:
    """Fields that are not given stay as they are. Its reminders use what is new."""
    result = _own(request, connection_id)
    require_unchanged(body, ConnectionDocument, result)
    kind = _kind(result)
    fields = body.fields if "fields" in body.model_fields_set else {}
    refuse_unknown(body, fields, kind.form.base_fields)
    typed = changed_fields(kind.form_initial(result.readable_destination()), fields)
    label = body.label if "label" in body.model_fields_set else result.label
    if not body.wrong and label == result.label and fields.items() <= _fields(result).items():
        return versions.show(ConnectionDocument, result)
    form = ConnectionForm(request.auth.user, kind, {**typed, "label": label}, result)
    return versions.show(ConnectionDocument, _save(body, form))


@router.delete("/{uuid:connection_id}", response={204: None}, summary="Remove a connection")
def remove_connection(request: ApiRequest, connection_id: UUID) -> None:
    """Erases its secrets. Reminders that use it fail until they have another one."""
    changes.remove(_own(request, connection_id))


@router.post("/{uuid:connection_id}/check", response=ConnectionDocument, summary="Check a connection")
def check_connection(request: ApiRequest, connection_id: UUID) -> HttpResponse:
    """Asks its source now. `state` and `failing_reason` say what came of it."""
    result = _own(request, connection_id)
    _kind(result)
    try:
        changes.check(result)
    except NotPossible as refusal:
        raise too_many_checks("It was not checked.", refusal) from None
    return versions.show(ConnectionDocument, _own(request, connection_id))


def _kind(connection: Connection) -> ConnectionKind:
    """Raises a 409 problem for one that is no longer installed."""
    if (kind := connections.find(connection.kind)) is None:
        raise conflict("This installation has no such kind of connection.")
    return kind


def _fields(connection: Connection) -> dict[str, Any]:
    kind = connections.find(connection.kind)
    return kind.form_initial(Destination(connection.address)) if kind else {}


def _own(request: ApiRequest, connection_id: UUID) -> Connection:
    return versions.own(request, Connection.objects.for_user(request.auth.user), ConnectionDocument, id=connection_id)


def _save(body: FormBody, form: ConnectionForm, *, ask: bool = True) -> Connection:
    """Raises NotPossible, and problems 409 and 422."""
    require_valid(body, form.label, fields=form.details, check=lambda: form.is_valid(ask=ask and not body.wrong))
    try:
        return form.save()
    except VersionConflict:
        raise conflict("Somebody has changed it meanwhile. Read it again.") from None
