"""Quick add: a reminder from one line, above the list, the agenda and the calendar."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from common.admin.base import as_uuid
from common.redis.request_limiter import limit_page
from common.uuid7 import child, uuid7
from people.access.requests import PersonRequest, person_action, person_page
from people.user_lock import with_user_lock
from schedules.changes import editing
from schedules.firing import fire
from schedules.inputs import quick_add
from schedules.inputs.reminder_form import ReminderForm
from schedules.models import Schedule
from schedules.web import typed

VIEWS = ("list", "day", "week", "month")
_MOST_SHOWN = 1_000  # characters of a line in an address; far more than are understood


@person_page
def understand(request: PersonRequest) -> HttpResponse:
    """The fields for `?quick=`, or why there are none."""

    def answer() -> HttpResponse:
        zone = request.GET.get("time_zone", request.user.time_zone)
        country = request.user.public_holidays
        reading = quick_add.read(request.GET.get("quick", ""), zone, fire.read_clock().now, country=country)
        is_typing = request.htmx.trigger_name == "quick"
        context = {"reading": reading, "fills": "fills" in request.GET, "is_typing": is_typing}
        return render(request, "schedules/_understood.html", context)

    return limit_page(f"quick:{request.user.pk}", answer)


@person_action
@with_user_lock
def add(request: PersonRequest) -> HttpResponse:
    """Create the reminder of a line, on the channels for new ones. A line that is not enough leads to the form."""
    now, line = fire.read_clock().now, request.POST.get("quick", "")
    zone = request.POST.get("time_zone", request.user.time_zone)
    reading = quick_add.read(line, zone, now, needs_title=True, country=request.user.public_holidays)
    if reading.error:
        if request.htmx:
            return render(request, "schedules/_understood.html", {"reading": reading})
        return redirect(_form(line))
    page = as_uuid(request.POST.get("made_as", "")) or uuid7()
    # Sent twice, it makes one. “In 5 minutes” may have meant the minute before.
    at = (reading.next or now).replace(second=0)
    ids = [child(page, f"{request.user.pk} {line} {one}") for one in (at, at - timedelta(minutes=1))]
    made = Schedule.objects.in_bulk(ids)
    for one in made.values():
        if not one.deleted_at:
            return _lead(request, _back(request, one))
    empty = ReminderForm(user=request.user, now=now, filled=reading.fields | {"made_as": page})
    values = {name: empty.get_initial_for_field(field, name) for name, field in empty.fields.items()}
    form = ReminderForm(values, user=request.user, now=now)
    if not form.is_valid():
        for errors in form.errors.values():
            messages.error(request, " ".join(map(str, errors)))
        return _lead(request, _form(line))
    schedule = form.as_schedule()
    schedule.id = uuid7() if ids[0] in made else ids[0]
    return _lead(request, _back(request, editing.create(schedule, form.ordered(), now)))


def context(request: PersonRequest) -> dict[str, Any]:
    """The context of a page with the line: the id for its next reminder, and the reminder that was just added."""
    return {"made_as": uuid7(), "added": Schedule.objects.for_user(request.user).written(request.GET.get("added", ""))}


def _form(line: str) -> str:
    return f"{reverse('schedules:new')}?{urlencode({'quick': line[:_MOST_SHOWN]})}"


def _back(request: PersonRequest, made: Schedule) -> str:
    """The page with the line that was sent, which offers to undo it."""
    view, on = request.POST.get("view", ""), typed.day(request.POST.get("on", ""))
    query: dict[str, object] = {"added": made.id}
    if on is not None:
        query["date"] = on
    return f"{reverse(f'schedules:{view if view in VIEWS else VIEWS[0]}')}?{urlencode(query)}"


def _lead(request: PersonRequest, url: str) -> HttpResponse:
    return HttpResponseClientRedirect(url) if request.htmx else redirect(url)
