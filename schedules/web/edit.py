"""Create, edit, pause, resume, delete and restore reminders."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import IntegrityError
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from people.requests import PersonRequest
from people.user_lock import with_user_lock
from schedules import editing, words
from schedules.firing import fire
from schedules.models import Schedule
from schedules.web.differences import differences
from schedules.web.reminder_form import ReminderForm


@login_required
@with_user_lock
def new(request: PersonRequest) -> HttpResponse:
    now = fire.read_clock().now
    form = ReminderForm(_posted(request), user=request.user, now=now)
    if (made := _already_made(request)) is not None:
        return redirect("schedules:detail", made.id)
    if form.is_valid():
        try:
            schedule = editing.create(request.user, form.draft(), now, form.cleaned_data["made_as"])
        except IntegrityError:  # the same form, sent twice at once
            return redirect("schedules:detail", form.cleaned_data["made_as"])
        messages.success(request, f"“{schedule.title}” is created.")
        return redirect("schedules:detail", schedule.id)
    return render(request, "schedules/form.html", {"form": form})


def _already_made(request: PersonRequest) -> Schedule | None:
    """The reminder that this form already created, if it is sent again."""
    try:
        made_as = UUID(request.POST.get("made_as", ""))
    except ValueError:
        return None
    return Schedule.objects.for_user(request.user).filter(id=made_as).first()


@login_required
def edit(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    schedule = _own(request, schedule_id)
    now = fire.read_clock().now
    form = ReminderForm(_posted(request), user=request.user, now=now, schedule=schedule)
    conflict = False
    if form.is_valid():
        draft = form.draft()
        try:
            editing.reschedule(schedule.id, draft, now, form.cleaned_data["version"], request.user)
        except editing.Conflict:
            conflict = True
            schedule.refresh_from_db()
            # The page now shows both versions; saving again overwrites.
            again = request.POST.copy()
            again["version"] = str(schedule.version)
            form.data = again
        else:
            messages.success(request, f"“{draft.title}” is saved.")
            return redirect("schedules:detail", schedule.id)
    context = {"form": form, "schedule": schedule, "conflict": conflict}
    if conflict:
        context["differences"] = differences(schedule, draft)
    return render(request, "schedules/form.html", context, status=409 if conflict else 200)


@login_required
@require_POST
def pause(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    schedule = editing.pause(_own(request, schedule_id).id, fire.read_clock().now, request.user)
    messages.success(request, f"“{schedule.title}” is paused.")
    return _back(request, schedule)


@login_required
@require_POST
def resume(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    schedule = editing.resume(_own(request, schedule_id).id, fire.read_clock().now, request.user)
    if schedule.next_fire_at is None:
        messages.info(request, f"“{schedule.title}” has no more firings. Edit it to choose another time.")
    else:
        messages.success(request, f"“{schedule.title}” is resumed.")
    return _back(request, schedule)


@login_required
@require_POST
def delete(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    schedule = editing.delete(_own(request, schedule_id).id, fire.read_clock().now, request.user)
    return redirect(f"{reverse('schedules:list')}?deleted={schedule.id}")


@login_required
@require_POST
@with_user_lock
def restore(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    deleted = get_object_or_404(Schedule, user=request.user, deleted_at__isnull=False, id=schedule_id)
    if editing.limit_reached(request.user):
        messages.error(request, words.limit_reached())
        return redirect("schedules:list")
    schedule = editing.restore(deleted.id, fire.read_clock().now, request.user)
    messages.success(request, f"“{schedule.title}” is restored.")
    return redirect("schedules:list")


def _posted(request: PersonRequest) -> QueryDict | None:
    return request.POST if request.method == "POST" else None


def _own(request: PersonRequest, schedule_id: UUID) -> Schedule:
    return get_object_or_404(Schedule.objects.for_user(request.user), id=schedule_id)


def _back(request: PersonRequest, schedule: Schedule) -> HttpResponse:
    """Redirect to the page with the button."""
    return redirect("schedules:list") if "list" in request.POST else redirect("schedules:detail", schedule.id)
