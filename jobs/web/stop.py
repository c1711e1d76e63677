"""Stop the announcements of which a notification is one, by a button or by the link in each message, and undo it.

A GET of the link changes nothing, because programs open the links in emails. Mail services post there for their
one-click button (RFC 8058).
"""

from uuid import UUID

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from jobs.batches import withdrawal
from notifications.messages.links import STOP
from notifications.models import Notification
from notifications.web.signed_link import signed_link_view
from people.access.requests import PersonRequest, person_action

_ACTS = {"stop": withdrawal.leave, "resume": withdrawal.come_back}


@person_action
def by_button(request: PersonRequest, announcement_id: UUID) -> HttpResponse:
    announcement = get_object_or_404(_announcements(), id=announcement_id, user=request.user)
    act = request.POST.get("act", "")
    _do(announcement, act)
    if act == "resume":
        messages.success(request, _("You get these announcements again, from the next one on."))
    elif act == "stop":
        messages.success(request, _("These announcements are stopped. Waiting messages are cancelled."))
    return redirect("notifications:notification", announcement.id)


@signed_link_view(STOP)
def by_link(request: HttpRequest, announcement_id: UUID) -> HttpResponse:
    """It shows nothing about who was told."""
    announcement = _announcements().filter(id=announcement_id).first()
    if announcement is None or announcement.origin_id is None:
        raise Http404
    if request.method == "POST":
        if "List-Unsubscribe" not in request.POST:
            _do(announcement, request.POST.get("act", ""))
            return redirect(request.path)
        _do(announcement, "stop")
    has_left = withdrawal.has_left(announcement.user_id, announcement.origin_id)
    context = {"title": announcement.subject, "has_left": has_left}
    return render(request, "jobs/stop.html", context)


def _announcements() -> QuerySet[Notification]:
    return Notification.objects.filter(origin=Notification.Origin.ANNOUNCEMENT, origin_id__isnull=False)


def _do(notification: Notification, act: str) -> None:
    if act in _ACTS and notification.origin_id is not None:
        _ACTS[act](notification.user_id, notification.origin_id)
