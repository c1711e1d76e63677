"""Verify, test and enable a channel, and replace its signing secret."""

from uuid import UUID

from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from ninja import Router
from pydantic import BaseModel, Field

from api.protocol import versions
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, secret_answer
from api.protocol.fields import Body, Instant, limited, written
from api.protocol.problems import FieldError, Problem, conflict, invalid, require_valid
from api.resources.channels.body import provider_of
from api.resources.channels.collection import REFUSALS, locked, own, show
from api.resources.channels.document import ChannelDocument
from common.database import encryption
from notifications.channels import changes, verification
from notifications.channels.forms import CodeForm
from notifications.deliveries import confirmation
from notifications.models import Channel, Delivery
from people import codes

router = Router(tags=["channels"], auth=Bearer("channels"))


class CodeBody(Body):
    model_config = limited(CodeForm, {"code": "1234-5678"})

    code: str = Field(description="The eight digits that were sent to the channel.")


class TestSent(BaseModel):
    """`GET /notifications/{id}` says what became of it."""

    notification_id: UUID
    delivery_id: UUID


class NewSecret(BaseModel):
    """No other answer has the `secret`. Those before it sign too, beside it, until `old_until` at the latest."""

    secret: str
    old_until: Instant


@router.post("/{uuid:channel_id}/verify", response=ChannelDocument, summary="Verify a channel")
def verify_channel(request: ApiRequest, channel_id: UUID, body: CodeBody) -> HttpResponse:
    """A code is valid for 15 minutes and 5 tries. Does nothing if the channel is verified already."""
    channel = own(request, channel_id)
    form = CodeForm({"code": body.code})
    require_valid(form)
    if channel.verified_at is None:
        try:
            right = confirmation.confirm(channel, form.cleaned_data["code"], timezone.now())
        except codes.Spent as spent:
            raise invalid(FieldError("code", str(spent))) from None
        if not right:
            # Kept: a try counts also where the request has an Idempotency-Key.
            raise invalid(FieldError("code", "This is not the latest code. Check the newest message."), kept=True)
    return show(Channel.objects.get(id=channel.id))


@router.post("/{uuid:channel_id}/code", response={202: None}, summary="Send the code again")
def send_code(request: ApiRequest, channel_id: UUID) -> HttpResponse:
    """The code before it is not valid any more. At most one a minute."""
    channel = own(request, channel_id)
    if channel.verified_at is not None:
        raise conflict("This channel is verified already.")
    try:
        verification.send_code(channel, timezone.now())
    except REFUSALS as refusal:
        raise too_many(refusal) from None
    return HttpResponse(status=202)


@router.post("/{uuid:channel_id}/test", response={202: TestSent}, summary="Send a test")
def test_channel(request: ApiRequest, channel_id: UUID) -> HttpResponse:
    """Sends a message to this channel now. `Location` is where its result stands."""
    channel = own(request, channel_id)
    if channel.verified_at is None:
        raise conflict("This channel is not verified. Enter its code with verify first.")
    try:
        delivery = Delivery.objects.get(id=changes.send_test(channel, timezone.now()))
    except verification.TooMany as refusal:
        raise too_many(refusal) from None
    sent = {"notification_id": str(delivery.notification_id), "delivery_id": str(delivery.id)}
    return answer(sent, 202, Location=reverse("api:read_notification", args=[delivery.notification_id]))


@router.post("/{uuid:channel_id}/enable", response=ChannelDocument, summary="Enable a channel")
def enable_channel(request: ApiRequest, channel_id: UUID) -> HttpResponse:
    """After failures or its reader disabled it. What an operator disabled, only an operator enables."""
    with locked(request, channel_id) as channel:
        if channel.disabled_at is not None and not changes.enable_own(channel):
            raise conflict("An administrator disabled this channel and can enable it again.")
    return show(Channel.objects.get(id=channel_id))


@router.post("/{uuid:channel_id}/secret", response=NewSecret, summary="Replace the signing secret")
def replace_secret(request: ApiRequest, channel_id: UUID) -> HttpResponse:
    """Of a webhook or a status webhook. The secret before it signs too for a day."""
    with locked(request, channel_id) as channel:
        provider, now = provider_of(channel.provider), timezone.now()
        if not provider.revealed:
            raise conflict("This kind of channel has no signing secret.")
        try:
            changes.replace_secret(channel.id, changes.secret_fingerprint(channel), request.auth.user, now)
        except (changes.ChannelRefused, encryption.Unreadable) as refusal:
            raise conflict(str(refusal)) from None
    channel.refresh_from_db()
    destination = channel.destination()
    told = {
        "secret": destination.secrets[provider.revealed],
        "old_until": written(provider.overlap_ends(destination, now)[0]),
    }
    return secret_answer(told, ETag=versions.etag(changes.fingerprint(channel)))


def too_many(refusal: Exception) -> Problem:
    """Only a pause has a `Retry-After`: a limit of a day is nothing to wait for."""
    seconds = round(codes.PAUSE.total_seconds())
    headers = {"Retry-After": str(seconds)} if isinstance(refusal, codes.TooSoon) else {}
    return Problem(429, "too-many-messages", "No message was sent.", str(refusal), headers=headers)
