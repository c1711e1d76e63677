"""The unsubscribe link in messages: stop, resume or remove a channel without signing in."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from notifications import providers
from notifications.channels import unsubscribe, verification
from notifications.messages.links import UNSUBSCRIBE
from notifications.models import Channel
from notifications.web.signed_link import signed_link_view

_ACTS = {"stop": unsubscribe.stop, "resume": unsubscribe.resume}


@signed_link_view(UNSUBSCRIBE)
def by_link(request: HttpRequest, link_id: UUID) -> HttpResponse:
    channel_id = _channel_id(link_id)
    if "List-Unsubscribe" in request.POST:
        unsubscribe.stop(channel_id)
    elif act := _ACTS.get(request.POST.get("act", "")):
        act(channel_id)
        return redirect(request.path)
    return _show(request, channel_id, "notifications/unsubscribe.html")


@signed_link_view(UNSUBSCRIBE)
def remove(request: HttpRequest, link_id: UUID) -> HttpResponse:
    channel_id = _channel_id(link_id)
    if request.method == "POST":
        unsubscribe.remove(channel_id)
    if not Channel.objects.filter(id=channel_id, removed_at=None).exists():
        return redirect("notifications:unsubscribe", UNSUBSCRIBE.token(link_id))
    return _show(request, channel_id, "notifications/unsubscribe_remove.html")


def _channel_id(link_id: UUID) -> UUID:
    """The id of the channel whose messages have the link; the link's own id if the channel's row is gone."""
    return Channel.objects.linked(link_id).values_list("id", flat=True).first() or link_id


def _show(request: HttpRequest, channel_id: UUID, template: str) -> HttpResponse:
    """Show the channel, and nothing about its owner."""
    channel = Channel.objects.filter(id=channel_id).first()
    context = {
        "channel": channel,
        "provider": channel and providers.find(channel.provider),
        "status": _status(channel),
        "refusable": channel and verification.can_be_refused(channel.provider),
    }
    return render(request, template, context)


def _status(channel: Channel | None) -> str:
    """The state that the page shows. A missing row was deleted with its person."""
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
