"""Inbound addresses: make, change and remove those of the caller, look at their last requests, replay one."""

from typing import Annotated, Literal
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from ninja import Router
from pydantic import BaseModel, Field

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, documents, fields_of, of, secret_answer
from api.protocol.fields import Body, FormBody, Instant, Replacement, one_of
from api.protocol.problems import conflict, require_unchanged, require_valid
from api.resources.events import Taken
from api.resources.notifications import ReasonDocument, reason_of
from events.inbound import addresses, receive
from events.inbound.addresses import InboundForm
from events.models import InboundAddress, InboundRequest
from events.pure import schemes
from people.models import User

router = Router(tags=["events"], auth=Bearer("events"))


class SignatureBody(Body):
    """Of the scheme `hmac`: where the signature stands and how it is written."""

    header: str = Field(default="", description="The name of the header that has the signature.")
    algorithm: Literal["", "sha256", "sha512", "sha1"] = Field(default="", description="The hash; empty: SHA-256.")
    encoding: Literal["", "hex", "base64"] = Field(default="", description="How it is written; empty: hexadecimal.")
    prefix: str = Field(default="", description="What stands before it, such as `sha256=`.")


class ExpressionsBody(Body):
    """Expressions of JMESPath over `{"headers", "body"}`; empty ones take the default."""

    type: str = Field(
        default="", description="Of the event's type: `'order.paid'`, `join('.', ['order', body.action])`."
    )
    source: str = Field(default="", description="Of what it comes from; empty: the label.")
    data: str = Field(default="", description="Of its data, an object; empty: the whole body.")
    time: str = Field(default="", description="Of when it happened; empty: when it came.")
    id: str = Field(default="", description="Of an id that is the same when a request is repeated.")
    correlation_id: str = Field(default="", description="Of its correlation id; empty: the request begins a chain.")


class InboundBody(FormBody):
    label: str
    scheme: Literal["none", "github", "stripe", "standard", "hmac"] = Field(
        "none", description="How the sender signs its requests."
    )
    secret: str = Field("", description="As the sender shows it. Never shown again; empty keeps the one that is there.")
    signature: SignatureBody = Field(default_factory=SignatureBody, description="For `hmac`: where its signature is.")
    event: ExpressionsBody = Field(default_factory=ExpressionsBody, description="What becomes the event's members.")
    enabled: bool = True


class InboundReplacement(InboundBody, Replacement):
    """Also as `GET` answers it: what cannot be changed here may be sent as it is."""


class InboundDocument(BaseModel):
    """Without its secrets."""

    id: UUID
    label: str
    scheme: Annotated[str, one_of(schemes.SCHEMES)]
    signature: dict[str, str] = of("options")
    event: dict[str, str] = of("fields")
    enabled: bool
    needs_secret: bool = Field(description="It answers 503 until it has a secret of at least 16 bytes.")
    created_at: Instant


class NewInboundDocument(InboundDocument):
    url: str = Field(description="The secret address. Its page shows it again.")


class InboundRequestDocument(BaseModel):
    """One of the last requests, as it came."""

    id: UUID
    received_at: Instant = of("at")
    status: int = Field(description="What was answered: 202 where it became events.")
    reason: ReasonDocument = of(reason_of)
    headers: dict[str, str] = Field(description="Those that are stored: none that may hold a secret.")
    body: str = Field(description="The body, as text.")
    event_ids: list[str] = of("event_keys", "The ids of the events that it became.")


@router.get("", response=paging.Page[InboundDocument], summary="List inbound addresses")
def list_inbound(request: ApiRequest) -> HttpResponse:
    """Newest first: at most 20."""
    return paging.answer_all(documents(InboundDocument, InboundAddress.objects.for_user(request.auth.user)))


@router.post("", response={201: NewInboundDocument}, summary="Make an inbound address")
def create_inbound(request: ApiRequest, body: InboundBody) -> HttpResponse:
    """Posts to its `url` become your events."""
    return _with_url(make(request.auth.user, body), 201)


@router.get("/{uuid:address_id}", response=InboundDocument, summary="Read an inbound address")
def read_inbound(request: ApiRequest, address_id: UUID) -> HttpResponse:
    """Without its secrets. Its page shows its URL."""
    return answer(fields_of(InboundDocument, InboundAddress.objects.own(request.auth.user, id=address_id)))


@router.put("/{uuid:address_id}", response=InboundDocument, summary="Replace an inbound address")
def replace_inbound(request: ApiRequest, address_id: UUID, body: InboundReplacement) -> HttpResponse:
    """Its `url` stays, and its secret where the body has none."""
    address = InboundAddress.objects.own(request.auth.user, id=address_id)
    require_unchanged(body, InboundDocument, address)
    addresses.change(address, _form(body, address))
    return answer(fields_of(InboundDocument, address))


@router.delete("/{uuid:address_id}", response={204: None}, summary="Remove an inbound address")
def remove_inbound(request: ApiRequest, address_id: UUID) -> None:
    """Its last requests are deleted; its events stay."""
    addresses.remove(InboundAddress.objects.own(request.auth.user, id=address_id))


@router.post("/{uuid:address_id}/url", response=NewInboundDocument, summary="Give it a new secret address")
def replace_inbound_url(request: ApiRequest, address_id: UUID) -> HttpResponse:
    """The old one takes nothing any more."""
    address = InboundAddress.objects.own(request.auth.user, id=address_id)
    addresses.replace(address)
    return _with_url(address, 200)


@router.get(
    "/{uuid:address_id}/requests", response=paging.Page[InboundRequestDocument], summary="List the last requests"
)
def list_inbound_requests(request: ApiRequest, address_id: UUID) -> HttpResponse:
    """Newest first: at most 50, refused ones too."""
    address = InboundAddress.objects.own(request.auth.user, id=address_id)
    return paging.answer_all(documents(InboundRequestDocument, address.requests.all()))


@router.post("/requests/{uuid:inbound_request_id}/replay", response={202: Taken}, summary="Replay a request")
def replay_inbound_request(request: ApiRequest, inbound_request_id: UUID) -> HttpResponse:
    """New events of it, also where it was refused."""
    mine = InboundRequest.objects.select_related("address").filter(address__user=request.auth.user)
    received = get_object_or_404(mine, id=inbound_request_id)
    came = receive.replay(received.address, received)
    if not came.keys:
        raise conflict(f"No event came of it. {came.reason}")
    return answer({"ids": came.keys}, 202)


def make(user: User, body: InboundBody, like: InboundAddress | None = None) -> InboundAddress:
    """`like` has a secret already, so that none is required. Raises NotPossible and a 422 problem."""
    return addresses.create(user, _form(body, like))


def _form(body: InboundBody, address: InboundAddress | None) -> InboundForm:
    """The page's form of a body. Raises a 422 problem."""
    given = body.model_dump(include={"label", "scheme", "secret", "enabled"})
    given |= {f"signature_{name}": value for name, value in body.signature.model_dump().items()}
    given |= {f"event_{name}": value for name, value in body.event.model_dump().items()}
    form = InboundForm(given, address=address)
    require_valid(body, form, called=lambda name: name.replace("signature_", "signature.").replace("event_", "event."))
    return form


def _with_url(address: InboundAddress, status: int) -> HttpResponse:
    location = reverse("api:read_inbound", args=[address.id])
    return secret_answer(
        fields_of(InboundDocument, address) | {"url": addresses.url(address)}, status, Location=location
    )
