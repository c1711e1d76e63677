"""Create and edit reminders."""

from datetime import datetime, time
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _, gettext_lazy, pgettext_lazy

from people.access.requests import PersonRequest, made_once, person_form, posted
from people.user_lock import with_user_lock
from schedules.changes import editing
from schedules.firing import fire
from schedules.inputs import quick_add
from schedules.inputs.quick_add import Reading
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
@made_once(lambda request: redirect("schedules:detail", Schedule.objects.own(request.user, id=request.made_as).id))
def new(request: PersonRequest) -> HttpResponse:
    now = fire.read_clock().now
    reading = _read(request, request.GET["quick"], request.user.time_zone, now) if "quick" in request.GET else None
    filled = reading.fields if reading else _on_day(request, now)
    form = ReminderForm(_posted(request, now), user=request.user, now=now, filled=filled)
    other_time = _other_time(request, form, now)
    if form.is_valid() and other_time is None:
        with transaction.atomic():
            schedule = editing.create(form.as_schedule(), form.ordered(), now)
        messages.success(request, _("“%(title)s” is created.") % {"title": schedule.title})
        return redirect("schedules:detail", schedule.id)
    return form_page(request, form, reading=reading, fills=True, other_time=other_time)


def form_page(
    request: PersonRequest, form: ReminderForm, schedule: Schedule | None = None, status: int = 200, **more: object
) -> HttpResponse:
    context = {"form": form, "schedule": schedule, "presets": PRESETS} | more
    return render(request, "schedules/form.html", context, status=status)


def _read(request: PersonRequest, line: str, zone: str, now: datetime) -> Reading:
    return quick_add.read(line, zone, now, country=request.user.public_holidays)


def _posted(request: PersonRequest, now: datetime) -> QueryDict | None:
    """The posted form; its time is that of its title, if that was chosen."""
    data = posted(request)
    if data is None or data.get("title_time") != "take":
        return data
    data = data.copy()
    for name, value in _read(request, data.get("title", ""), data.get("time_zone", ""), now).shown.items():
        data.setlist(name, value if isinstance(value, list) else [value])
    return data


def _other_time(request: PersonRequest, form: ReminderForm, now: datetime, before: str = "") -> Reading | None:
    """The time in a new title of a valid form, if the form has another one and the person was not asked yet."""
    if not form.is_valid() or form.timetable is None or "title_time" in request.POST:
        return None
    if form.cleaned_data["title"] == before:
        return None
    return quick_add.other_time(form.cleaned_data["title"], form.timetable, now)


def _on_day(request: PersonRequest, now: datetime) -> dict[str, Any]:
    """The first values on a later `?date=` and `?time=`: somebody chose them in the calendar."""
    day, shown = typed.day(request.GET.get("date", "")), civil.local(request.user.zone, now)
    try:
        at = time.fromisoformat(request.GET.get("time", "")).replace(second=0, microsecond=0, tzinfo=None)
    except ValueError:
        at = time(9) if day is None or day > shown.date() else time.min
    if day is None or datetime.combine(day, at) <= shown:
        return {}
    values = {"at": datetime.combine(day, at), "days": [day.weekday()], "day": day.day, "month": day.month}
    return values | ({"time": at} if "time" in request.GET else {})


@person_form
def edit(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    schedule = Schedule.objects.own(request.user, id=schedule_id)
    now = fire.read_clock().now
    form = ReminderForm(_posted(request, now), user=request.user, now=now, schedule=schedule)
    differences, other_time = None, _other_time(request, form, now, schedule.title)
    if form.is_valid() and other_time is None and (differences := form.reschedule(now, request.user)) is None:
        messages.success(request, _("“%(title)s” is saved.") % {"title": form.cleaned_data["title"]})
        return redirect("schedules:detail", schedule.id)
    status = 409 if differences else 200
    return form_page(request, form, schedule, status, differences=differences, other_time=other_time)
