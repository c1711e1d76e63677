"""A channel that its own answers have disabled, enabled again by its owner."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from notifications.channels import lifecycle
from notifications.models import Channel
from people.requests import PersonRequest


@login_required
@require_POST
def enable(request: PersonRequest, channel_id: UUID) -> HttpResponse:
    channel = get_object_or_404(Channel.objects.for_user(request.user), id=channel_id)
    if lifecycle.try_anew(channel):
        messages.success(request, f"“{channel.label}” is enabled. Send a test to see whether it arrives.")
    return redirect("notifications:channel", channel.id)
