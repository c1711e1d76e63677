"""Acknowledge or snooze a notification: signed in, or by the link in a message.

A GET changes nothing, because programs open the links in emails.
"""

from datetime import datetime, time, timedelta
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from common.times import civil_time, dates
from notifications.deliveries import acknowledge
from notifications.messages.links import ANSWER
from notifications.models import Notification
from notifications.web.signed_link import signed_link_view
from people.access.requests import PersonRequest, person_action
from people.models import User

MORNING = time(8)
_LENGTHS = {"10-minutes": timedelta(minutes=10), "1-hour": timedelta(hours=1)}


@signed_link_view(ANSWER)
def by_link(request: HttpRequest, notification_id: UUID) -> HttpResponse:
    """Answer one notification by its link, for a limited time."""
    notification = get_object_or_404(Notification.objects.select_related("user"), id=notification_id)
    if timezone.now() > notification.created_at + acknowledge.LINK_LIFE:
        return render(request, "notifications/answer_expired.html", status=410)
    with timezone.override(notification.user.zone):
        if request.method == "POST":
            _act(request, notification, timezone.now())
            return redirect(request.path)
        return render(request, "notifications/answer.html", {"notification": notification})


@person_action
def own(request: PersonRequest, notification_id: UUID) -> HttpResponse:
    notification = get_object_or_404(
        Notification.objects.for_user(request.user).filter(origin__in=Notification.ANSWERABLE), id=notification_id
    )
    _act(request, notification, timezone.now())
    if "list" in request.POST:
        return redirect("notifications:inbox")
    return redirect("notifications:notification", notification.id)


def _act(request: HttpRequest, notification: Notification, now: datetime) -> None:
    if (answer := request.POST.get("answer", "")) == "acknowledge":
        done, text = (
            acknowledge.acknowledge(notification.id),
            _("“%(subject)s” is done.") % {"subject": notification.subject},
        )
    elif answer in _LENGTHS or answer == "tomorrow":
        until = now + _LENGTHS[answer] if answer in _LENGTHS else _tomorrow(now, notification.user)
        done = acknowledge.snooze(notification.id, until)
        text = _("“%(subject)s” is snoozed until %(until)s.") % {
            "subject": notification.subject,
            "until": dates.short(until.astimezone(notification.user.zone)),
        }
    else:
        messages.error(request, _("Nothing changed. Choose one of the buttons."))
        return
    if done:
        messages.success(request, text)
    else:
        messages.info(request, _("It was already answered. Nothing changed."))


def _tomorrow(now: datetime, person: User) -> datetime:
    """08:00 on the next day in the person's zone."""
    zone = person.zone
    day = civil_time.local(zone, now).date() + timedelta(days=1)
    return civil_time.first_instant(zone, datetime.combine(day, MORNING))
