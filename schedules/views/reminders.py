"""Reminders, as their owners call schedules: the list and one in full."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import F, Prefetch, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from notifications.models import Delivery, Notification
from people.requests import PersonRequest
from schedules import firing
from schedules.models import Schedule
from schedules.recurrence import InvalidRule

PAGE = 25
_SHOWN = 10


@login_required
@require_safe
def reminder_list(request: PersonRequest) -> HttpResponse:
    search, state = request.GET.get("q", "").strip()[:200].replace("\0", ""), request.GET.get("state", "")
    found = Schedule.objects.for_user(request.user)
    if search:
        found = found.filter(Q(title__icontains=search) | Q(body__icontains=search))
    if state in Schedule.State.values:
        found = found.filter(state=state)
    # What comes next stands first; what never comes again, newest first.
    rows = found.order_by(F("next_fire_at").asc(nulls_last=True), "-id").prefetch_related("channels")
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "search": search,
        "state": state,
        "states": Schedule.State.choices,
        "narrowed": bool(search or state in Schedule.State.values),
        "deleted": _just_deleted(request),
    }
    return render(request, "schedules/list.html", context)


@login_required
@require_safe
def detail(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    schedule = get_object_or_404(Schedule.objects.for_user(request.user), id=schedule_id)
    context = {
        "schedule": schedule,
        "channels": schedule.channels.filter(removed_at=None),
        "upcoming": _upcoming(schedule),
        "past": _past(request, schedule),
    }
    return render(request, "schedules/detail.html", context)


def _upcoming(schedule: Schedule) -> list[dict[str, object]]:
    if schedule.next_fire_at is None:
        return []
    try:
        timetable = schedule.timetable()
    except InvalidRule:
        return []
    left = 5 if schedule.max_count is None else min(5, schedule.max_count - schedule.fired_count)
    slots = timetable.upcoming(firing.read_clock().now, left)
    return [{"slot": slot, "note": timetable.rule.explain(slot)} for slot in slots]


def _past(request: PersonRequest, schedule: Schedule) -> list[dict[str, object]]:
    """The last occurrences, newest first, each with the notification that it caused."""
    occurrences = list(schedule.occurrences.order_by("-scheduled_for")[:_SHOWN])
    caused = Notification.objects.for_user(request.user).filter(batch_id__in=[batch.id for batch in occurrences])
    deliveries = Delivery.objects.select_related("channel").order_by("channel_id")
    by_batch = {said.batch_id: said for said in caused.prefetch_related(Prefetch("deliveries", deliveries))}
    return [{"occurrence": occurrence, "notification": by_batch.get(occurrence.id)} for occurrence in occurrences]


def _just_deleted(request: PersonRequest) -> Schedule | None:
    """The reminder that `?deleted=<id>` offers to bring back."""
    try:
        schedule_id = UUID(request.GET.get("deleted", ""))
    except ValueError:
        return None
    return Schedule.objects.filter(user=request.user, deleted_at__isnull=False, id=schedule_id).first()
