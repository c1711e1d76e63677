"""Change a channel's address or secrets, in its provider's own form."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from notifications import providers
from notifications.channels import changes, verification
from notifications.channels.forms import RenameForm, change_form
from notifications.models import Channel, Delivery, Notification
from notifications.net import address_checks
from notifications.web import channel_check, signing_secret
from people.requests import PersonRequest


@login_required
def change(request: PersonRequest, channel_id: UUID) -> HttpResponse:
    channel = get_object_or_404(Channel.objects.for_user(request.user), id=channel_id)
    try:
        provider = providers.get(channel.provider)
    except providers.UnknownProvider as error:
        raise Http404(str(error)) from None
    if provider.from_browser or not provider.form.base_fields:
        return redirect("notifications:channel", channel.id)
    posted = request.POST if request.method == "POST" else None
    stored = changes.readable_destination(channel)
    details = change_form(posted, provider, stored)
    label = RenameForm(posted, initial={"label": channel.label})
    if posted is not None and address_checks.are_valid(request.user.pk, details, label):
        after = provider.update(stored, details.cleaned_data)
        try:
            changed = changes.change(channel, request.POST.get("read", ""), after, label.cleaned_data["label"])
        except changes.Conflict:
            messages.error(
                request,
                _("Somebody changed this channel in the meantime, so nothing was saved. These are the current values."),
            )
            return redirect("notifications:channel-change", channel.id)
        except verification.Refused as refusal:
            details.add_error(None, str(refusal))
        else:
            new_secret = stored.secrets.get(provider.revealed) != after.secrets.get(provider.revealed)
            return _redirect(request, channel, changed, new_secret)
    pending = Delivery.objects.filter(channel=channel, state=Delivery.State.PENDING)
    context = {
        "channel": channel,
        "provider": provider,
        "details": details,
        "label": label,
        "read": changes.fingerprint(channel),
        "unreadable": channel.unreadable,
        "pending": pending.exclude(notification__origin__in=Notification.OF_CHANNELS).count(),
    }
    return render(request, "notifications/channel_change.html", context)


def _redirect(request: PersonRequest, before: Channel, after: Channel, new_secret: bool) -> HttpResponse:
    """To the new secret, to the code form if a code is needed, or back to the list."""
    to_verify = after.verified_at is None and after.disabled_at is None
    if to_verify and before.link_id != after.link_id:
        channel_check.send_code(request, after)
    else:
        messages.success(request, _("“%(label)s” is changed.") % {"label": after.label})
    if new_secret:
        return signing_secret.to_page(request, after)
    if to_verify:
        return redirect("notifications:channel-verify", after.id)
    return redirect(f"{reverse('notifications:channels')}#channel-{after.id}")
