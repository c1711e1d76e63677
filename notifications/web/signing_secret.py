"""The secret that Carillon made for a channel: shown once, and replaced."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from common import encryption
from notifications import providers
from notifications.channels import signing_secret
from notifications.models import Channel
from people.requests import PersonRequest

# The session's key for the channel whose secret is about to be shown: its id, never the secret.
_TO_REVEAL = "channel_to_reveal"


def to_page(request: PersonRequest, channel: Channel) -> HttpResponse:
    """Lead to the page that shows the newest secret of `channel`, once."""
    request.session[_TO_REVEAL] = str(channel.id)
    return redirect("notifications:channel-secret", channel.id)


@login_required
@require_safe
def show(request: PersonRequest, channel_id: UUID) -> HttpResponse:
    """The secret that was just made, this once; afterwards the page says that it is gone."""
    channel = get_object_or_404(Channel.objects.for_user(request.user), id=channel_id)
    provider = providers.get(channel.provider)
    fresh = request.session.get(_TO_REVEAL) == str(channel.id)
    if fresh:
        del request.session[_TO_REVEAL]
    context = {"channel": channel, "revealed": provider.revealed}
    if provider.revealed and not channel.unreadable:
        destination = channel.destination()
        context["secret"] = destination.secrets[provider.revealed] if fresh else ""
        context["overlaps"] = provider.overlap_ends(destination, timezone.now())
    return render(request, "notifications/channel_secret.html", context)


@login_required
def replace(request: PersonRequest, channel_id: UUID) -> HttpResponse:
    """Ask first; a form that was sent twice replaces one secret once."""
    channel = get_object_or_404(Channel.objects.for_user(request.user), id=channel_id)
    provider = providers.get(channel.provider)
    if not provider.revealed:
        return redirect("notifications:channel", channel.id)
    if request.method == "POST":
        try:
            if signing_secret.replace(channel.id, request.POST.get("replaces", ""), request.user, timezone.now()):
                return to_page(request, channel)
            messages.info(request, "The secret had been replaced before; this time nothing was.")
            return redirect("notifications:channel-secret", channel.id)
        except (signing_secret.TooMany, encryption.Unreadable) as refusal:
            messages.error(request, str(refusal))
            return redirect("notifications:channel", channel.id)
    hours = provider.overlap // timedelta(hours=1)
    context = {"channel": channel, "replaces": signing_secret.mark(channel), "hours": hours}
    return render(request, "notifications/channel_secret_new.html", context)
