"""Verify a channel: send a code and check it."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from notifications import providers
from notifications.channels import verification
from notifications.channels.forms import CodeForm
from notifications.models import Channel
from people import codes
from people.requests import PersonRequest


@login_required
def verify(request: PersonRequest, channel_id: UUID) -> HttpResponse:
    channel = get_object_or_404(Channel.objects.for_user(request.user), id=channel_id)
    listed = f"{reverse('notifications:channels')}#channel-{channel.id}"
    if channel.verified_at is not None:
        return redirect(listed)
    form = CodeForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            if verification.confirm(channel, form.cleaned_data["code"], timezone.now()):
                messages.success(request, f"“{channel.label}” is ready. Your reminders can use it.")
                return redirect(listed)
            form.add_error("code", "This is not the latest code. Check the newest message.")
        except codes.Spent as spent:
            form.add_error("code", str(spent))
    context = {"channel": channel, "provider": providers.find(channel.provider), "form": form}
    return render(request, "notifications/channel_verify.html", context)


@login_required
@require_POST
def send_code(request: PersonRequest, channel_id: UUID) -> HttpResponse:
    channel = get_object_or_404(Channel.objects.for_user(request.user), id=channel_id)
    if channel.verified_at is None:
        send(request, channel)
    return redirect("notifications:channel-verify", channel.id)


def send(request: PersonRequest, channel: Channel) -> None:
    """Send a code, and show whether it was sent."""
    try:
        verification.send_code(channel, timezone.now())
        messages.success(request, f"A code is on its way to “{channel.label}”.")
    except (codes.TooSoon, verification.Refused, verification.TooMany) as refusal:
        messages.error(request, str(refusal))
