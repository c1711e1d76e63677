"""Acknowledge or snooze: on one's own pages, or signed out by the link in a message.

A GET only shows what can be done: programs that look at the links in mails must not answer for a person.
"""

from __future__ import annotations

from datetime import datetime, time, timedelta
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from common import civil_time, zones
from notifications import acknowledge
from notifications.links import ANSWER
from notifications.models import Notification
from notifications.web.signed_page import holder_of
from people.models import User
from people.requests import PersonRequest

MORNING = time(8)
_LENGTHS = {"10-minutes": timedelta(minutes=10), "1-hour": timedelta(hours=1)}


@holder_of(ANSWER)
def by_link(request: HttpRequest, notification_id: UUID) -> HttpResponse:
    """For whoever has the message; the link is good for one notification and a limited time."""
    found = get_object_or_404(Notification.objects.select_related("user"), id=notification_id)
    if timezone.now() > found.created_at + acknowledge.LINK_LIFE:
        return render(request, "notifications/answer_expired.html", status=410)
    with timezone.override(zones.read(found.user.time_zone)):
        if request.method == "POST":
            _act(request, found, timezone.now())
            return redirect(request.path)
        return render(request, "notifications/answer.html", {"notification": found})


@login_required
@require_POST
def own(request: PersonRequest, notification_id: UUID) -> HttpResponse:
    found = get_object_or_404(
        Notification.objects.for_user(request.user).filter(origin=Notification.Origin.SCHEDULE), id=notification_id
    )
    _act(request, found, timezone.now())
    return redirect("notifications:notification", found.id)


def _act(request: HttpRequest, found: Notification, now: datetime) -> None:
    answer = request.POST.get("answer", "")
    if answer == "acknowledge":
        done, said = acknowledge.acknowledge(found.id), f"“{found.subject}” is acknowledged."
    elif answer in _LENGTHS or answer == "tomorrow":
        until = now + _LENGTHS[answer] if answer in _LENGTHS else _tomorrow(now, found.user)
        done = acknowledge.snooze(found.id, until)
        said = f"“{found.subject}” comes again {until.astimezone(zones.read(found.user.time_zone)):%a %-d %b, %H:%M}."
    else:
        messages.error(request, "Nothing was done: choose one of the buttons.")
        return
    if done:
        messages.success(request, said)
    else:
        messages.info(request, "It had been answered before; nothing has changed.")


def _tomorrow(now: datetime, person: User) -> datetime:
    """The next day's morning on the person's clock."""
    zone = zones.read(person.time_zone)
    day = civil_time.local(zone, now).date() + timedelta(days=1)
    return civil_time.first_instant(zone, datetime.combine(day, MORNING))
