"""A person's own dead letter: sent again, or given up. What they did is kept, as an operator's act is."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from notifications import dead_letters
from notifications.dead_letters import Who
from notifications.models import Delivery, Notification
from people.requests import PersonRequest

_WHICH = "their own, on its page"


@login_required
@require_POST
def send_again(request: PersonRequest, delivery_id: UUID) -> HttpResponse:
    letter = _own(request, delivery_id)
    if hindrance := _hindrance(letter):
        messages.error(request, f"Nothing was sent. {hindrance}")
    elif dead_letters.replay(_rows(letter), _WHICH, _who(request), cause=letter.cause).changed:
        messages.success(request, f"It is sent again to “{letter.channel.label}”.")
    else:
        messages.info(request, "It does not wait for you any more; nothing has changed.")
    return _back(letter)


@login_required
@require_POST
def discard(request: PersonRequest, delivery_id: UUID) -> HttpResponse:
    letter = _own(request, delivery_id)
    reason = "its owner does not need it any more."
    if dead_letters.discard(_rows(letter), _WHICH, _who(request), reason, cause=letter.cause).changed:
        messages.success(request, "It is discarded: nothing more is sent.")
    else:
        messages.info(request, "It does not wait for you any more; nothing has changed.")
    return _back(letter)


def _own(request: PersonRequest, delivery_id: UUID) -> Delivery:
    own = Delivery.objects.for_user(request.user).select_related("channel", "notification")
    return get_object_or_404(own, id=delivery_id)


def _rows(letter: Delivery) -> QuerySet[Delivery]:
    return Delivery.objects.filter(pk=letter.pk)


def _who(request: PersonRequest) -> Who:
    return Who(request.user.pk, request.user.email)


def _hindrance(letter: Delivery) -> str:
    """Why it is not to go out, or would die again at once, and what to do about it; empty where it may arrive."""
    channel = letter.channel
    if letter.notification.origin in Notification.OF_CHANNELS:  # they are counted where they are asked for
        return "This was a test: send a new one from the list of channels."
    if channel.removed_at:
        return f"“{channel.label}” was removed: add it again, and new messages go there."
    if channel.disabled_at:
        return f"“{channel.label}” is disabled: enable it first, on its page."
    if channel.verified_at is None:
        return f"“{channel.label}” has not been verified: enter its code first, on its page."
    return ""


def _back(letter: Delivery) -> HttpResponse:
    page = reverse("notifications:notification", args=[letter.notification_id])
    return redirect(f"{page}#delivery-{letter.id}")
