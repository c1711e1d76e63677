"""The batches that one has caused: how far each has come, cancel it, replay what failed; and stop those of others."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from common.admin.base import as_uuid
from common.database import paging
from common.redis.request_limiter import limit_page
from common.texts.numbers import grouped
from jobs.batches import audiences, progress as batches, withdrawal
from jobs.batches.audiences import Chosen
from jobs.models import Batch
from notifications.messages.links import STOP
from notifications.models import Notification
from notifications.web.signed_link import signed_link_view
from people.access.requests import PersonRequest, person_action, person_page
from people.models import User
from work.dead_letters import Who


@person_page
def batch_list(request: PersonRequest) -> HttpResponse:
    """All, or with `?of=<id>` those of one reminder or topic."""
    rows = Batch.objects.for_user(request.user).with_counts().select_related("user")
    origin = as_uuid(request.GET.get("of", ""))
    page = paging.page(rows if origin is None else rows.filter(origin_id=origin), request.GET)
    names = audiences.named(request.user)
    context = {"page": page, "rows": [_told(row, names) for row in page.rows], "narrowed": origin is not None}
    return render(request, "jobs/batch_list.html", context)


@person_page
def batch(request: PersonRequest, batch_id: UUID) -> HttpResponse:
    batches.count_again(_own(request.user, batch_id))
    return render(request, "jobs/batch.html", _context(request, batch_id))


@person_page
def progress(request: PersonRequest, batch_id: UUID) -> HttpResponse:
    """The part of the page that asks for itself while something waits."""
    return limit_page(
        f"progress:{request.user.pk}", lambda: render(request, "jobs/_progress.html", _context(request, batch_id))
    )


@person_action
def cancel(request: PersonRequest, batch_id: UUID) -> HttpResponse:
    batch = _own(request.user, batch_id)
    if batches.shown(batch).pending or batches.ended_at(batch) is None:
        withdrawal.cancel(batch)
        messages.success(request, _("Cancelled. Messages that have not gone out are not sent."))
    else:
        messages.info(request, _("Nothing is waiting any more, so nothing was cancelled."))
    return redirect("jobs:batch", batch.id)


@person_action
def replay(request: PersonRequest, batch_id: UUID) -> HttpResponse:
    batch = _own(request.user, batch_id)
    if batches.hides_deliveries(batch):
        messages.error(request, _("Only staff can replay what failed for others."))
    elif count := batches.replay(batch, Who.of(request.user)):
        messages.success(request, _("Doing %(count)s again, oldest first.") % {"count": grouped(count)})
    else:
        messages.info(
            request, _("Nothing can be done again: nothing failed, or it is too old, or its channel is gone.")
        )
    return redirect("jobs:batch", batch.id)


def _own(user: User, batch_id: UUID) -> Batch:
    return Batch.objects.with_counts().select_related("user").own(user, id=batch_id)


def _context(request: PersonRequest, batch_id: UUID) -> dict[str, Any]:
    return _told(_own(request.user, batch_id), audiences.named(request.user))


def _told(batch: Batch, names: dict[Chosen, str]) -> dict[str, Any]:
    return {
        "is_announcement": batch.origin == Notification.Origin.ANNOUNCEMENT,
        "batch": batch,
        "progress": batches.shown(batch),
        "audience": audiences.name_of(names, batch.audience, batch.audience_key),
        "ended_at": batches.ended_at(batch),
        "hides_deliveries": batches.hides_deliveries(batch),
    }


_ACTS = {"stop": withdrawal.leave, "resume": withdrawal.come_back}


@person_action
def stop_by_button(request: PersonRequest, announcement_id: UUID) -> HttpResponse:
    announcement = get_object_or_404(_announcements(), id=announcement_id, user=request.user)
    act = request.POST.get("act", "")
    _do(announcement, act)
    if act == "resume":
        messages.success(request, _("You get these announcements again, from the next one on."))
    elif act == "stop":
        messages.success(request, _("These announcements are stopped. Waiting messages are cancelled."))
    return redirect("notifications:notification", announcement.id)


@signed_link_view(STOP)
def stop_by_link(request: HttpRequest, announcement_id: UUID) -> HttpResponse:
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
    return render(request, "jobs/stop.html", {"title": announcement.subject, "has_left": has_left})


def _announcements() -> QuerySet[Notification]:
    return Notification.objects.filter(origin=Notification.Origin.ANNOUNCEMENT, origin_id__isnull=False)


def _do(notification: Notification, act: str) -> None:
    if act in _ACTS and notification.origin_id is not None:
        _ACTS[act](notification.user_id, notification.origin_id)
