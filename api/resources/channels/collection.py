"""List, add, read, change and remove channels."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from ninja import Router

from api.protocol import paging, versions
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, secret_answer
from api.protocol.fields import Search
from api.protocol.idempotency import HEADER
from api.protocol.problems import FieldError, conflict, invalid
from api.resources.channels import body as bodies
from api.resources.channels.body import ChannelPatch, NewChannel
from api.resources.channels.document import ChannelDocument, Kinds, NewChannelDocument, document, kind_document
from notifications import providers
from notifications.channels import changes, verification
from notifications.models import Channel
from people import codes
from people.user_lock import lock_user

router = Router(tags=["channels"], auth=Bearer("channels"))

REFUSALS = (codes.TooSoon, verification.CodeRefused, verification.TooMany)


def own(request: ApiRequest, channel_id: UUID) -> Channel:
    """The caller's channel, at the version of `If-Match`. Raises problems 404 and 412."""
    found = get_object_or_404(Channel.objects.for_user(request.auth.user), id=channel_id)
    if request.method != "GET":
        versions.require(request, changes.fingerprint(found), lambda: document(found))
    return found


@contextmanager
def locked(request: ApiRequest, channel_id: UUID) -> Iterator[Channel]:
    """As `own`, locked in a transaction."""
    with lock_user(request.auth.user):
        Channel.objects.select_for_update(no_key=True).filter(id=channel_id, user=request.auth.user).first()
        yield own(request, channel_id)


def show(channel: Channel, status: int = 200) -> HttpResponse:
    return answer(document(channel), status, ETag=versions.etag(changes.fingerprint(channel)))


@router.get("", response=paging.Page[ChannelDocument], summary="List channels")
def list_channels(
    request: ApiRequest, kind: Search | None = None, cursor: str | None = None, limit: paging.Limit = paging.SIZE
) -> HttpResponse:
    """Newest first, without their secrets."""
    found = Channel.objects.for_user(request.auth.user)
    if kind is not None:
        found = found.filter(provider=kind)
    return paging.answer_page(found, request, cursor, limit, document)


@router.get("/kinds", response=Kinds, summary="List the kinds of channel")
def list_kinds(request: ApiRequest) -> HttpResponse:
    """Each with the fields that a new channel of it takes."""
    return answer({"items": [kind_document(provider) for provider in providers.all()]})


@router.post("", response={201: NewChannelDocument}, summary="Add a channel")
def add_channel(request: ApiRequest, body: NewChannel) -> HttpResponse:
    """Sends a code to it, unless it is yours already. Enter the code with `verify`; until then it gets nothing else."""
    user = request.auth.user
    # The answer to an Idempotency-Key is kept in the transaction of the operation.
    cleaned, label = bodies.cleaned(body, user, visits=HEADER not in request.headers)
    try:
        channel = changes.add(user, body.kind, cleaned, label)
    except changes.SecondInbox:
        raise conflict("You already have an inbox.") from None
    except changes.ChannelRefused as refusal:
        raise conflict(str(refusal)) from None
    except verification.CodeRefused as refusal:
        raise invalid(FieldError("fields", str(refusal), "refused")) from None
    return _new(Channel.objects.get(id=channel.id), 201, to_verify=channel.verified_at is None, reveals=True)


@router.get("/{uuid:channel_id}", response=ChannelDocument, summary="Read a channel")
def read_channel(request: ApiRequest, channel_id: UUID) -> HttpResponse:
    """`ETag` is the version of what you may change."""
    return show(own(request, channel_id))


@router.patch("/{uuid:channel_id}", response=NewChannelDocument, summary="Change a channel")
def change_channel(request: ApiRequest, channel_id: UUID, body: ChannelPatch) -> HttpResponse:
    """Fields that are not given stay as they are. Another address gets a code; its reminders and its history stay."""
    before = own(request, channel_id)
    # Visits the address, which takes time, so outside of the lock.
    after, settings = bodies.changed(body, before, request.auth.user)
    stored = changes.readable_destination(before)
    with locked(request, channel_id) as current:
        if changes.fingerprint(current) != changes.fingerprint(before):
            raise conflict("Somebody has changed it meanwhile. See current.", current=document(current))
        if after is not None:
            try:
                changes.change(current, changes.fingerprint(current), after, settings["label"])
            except verification.CodeRefused as refusal:
                raise invalid(FieldError("fields", str(refusal), "refused")) from None
        changes.change_settings(current, **settings)
    changed = Channel.objects.get(id=channel_id)
    to_verify = changed.verified_at is None and changed.disabled_at is None and changed.link_id != before.link_id
    revealed = bodies.provider_of(changed.provider).revealed
    is_new = after is not None and stored.secrets.get(revealed) != after.secrets.get(revealed)
    return _new(changed, 200, to_verify=to_verify, reveals=is_new)


@router.delete("/{uuid:channel_id}", response={204: None}, summary="Remove a channel")
def remove_channel(request: ApiRequest, channel_id: UUID) -> HttpResponse:
    """Cancels what waits for it and erases its secrets. Its history stays."""
    with locked(request, channel_id) as channel:
        changes.remove(channel)
    return HttpResponse(status=204)


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
    told = document(channel) | {"secret": secret, "code_sent": sent, "detail": detail}
    headers = {"ETag": versions.etag(changes.fingerprint(channel))}
    if status == 201:
        headers["Location"] = reverse("api:read_channel", args=[channel.id])
    return (secret_answer if secret else answer)(told, status, **headers)
