"""End what goes to a channel, signed out, by the link in its messages.

A GET only shows what can be done, for programs look at the links in mails. A mail service that offers its own button
posts here on its reader's behalf (RFC 8058).
"""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from notifications import providers
from notifications.channels import unsubscribe, verification
from notifications.links import UNSUBSCRIBE
from notifications.models import Channel
from notifications.web.signed_page import holder_of

_ACTS = {"stop": unsubscribe.stop, "resume": unsubscribe.resume}


@holder_of(UNSUBSCRIBE)
def by_link(request: HttpRequest, link_id: UUID) -> HttpResponse:
    channel_id = _named(link_id)
    if "List-Unsubscribe" in request.POST:
        unsubscribe.stop(channel_id)
    elif act := _ACTS.get(request.POST.get("act", "")):
        act(channel_id)
        return redirect(request.path)
    return _show(request, channel_id, "notifications/unsubscribe.html")


@holder_of(UNSUBSCRIBE)
def remove(request: HttpRequest, link_id: UUID) -> HttpResponse:
    channel_id = _named(link_id)
    if request.method == "POST":
        unsubscribe.remove(channel_id)
    found = Channel.objects.filter(id=channel_id, removed_at=None).exists()
    if not found:
        return redirect("notifications:unsubscribe", UNSUBSCRIBE.token(link_id))
    return _show(request, channel_id, "notifications/unsubscribe_remove.html")


def _named(link_id: UUID) -> UUID:
    """The id of the channel whose messages carry the link; one that went with its person is looked for in vain."""
    return Channel.objects.linked(link_id).values_list("id", flat=True).first() or link_id


def _show(request: HttpRequest, channel_id: UUID, template: str) -> HttpResponse:
    """Whoever holds the link reads what is sent there: of its owner they learn nothing."""
    channel = Channel.objects.filter(id=channel_id).first()
    context = {
        "channel": channel,
        "provider": channel and providers.find(channel.provider),
        "standing": _standing(channel),
        "refusable": channel and verification.can_be_refused(channel.provider),
    }
    return render(request, template, context)


def _standing(channel: Channel | None) -> str:
    """How the page tells it. A row that is gone altogether went with its person."""
    if channel is None:
        return "removed"
    if channel.verified_at is None and channel.unsubscribed_at is None:
        return "unverified"
    if channel.removed_at is not None:
        unproven = channel.verified_at is None and verification.can_be_refused(channel.provider)
        return "refused" if unproven else "removed"
    if channel.unsubscribed_at is not None:
        return "stopped"
    return "in use" if channel.disabled_at is None or channel.is_owners_to_enable else "disabled"
