"""Send a test message to a channel and show its result."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from notifications.channels import changes, verification
from notifications.models import Channel, Delivery
from people.requests import PersonRequest

# The page stops polling after this many seconds.
_POLLED = 120.0


@login_required
@require_POST
def send(request: PersonRequest, channel_id: UUID) -> HttpResponse:
    channel = get_object_or_404(Channel.objects.for_user(request.user), id=channel_id)
    if channel.verified_at is None:  # it may only receive a code
        return redirect("notifications:channel-verify", channel.id)
    try:
        delivery_id = changes.send_test(channel, timezone.now())
    except verification.TooMany as refusal:
        if request.htmx:
            return render(request, "notifications/_test_refused.html", {"refusal": refusal})
        messages.error(request, str(refusal))
        return redirect("notifications:channels")
    if request.htmx:
        return _result(request, delivery_id)
    messages.info(request, "The test is on its way. Reload this page to see the result.")
    return redirect("notifications:notification", Delivery.objects.get(id=delivery_id).notification_id)


@login_required
@require_safe
def result(request: PersonRequest, delivery_id: UUID) -> HttpResponse:
    return _result(request, delivery_id)


def _result(request: PersonRequest, delivery_id: UUID) -> HttpResponse:
    delivery = get_object_or_404(Delivery.objects.for_user(request.user), id=delivery_id)
    age = (timezone.now() - delivery.created_at).total_seconds()
    context = {
        "delivery": delivery,
        "poll": delivery.state in Delivery.OPEN and age < _POLLED,
        "no_worker": delivery.state == Delivery.State.PENDING and delivery.tries == 0 and age > 10,
    }
    return render(request, "notifications/_test_result.html", context)
