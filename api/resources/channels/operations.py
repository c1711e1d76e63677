"""List, add, read, change, verify, test, enable and remove channels, and replace a signing secret."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from ninja import Query, Router
from pydantic import BaseModel, Field

from api.protocol import answers, paging, versions
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import Show, answer, fields_of, of, secret_answer
from api.protocol.calls import too_many_messages
from api.protocol.fields import FormBody, Instant, Search, limited, written
from api.protocol.idempotency import HEADER
from api.protocol.problems import FieldError, conflict, invalid, require_unchanged, require_valid
from api.resources.channels import documents
from api.resources.channels.documents import (
    ChannelDocument,
    ChannelPatch,
    KindDocument,
    NewChannel,
    NewChannelDocument,
    provider_of,
)
from common.database import encryption
from notifications import providers
from notifications.channels import changes, verification
from notifications.channels.forms import CodeForm
from notifications.deliveries import confirmation
from notifications.models import Channel, Delivery
from people import codes
from people.user_lock import lock_user

router = Router(tags=["channels"], auth=Bearer("channels"))


REFUSALS = (codes.TooSoon, verification.CodeRefused, verification.TooManyCodes)


def own(request: ApiRequest, channel_id: UUID) -> Channel:
    return versions.own(request, Channel.objects.for_user(request.auth.user), ChannelDocument, id=channel_id)


@contextmanager
def locked(request: ApiRequest, channel_id: UUID, show: Show = ChannelDocument, **which: str) -> Iterator[Channel]:
    """As `own`, locked in a transaction, with its person."""
    mine = Channel.objects.for_user(request.auth.user)
    with lock_user(request.auth.user), versions.locked(request, mine, show, id=channel_id, **which) as channel:
        yield channel


@router.get("", response=paging.Page[ChannelDocument], summary="List channels")
def list_channels(
    request: ApiRequest, kind: Search | None = None, *, page: Query[paging.PageParameters]
) -> HttpResponse:
    """Newest first, without their secrets."""
    result = paging.narrowed(Channel.objects.for_user(request.auth.user), provider=kind)
    return paging.answer_page(result, request, page, ChannelDocument)


@router.get("/kinds", response=paging.Page[KindDocument], summary="List the kinds of channel")
def list_kinds(request: ApiRequest) -> HttpResponse:
    """Each with the fields that a new channel of it takes."""
    return paging.answer_all(answers.documents(KindDocument, providers.all()))


@router.post("", response={201: NewChannelDocument}, summary="Add a channel")
def add_channel(request: ApiRequest, body: NewChannel) -> HttpResponse:
    """Sends a code to it, unless it is yours already. Enter the code with `verify`; until then it gets nothing else."""
    user = request.auth.user
    # The answer to an Idempotency-Key is kept in the transaction of the operation.
    cleaned, label = documents.cleaned(body, user, visits=HEADER not in request.headers)
    try:
        channel = changes.add(user, body.kind, cleaned, label)
    except verification.CodeRefused as refusal:
        raise invalid(FieldError("fields", str(refusal), "refused")) from None
    return _new(Channel.objects.get(id=channel.id), 201, to_verify=channel.verified_at is None, reveals=True)


@router.get("/{uuid:channel_id}", response=ChannelDocument, summary="Read a channel")
def read_channel(request: ApiRequest, channel_id: UUID) -> HttpResponse:
    """`ETag` is the version of what you may change."""
    return versions.show(ChannelDocument, own(request, channel_id))


@router.patch("/{uuid:channel_id}", response=NewChannelDocument, summary="Change a channel")
def change_channel(request: ApiRequest, channel_id: UUID, body: ChannelPatch) -> HttpResponse:
    """Fields that are not given stay as they are. Another address gets a code; its reminders and its history stay."""
    before = own(request, channel_id)
    require_unchanged(body, ChannelDocument, before)
    # Visits the address, which takes time, so outside of the lock.
    after, settings = documents.changed(body, before, request.auth.user)
    stored = before.readable_destination()
    with locked(request, channel_id) as current:
        if current.version != before.version:
            raise conflict(
                "Somebody has changed it meanwhile. See current.", current=fields_of(ChannelDocument, current)
            )
        if after is not None:
            try:
                changes.change(current, current.version, after, settings["label"])
            except verification.CodeRefused as refusal:
                raise invalid(FieldError("fields", str(refusal), "refused")) from None
        changes.change_settings(current, **settings)
    changed = Channel.objects.get(id=channel_id)
    to_verify = changed.verified_at is None and changed.disabled_at is None and changed.link_id != before.link_id
    revealed = documents.provider_of(changed.provider).revealed
    is_new = after is not None and stored.secrets.get(revealed) != after.secrets.get(revealed)
    return _new(changed, 200, to_verify=to_verify, reveals=is_new)


@router.delete("/{uuid:channel_id}", response={204: None}, summary="Remove a channel")
def remove_channel(request: ApiRequest, channel_id: UUID) -> None:
    """Cancels what waits for it and erases its secrets. Its history stays."""
    with locked(request, channel_id) as channel:
        changes.remove(channel)


def _new(channel: Channel, status: int, *, to_verify: bool, reveals: bool) -> HttpResponse:
    """The channel with what is told only once: its new secret, and whether a code was sent."""
    sent, detail = False, ""
    if to_verify:
        try:
            verification.send_code(channel, timezone.now())
            sent, detail = True, "Enter the code that was sent to it, with verify."
        except REFUSALS as refusal:
            detail = str(refusal)
    revealed = providers.get(channel.provider).revealed if reveals else ""
    secret = channel.destination().secrets.get(revealed) if revealed else None
    result = fields_of(ChannelDocument, channel) | {"secret": secret, "code_sent": sent, "detail": detail}
    place = {"Location": reverse("api:read_channel", args=[channel.id])} if status == 201 else {}
    return (secret_answer if secret else answer)(result, status, ETag=versions.etag(channel.version), **place)


class CodeBody(FormBody):
    model_config = limited(CodeForm)

    code: str = Field(description="The eight digits that were sent to the channel.")


class TestSent(BaseModel):
    notification_id: UUID = Field(description="`GET /notifications/{notification_id}` says what became of it.")
    delivery_id: UUID = of("id")


class NewSecret(BaseModel):
    secret: str = Field(description="The new signing secret. No other answer has it.")
    old_expires_at: Instant = Field(description="Until then those before it sign too.")


@router.post("/{uuid:channel_id}/verify", response=ChannelDocument, summary="Verify a channel")
def verify_channel(request: ApiRequest, channel_id: UUID, body: CodeBody) -> HttpResponse:
    """A code is valid for 15 minutes and 5 tries. Does nothing if the channel is verified already."""
    channel = own(request, channel_id)
    form = CodeForm({"code": body.code})
    require_valid(body, form)
    if channel.verified_at is None:
        try:
            right = confirmation.confirm(channel, form.cleaned_data["code"], timezone.now())
        except codes.Spent as spent:
            raise invalid(FieldError("code", str(spent))) from None
        if not right:
            # Kept: a try counts also where the request has an Idempotency-Key.
            raise invalid(FieldError("code", "This is not the latest code. Check the newest message."), stored=True)
    return versions.show(ChannelDocument, Channel.objects.get(id=channel.id))


@router.post("/{uuid:channel_id}/code", response={202: None}, summary="Send the code again")
def send_code(request: ApiRequest, channel_id: UUID) -> HttpResponse:
    """The code before it is not valid any more. At most one a minute."""
    channel = own(request, channel_id)
    if channel.verified_at is not None:
        raise conflict("This channel is verified already.")
    try:
        verification.send_code(channel, timezone.now())
    except verification.CodeRefused as refusal:
        raise too_many_messages(refusal) from None
    return HttpResponse(status=202)


@router.post("/{uuid:channel_id}/test", response={202: TestSent}, summary="Send a test")
def test_channel(request: ApiRequest, channel_id: UUID) -> HttpResponse:
    """Sends a message to this channel now. `Location` is where its result stands."""
    channel = own(request, channel_id)
    if channel.verified_at is None:
        raise conflict("This channel is not verified. Enter its code with verify first.")
    return test_sent(changes.send_test(channel, timezone.now()))


def test_sent(delivery_id: UUID) -> HttpResponse:
    """`Location` is where its result stands."""
    delivery = Delivery.objects.get(id=delivery_id)
    return answer(
        fields_of(TestSent, delivery), 202, Location=reverse("api:read_notification", args=[delivery.notification_id])
    )


@router.post("/{uuid:channel_id}/enable", response=ChannelDocument, summary="Enable a channel")
def enable_channel(request: ApiRequest, channel_id: UUID) -> HttpResponse:
    """After failures or its reader disabled it. Only an operator enables a channel that an operator disabled."""
    with locked(request, channel_id) as channel:
        if channel.disabled_at is not None and not changes.enable_own(channel):
            raise conflict("An administrator disabled this channel and can enable it again.")
    return versions.show(ChannelDocument, Channel.objects.get(id=channel_id))


@router.post("/{uuid:channel_id}/secret", response=NewSecret, summary="Replace the signing secret")
def replace_secret(request: ApiRequest, channel_id: UUID) -> HttpResponse:
    """Of a webhook or a status webhook. The secret before it signs too for a day."""
    with locked(request, channel_id) as channel:
        provider, now = provider_of(channel.provider), timezone.now()
        if not provider.revealed:
            raise conflict("This kind of channel has no signing secret.")
        try:
            changes.replace_secret(channel.id, changes.secret_fingerprint(channel), request.auth.user, now)
        except encryption.Unreadable as unreadable:
            raise conflict(str(unreadable)) from None
    channel.refresh_from_db()
    destination = channel.destination()
    result = {
        "secret": destination.secrets[provider.revealed],
        "old_expires_at": written(provider.overlap_ends(destination, now)[0]),
    }
    return secret_answer(result, ETag=versions.etag(channel.version))
