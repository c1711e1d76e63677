"""Create and edit reminders."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db import IntegrityError, transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _, gettext_lazy, pgettext_lazy

from common.redis.request_limiter import limit_page
from people.access.requests import PersonRequest, person_form, person_page, posted
from people.user_lock import with_user_lock
from schedules.changes import editing
from schedules.firing import fire
from schedules.inputs import quick_add
from schedules.inputs.reminder_form import ReminderForm
from schedules.models import Schedule
from schedules.rules import civil
from schedules.web import typed

# Lines that a person can choose for a reminder that comes once.
PRESETS = {
    "in 1 hour": gettext_lazy("In an hour"),
    "tonight": gettext_lazy("Tonight"),
    "tomorrow morning": gettext_lazy("Tomorrow morning"),
    "next monday": pgettext_lazy("preset", "Monday"),
}


@person_form
@with_user_lock
def new(request: PersonRequest) -> HttpResponse:
    now = fire.read_clock().now
    reading = quick_add.read(request.GET["quick"], request.user.time_zone, now) if "quick" in request.GET else None
    filled = reading.fields if reading else _on_day(request, now)
    form = ReminderForm(posted(request), user=request.user, now=now, filled=filled)
    made = Schedule.objects.for_user(request.user).written(request.POST.get("made_as", ""))
    if made is not None:  # the same form, sent again
        return redirect("schedules:detail", made.id)
    if form.is_valid():
        try:
            with transaction.atomic():
                schedule = editing.create(form.as_schedule(), form.ordered(), now)
        except IntegrityError:  # the same form, sent twice at once
            return redirect("schedules:detail", form.cleaned_data["made_as"])
        messages.success(request, _("“%(title)s” is created.") % {"title": schedule.title})
        return redirect("schedules:detail", schedule.id)
    context = {"form": form, "reading": reading, "presets": PRESETS}
    return render(request, "schedules/form.html", context)


def _on_day(request: PersonRequest, now: datetime) -> dict[str, Any]:
    """The first values on a later day, which `?date=` names: somebody chose it in the calendar."""
    day = typed.day(request.GET.get("date", ""))
    if day is None or day <= civil.local(request.user.zone, now).date():
        return {}
    return {"at": f"{day}T09:00", "days": [str(day.weekday())], "day": str(day.day), "month": str(day.month)}


@person_form
def edit(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    schedule = get_object_or_404(Schedule.objects.for_user(request.user), id=schedule_id)
    now = fire.read_clock().now
    form = ReminderForm(posted(request), user=request.user, now=now, schedule=schedule)
    differences = None
    if form.is_valid() and (differences := form.reschedule(schedule, now, request.user)) is None:
        messages.success(request, _("“%(title)s” is saved.") % {"title": form.cleaned_data["title"]})
        return redirect("schedules:detail", schedule.id)
    context = {"form": form, "schedule": schedule, "differences": differences, "presets": PRESETS}
    return render(request, "schedules/form.html", context, status=409 if differences else 200)


@person_page
def understand(request: PersonRequest) -> HttpResponse:
    """The fields for `?quick=`, or why there are none."""

    def answer() -> HttpResponse:
        zone = request.GET.get("time_zone", request.user.time_zone)
        reading = quick_add.read(request.GET.get("quick", ""), zone, fire.read_clock().now)
        return render(request, "schedules/_understood.html", {"reading": reading})

    return limit_page(f"preview:{request.user.pk}", answer)
