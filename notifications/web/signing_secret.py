"""The signing secret of a channel: show it once, replace it."""

from datetime import timedelta
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from common.database import encryption
from notifications import providers
from notifications.channels import changes
from notifications.models import Channel
from people.access.requests import PersonRequest, person_form, person_page

# Session key: the id of the channel whose secret the next page shows. The session never holds the secret.
_TO_REVEAL = "channel_to_reveal"


def to_page(request: PersonRequest, channel: Channel) -> HttpResponse:
    """Redirect to the page that shows the channel's newest secret once."""
    request.session[_TO_REVEAL] = str(channel.id)
    return redirect("notifications:channel-secret", channel.id)


@person_page
def show(request: PersonRequest, channel_id: UUID) -> HttpResponse:
    """Show the new secret once; afterwards the page says that it cannot be shown again."""
    channel = Channel.objects.own(request.user, id=channel_id)
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


@person_form
def replace(request: PersonRequest, channel_id: UUID) -> HttpResponse:
    """Confirm first; a form that is sent twice replaces the secret once."""
    channel = Channel.objects.own(request.user, id=channel_id)
    provider = providers.get(channel.provider)
    if not provider.revealed:
        return redirect("notifications:channel", channel.id)
    if request.method == "POST":
        try:
            if changes.replace_secret(channel.id, request.POST.get("replaces", ""), request.user, timezone.now()):
                return to_page(request, channel)
            messages.info(request, _("The secret was already replaced. Nothing changed this time."))
            return redirect("notifications:channel-secret", channel.id)
        except (changes.ChannelRefused, encryption.Unreadable) as refusal:
            messages.error(request, str(refusal))
            return redirect("notifications:channel", channel.id)
    hours = provider.overlap // timedelta(hours=1)
    context = {"channel": channel, "replaces": changes.secret_fingerprint(channel), "hours": hours}
    return render(request, "notifications/channel_secret_new.html", context)
