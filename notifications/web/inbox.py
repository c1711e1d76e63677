"""The inbox: messages delivered to the person's own page."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from common import paging
from notifications.links import LEAVE
from notifications.models import Delivery, Notification
from people.requests import PersonRequest


@login_required
@require_safe
def inbox(request: PersonRequest) -> HttpResponse:
    search, unread_only = request.GET.get("q", "").strip()[:200], "unread" in request.GET
    rows = Delivery.objects.inbox(request.user).select_related("notification")
    if search:
        rows = rows.filter(notification__subject__icontains=search.replace("\0", ""))
    if unread_only:
        rows = rows.filter(read_at=None)
    context = {
        # by arrival, because a snoozed message arrives later than it was recorded
        "page": paging.page(rows, request.GET, by="settled_at"),
        "search": search,
        "unread_only": unread_only,
        "narrowed": bool(search or unread_only),
    }
    return render(request, "notifications/inbox.html", context)


@login_required
@require_safe
def message(request: PersonRequest, delivery_id: UUID) -> HttpResponse:
    """One message; opening it marks it as read."""
    found = get_object_or_404(Delivery.objects.inbox(request.user).select_related("notification"), id=delivery_id)
    if found.read_at is None:
        Delivery.objects.filter(id=found.id).mark_read(timezone.now())
    subscription_id = found.notification.origin_id if found.notification.origin == Notification.Origin.TOPIC else None
    leave = LEAVE.token(subscription_id) if subscription_id else ""
    return render(request, "notifications/message.html", {"delivery": found, "leave": leave})


@login_required
@require_POST
def read_all(request: PersonRequest) -> HttpResponse:
    count = Delivery.objects.inbox(request.user).mark_read(timezone.now())
    said = ngettext("One message marked as read.", "%(count)s messages marked as read.", count)
    messages.success(request, said % {"count": count})
    return redirect("notifications:inbox")
