"""Status webhooks: add, verify, change, test, enable and remove those of the caller. Each is a channel."""

from functools import partial
from typing import Annotated, Literal
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.forms import Form
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Query, Router
from pydantic import BaseModel, Field, WithJsonSchema as Shown

from api.protocol import paging, versions
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import fields_of, of, secret_answer
from api.protocol.fields import Body, FewNames, FormBody, Instant, Partial, Replacement, Texts, one_of
from api.protocol.idempotency import HEADER
from api.protocol.problems import FieldError, conflict, invalid, require_unchanged, require_valid
from api.resources.channels.documents import disabled_reason
from api.resources.channels.operations import TestSent, locked, test_sent
from api.resources.notifications import ReasonDocument
from notifications import providers
from notifications.channels import changes, verification
from notifications.channels.forms import LabelForm, change_form
from notifications.deliveries import confirmation
from notifications.messages.change_types import CHOICES, STATUS
from notifications.models import Channel
from notifications.net import address_checks
from people import codes

router = Router(tags=["channels"], auth=Bearer("channels"))

_TYPES = {"type": "array", "items": {"type": "string", "enum": sorted(CHOICES)}, "minItems": 1}
_ONCE = "It is shown once."
Types = Annotated[Texts, Shown(_TYPES | {"examples": [["delivery.dead", "schedule.*"]]})]


class StatusWebhookBody(FormBody):
    url: str = Field(max_length=2_000, description="Where to post to, by https.")
    types: Types = Field(description="Types of changes; `delivery.*` is all of a noun.")
    label: str = Field("", max_length=80)
    secret: str = Field("", max_length=200, description=f"Signs each request; without one, Carillon makes it. {_ONCE}")
    headers: Annotated[dict[str, str], FewNames] = Field(default={}, description="Headers that the receiver requires.")
    everybody: bool = Field(False, description="Everybody's changes, not only yours. For operators.")


class StatusWebhookPatch(Partial, Replacement):
    """Fields that are not given stay as they are. A new `url` must be verified again."""

    url: str = Field("", max_length=2_000)
    types: Types
    label: str = Field(max_length=80)
    everybody: bool


class StatusWebhookCode(Body):
    code: str = Field(max_length=20, examples=["1234-5678"], description="The code that was posted to it.")


class StatusWebhook(BaseModel):
    id: UUID
    label: str
    address: str = of("summary", "The part of the URL that is not a secret.")
    types: list[Annotated[str, one_of(sorted(CHOICES))]] = of(
        lambda channel: t if isinstance(t := channel.address.get("types"), list) else []
    )
    everybody: bool = of(lambda channel: channel.address.get("everybody") is True)
    state: Literal["unverified", "enabled", "disabled"] = of(
        lambda channel: "enabled" if channel.state == "verified" else channel.state,
        "`unverified` until its code is entered.",
    )
    disabled_reason: ReasonDocument = of(disabled_reason)
    failing_started_at: Instant | None = of("failing_since")
    created_at: Instant


class NewStatusWebhook(StatusWebhook):
    secret: str = Field(description=f"Signs each request. {_ONCE}")


@router.get("", response=paging.Page[StatusWebhook], summary="List status webhooks")
def list_status_webhooks(request: ApiRequest, page: Query[paging.PageParameters]) -> HttpResponse:
    """Newest first."""
    return paging.answer_page(_own(request), request, page, StatusWebhook)


@router.post("", response={201: NewStatusWebhook}, summary="Add a status webhook")
def create_status_webhook(request: ApiRequest, body: StatusWebhookBody) -> HttpResponse:
    """A code is sent to it: confirm it with `verify`. Changes from then on are sent."""
    user = request.auth.user
    details, label = providers.get(STATUS).form(body.model_dump()), LabelForm({"label": body.label})
    _check(request, body, details, label)
    with transaction.atomic():
        channel = changes.add(user, STATUS, details.cleaned_data, label.cleaned_data["label"])
        verification.send_code(channel, timezone.now())
    channel.refresh_from_db()
    shown = fields_of(StatusWebhook, channel) | {"secret": channel.destination().secrets["secret"]}
    return secret_answer(shown, 201, Location=f"{request.path}/{channel.id}", ETag=versions.etag(channel.version))


@router.get("/{uuid:webhook_id}", response=StatusWebhook, summary="Read a status webhook")
def read_status_webhook(request: ApiRequest, webhook_id: UUID) -> HttpResponse:
    """Without its secrets."""
    return versions.show(StatusWebhook, get_object_or_404(_own(request), id=webhook_id))


