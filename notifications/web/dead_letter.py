"""Send one's own dead letter again or as new, discard it, or mark it as fixed; recorded like an operator's act."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from notifications import dead_letters as own_letters
from notifications.models import Delivery
from people.requests import PersonRequest
from work import dead_letters
from work.dead_letters import Who
from work.models import Intervention

_WHICH = "own dead letter"


@login_required
@require_POST
def send_again(request: PersonRequest, delivery_id: UUID) -> HttpResponse:
    letter = _own(request, delivery_id)
    if obstacle := own_letters.obstacle(letter):
        messages.error(request, f"Nothing was sent. {obstacle}")
    elif dead_letters.replay(_rows(letter), _WHICH, _who(request), cause=letter.cause).changed:
        messages.success(request, f"Sending again to “{letter.channel.label}”.")
    else:
        messages.info(request, "It is no longer a dead letter. Nothing changed.")
    return _back(letter)


@login_required
@require_POST
def send_as_new(request: PersonRequest, delivery_id: UUID) -> HttpResponse:
    letter = _own(request, delivery_id)
    if obstacle := own_letters.obstacle(letter):
        messages.error(request, f"Nothing was sent. {obstacle}")
    elif own_letters.send_as_new(_rows(letter), _WHICH, _who(request), cause=letter.cause).changed:
        messages.success(request, f"Sent as new to “{letter.channel.label}”. Your history shows it.")
    else:
        messages.info(request, "It is no longer a dead letter. Nothing changed.")
    return _back(letter)


@login_required
@require_POST
def fixed(request: PersonRequest, delivery_id: UUID) -> HttpResponse:
    letter, fixed = _own(request, delivery_id), Intervention.What.FIXED
    note = " ".join(request.POST.get("note", "").replace("\0", "").split())[:300] or "its owner says so."
    if dead_letters.discard(_rows(letter), _WHICH, _who(request), note, cause=letter.cause, what=fixed).changed:
        messages.success(request, "Marked as fixed. Nothing more is sent.")
    else:
        messages.info(request, "It is no longer a dead letter. Nothing changed.")
    return _back(letter)


@login_required
@require_POST
def discard(request: PersonRequest, delivery_id: UUID) -> HttpResponse:
    letter = _own(request, delivery_id)
    reason = "its owner does not need it any more."
    if dead_letters.discard(_rows(letter), _WHICH, _who(request), reason, cause=letter.cause).changed:
        messages.success(request, "Discarded. Nothing more is sent.")
    else:
        messages.info(request, "It is no longer a dead letter. Nothing changed.")
    return _back(letter)


def _own(request: PersonRequest, delivery_id: UUID) -> Delivery:
    own = Delivery.objects.for_user(request.user).select_related("channel", "notification")
    return get_object_or_404(own, id=delivery_id)


def _rows(letter: Delivery) -> QuerySet[Delivery]:
    return Delivery.objects.filter(pk=letter.pk)


def _who(request: PersonRequest) -> Who:
    return Who(request.user.pk, request.user.email)


def _back(letter: Delivery) -> HttpResponse:
    page = reverse("notifications:notification", args=[letter.notification_id])
    return redirect(f"{page}#delivery-{letter.id}")
