"""The inbox: messages delivered to the person's own page."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext

from common.admin.base import as_uuid
from common.database import paging
from common.redis import live_wakes
from notifications.deliveries.members import name_teams
from notifications.messages.links import LEAVE
from notifications.models import Delivery, Notification
from people.access.requests import PersonRequest, person_action, person_page


@person_page
def inbox(request: PersonRequest) -> HttpResponse:
    search, unread_only = request.GET.get("q", "").strip()[:200].replace("\0", ""), "unread" in request.GET
    is_archive = "archived" in request.GET
    among = Delivery.objects.listed(request.user, archived=is_archive, unread=unread_only or None)
    rows = among.filter(notification__subject__icontains=search) if search else among
    done_id, mine = as_uuid(request.GET.get("done", "")), Notification.objects.for_user(request.user)
    # by arrival, because a snoozed message arrives later than it was recorded
    page = paging.page(rows, request.GET, by="settled_at", among=among if search else None)
    name_teams(one.notification for one in page.rows)
    context = {
        "page": page,
        "search": search,
        "unread_only": unread_only,
        "is_archive": is_archive,
        # So that the filter is there though the list is empty; asked by the template only then.
        "has_archived": lambda: Delivery.objects.listed(request.user, archived=True).exists(),
        "narrowed": bool(search or unread_only or is_archive),
        # With a button that undoes it.
        "done": done_id and mine.filter(id=done_id, acknowledged_at__isnull=False).first(),
    }
    return render(request, "notifications/inbox.html", context)


@person_page
def message(request: PersonRequest, delivery_id: UUID) -> HttpResponse:
    """One message; opening it marks it as read."""
    delivery = Delivery.objects.arrived().select_related("notification").own(request.user, id=delivery_id)
    if delivery.read_at is None:
        Delivery.objects.filter(id=delivery.id).mark_read(timezone.now())
        live_wakes.wake(request.user.pk)
    subscription_id = (
        delivery.notification.origin_id if delivery.notification.origin == Notification.Origin.TOPIC else None
    )
    name_teams([delivery.notification])
    leave = LEAVE.token(subscription_id) if subscription_id else ""
    return render(request, "notifications/message.html", {"delivery": delivery, "leave": leave})


@person_action
def archive(request: PersonRequest, delivery_id: UUID) -> HttpResponse:
    """Take a message out of the list, or with `back` put it there again."""
    chosen = Delivery.objects.inbox(request.user).filter(id=delivery_id)
    delivery = get_object_or_404(chosen.select_related("notification"))
    title = {"title": delivery.notification.subject}
    if "back" in request.POST:
        chosen.put_back()
        messages.success(request, _("“%(title)s” is in your inbox again.") % title)
        return redirect("notifications:inbox")
    chosen.archive(timezone.now())
    messages.success(request, _("“%(title)s” is archived. You find it under “Archived”.") % title)
    return redirect("notifications:inbox")


@person_action
def read_all(request: PersonRequest) -> HttpResponse:
    count = Delivery.objects.inbox(request.user).mark_read(timezone.now())
    text = ngettext("One message marked as read.", "%(count)s messages marked as read.", count)
    messages.success(request, text % {"count": count})
    return redirect("notifications:inbox")