@router.patch("/{uuid:webhook_id}", response=StatusWebhook, summary="Change a status webhook")
def change_status_webhook(request: ApiRequest, webhook_id: UUID, body: StatusWebhookPatch) -> HttpResponse:
    """Other types count from now on. A new `url` gets a code, and nothing else until it is verified."""
    read = get_object_or_404(_own(request), id=webhook_id)
    require_unchanged(body, StatusWebhook, read)
    provider, stored = providers.get(STATUS), read.readable_destination()
    given = body.model_dump(exclude_unset=True)
    details = change_form(provider.form_initial(stored) | given, provider, stored)
    label = LabelForm({"label": given.get("label", read.label)})
    # Visits the address, which takes time, so outside of the lock.
    _check(request, body, details, label)
    after = provider.update(stored, details.cleaned_data)
    with _changing(request, webhook_id) as channel:
        if channel.version != read.version:
            raise conflict("It has changed meanwhile. See current.", current=fields_of(StatusWebhook, channel))
        changed = changes.change(channel, channel.version, after, label.cleaned_data["label"])
        if changed.verified_at is None and changed.link_id != channel.link_id:
            verification.send_code(changed, timezone.now())
        changed.refresh_from_db()
        return versions.show(StatusWebhook, changed)


@router.delete("/{uuid:webhook_id}", response={204: None}, summary="Remove a status webhook")
def remove_status_webhook(request: ApiRequest, webhook_id: UUID) -> None:
    """Cancels what is not sent yet, and erases its secrets."""
    with _changing(request, webhook_id) as channel:
        changes.remove(channel)


@router.post("/{uuid:webhook_id}/verify", response=StatusWebhook, summary="Verify a status webhook")
def verify_status_webhook(request: ApiRequest, webhook_id: UUID, body: StatusWebhookCode) -> HttpResponse:
    """With the code that was posted to it. A code is valid for 15 minutes and five tries."""
    channel = _unverified(request, webhook_id)
    try:
        if confirmation.confirm(channel, body.code, timezone.now()):
            channel.refresh_from_db()
            return versions.show(StatusWebhook, channel)
    except codes.Spent as spent:
        raise conflict(str(spent), stored=True) from None
    # Kept: a try counts also where the request has an Idempotency-Key.
    raise invalid(FieldError("code", "This is not the latest code. Use the newest one.", "wrong_code"), stored=True)


@router.post("/{uuid:webhook_id}/code", response={202: StatusWebhook}, summary="Send a new code")
def send_status_webhook_code(request: ApiRequest, webhook_id: UUID) -> HttpResponse:
    """Codes sent before are not valid any more."""
    channel = _unverified(request, webhook_id)
    verification.send_code(channel, timezone.now())
    return versions.show(StatusWebhook, channel, 202)


@router.post("/{uuid:webhook_id}/test", response={202: TestSent}, summary="Send a test to a status webhook")
def test_status_webhook(request: ApiRequest, webhook_id: UUID) -> HttpResponse:
    """A document of the type `notification`, signed like a change."""
    with _changing(request, webhook_id) as channel:
        if channel.verified_at is None:
            raise conflict("It is not verified yet. Send the code to verify.")
        return test_sent(changes.send_test(channel, timezone.now()))


@router.post("/{uuid:webhook_id}/enable", response=StatusWebhook, summary="Enable a status webhook")
def enable_status_webhook(request: ApiRequest, webhook_id: UUID) -> HttpResponse:
    """After failures of days have disabled it. Changes from then on are sent."""
    with _changing(request, webhook_id) as channel:
        if channel.disabled_at is not None and not changes.enable_own(channel):
            raise conflict(f"An operator has disabled it: {channel.disabled_reason}")
        channel.refresh_from_db()
        return versions.show(StatusWebhook, channel)


def _own(request: ApiRequest) -> QuerySet[Channel]:
    return Channel.objects.for_user(request.auth.user).filter(provider=STATUS)


_changing = partial(locked, show=StatusWebhook, provider=STATUS)


def _unverified(request: ApiRequest, webhook_id: UUID) -> Channel:
    with _changing(request, webhook_id) as channel:
        if channel.verified_at is not None:
            raise conflict("It is verified already.")
        return channel


def _check(request: ApiRequest, body: FormBody, *forms: Form) -> None:
    # The answer to an Idempotency-Key is kept in the transaction of the operation.
    visits = HEADER not in request.headers and not body.wrong
    require_valid(body, *forms, check=partial(address_checks.are_valid, request.auth.user_id, *forms, visits=visits))
