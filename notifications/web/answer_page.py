"""Acknowledge or snooze a notification: signed in, or by the link in a message; and what was done."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from common.admin.base import as_uuid
from common.database import paging
from common.times import dates, snooze
from notifications.deliveries import acknowledge
from notifications.messages.links import ANSWER
from notifications.models import Notification
from notifications.web.signed_link import signed_link_view
from people.access.requests import PersonRequest, person_action, person_page
from people.models import User


@signed_link_view(ANSWER)
def by_link(request: HttpRequest, notification_id: UUID) -> HttpResponse:
    notification = get_object_or_404(Notification.objects.select_related("user"), id=notification_id)
    if timezone.now() > notification.created_at + acknowledge.LINK_LIFE:
        return render(request, "notifications/answer_expired.html", status=410)
    with timezone.override(notification.user.zone):
        if request.method == "POST":
            is_push = request.POST.get("from") == acknowledge.From.PUSH
            _act(request, notification, acknowledge.From.PUSH if is_push else acknowledge.From.LINK)
            return redirect(request.path)
        return render(request, "notifications/answer.html", {"notification": notification})


@person_action
def own(request: PersonRequest, notification_id: UUID) -> HttpResponse:
    notification = get_object_or_404(
        Notification.objects.for_user(request.user).filter(origin__in=Notification.ANSWERABLE), id=notification_id
    )
    is_done = _act(request, notification, acknowledge.From.PAGE)
    if "list" in request.POST:
        inbox = reverse("notifications:inbox")
        return redirect(f"{inbox}?done={notification.id}" if is_done else inbox)
    if (board_id := as_uuid(request.POST.get("board", ""))) is not None:
        return redirect("notifications:board", board_id)
    if "done" in request.POST:
        return redirect("notifications:done")
    return redirect("notifications:notification", notification.id)


@person_page
def done(request: PersonRequest) -> HttpResponse:
    """Messages marked as done, newest first; a message and its repeats once."""
    own = Notification.objects.for_user(request.user).filter(nag_of=None)
    rows = own.filter(acknowledged_at__isnull=False, snoozed_until=None)
    return render(request, "notifications/done.html", {"page": paging.page(rows, request.GET, by="acknowledged_at")})


def _act(request: HttpRequest, notification: Notification, source: acknowledge.From) -> bool:
    """Whether it is done now, and was not before."""
    subject = {"subject": notification.subject}
    answer = request.POST.get("answer", "")
    by = request.user.actor if isinstance(request.user, User) and request.user.is_team else None
    if answer == "acknowledge":
        changed = is_done = acknowledge.acknowledge(notification.id, source, by)
        text = _("“%(subject)s” is done.") % subject
    elif answer == "undo":
        undone, is_done = acknowledge.undo(notification.id), False
        changed, text = undone is not None, _reopened(notification, undone) if undone else ""
    else:
        now, zone = timezone.now(), notification.user.zone
        try:
            until = snooze.until(answer, request.POST.get("until", ""), now, zone)
            changed, is_done = acknowledge.snooze(notification.id, until, source, by), False
        except snooze.InvalidSnooze as error:
            messages.error(request, _("Nothing changed.") + f" {error}")
            return False
        text = _("“%(subject)s” is snoozed until %(until)s.") % {
            **subject,
            "until": dates.short(until.astimezone(zone)),
        }
    if not changed:
        messages.info(request, _("It was already answered. Nothing changed."))
    elif not (is_done and "list" in request.POST):  # the list says it beside its button Undo
        messages.success(request, text)
    return is_done


def _reopened(notification: Notification, undone: acknowledge.Undone) -> str:
    texts = [_("“%(subject)s” is open again.") % {"subject": notification.subject}]
    if undone.again:
        texts.append(_("It is sent to %(channels)s after all.") % {"channels": ", ".join(undone.again)})
    if undone.late:
        texts.append(_("It is too late for %(channels)s.") % {"channels": ", ".join(undone.late)})
    if notification.origin == Notification.Origin.EVENT:
        texts.append(_("If it belongs to an incident, that stays acknowledged."))
    return " ".join(texts)
