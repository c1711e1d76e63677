"""History: the person's notifications and what happened to them."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Exists, OuterRef, Prefetch, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from common import paging
from notifications.deliveries import withdrawal
from notifications.models import Channel, Delivery, Notification, sort_channels
from people.requests import PersonRequest

_STATE = Delivery.State
# Filters, and the delivery states that each includes.
FILTERS = {
    "delivered": (gettext_lazy("Delivered"), [_STATE.DELIVERED]),
    "open": (gettext_lazy("On its way"), [_STATE.PENDING, _STATE.SENDING]),
    "failed": (gettext_lazy("Failed or unknown"), [_STATE.DEAD, _STATE.UNKNOWN]),
    "dropped": (gettext_lazy("Cancelled or expired"), [_STATE.CANCELLED, _STATE.EXPIRED]),
}


@login_required
@require_safe
def history(request: PersonRequest) -> HttpResponse:
    search, state = request.GET.get("q", "").strip()[:200], request.GET.get("state", "")
    rows = _found(request, search, state).prefetch_related(
        Prefetch("deliveries", Delivery.objects.select_related("channel").order_by("channel_id"))
    )
    context = {
        "page": paging.page(rows, request.GET),
        "search": search,
        "state": state,
        "filters": [(name, label) for name, (label, _) in FILTERS.items()],
        "reminder": _uuid(request.GET.get("reminder", "")),
        "narrowed": bool(search or state in FILTERS or request.GET.get("reminder")),
    }
    return render(request, "notifications/history.html", context)


@login_required
@require_safe
def notification(request: PersonRequest, notification_id: UUID) -> HttpResponse:
    deliveries = Delivery.objects.select_related("channel").prefetch_related("history").order_by("channel_id")
    found = get_object_or_404(
        Notification.objects.for_user(request.user).prefetch_related(Prefetch("deliveries", deliveries)),
        id=notification_id,
    )
    ordered = sort_channels(found.channel_order, Channel.objects.filter(user=request.user, id__in=found.channel_order))
    order = [channel.label for channel in ordered]
    return render(request, "notifications/notification.html", {"notification": found, "order": order})


@login_required
@require_POST
def cancel(request: PersonRequest, notification_id: UUID) -> HttpResponse:
    """Cancel what has not gone out."""
    found = Notification.objects.for_user(request.user).filter(id=notification_id)
    get_object_or_404(found)
    if withdrawal.cancel(found):
        messages.success(request, _("Cancelled. What has not gone out is not sent."))
    else:
        messages.info(request, _("Nothing is waiting any more, so nothing was cancelled."))
    return redirect("notifications:notification", notification_id)


def _found(request: PersonRequest, search: str, state: str) -> QuerySet[Notification]:
    found = Notification.objects.for_user(request.user)
    if state != "failed":
        found = found.exclude(origin=Notification.Origin.STATUS)  # as many as there are changes
    if search:
        # PostgreSQL cannot store or search NUL.
        found = found.filter(subject__icontains=search.replace("\0", ""))
    if state in FILTERS:
        found = found.filter(Exists(Delivery.objects.filter(notification=OuterRef("pk"), state__in=FILTERS[state][1])))
    if reminder := _uuid(request.GET.get("reminder", "")):
        found = found.filter(origin_id=reminder)
    return found


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
