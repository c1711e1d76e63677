"""Quick add: a reminder from one line, above the list, the agenda and the calendar."""

from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from common.redis.request_limiter import limit_page
from common.uuid7 import uuid7
from people.access.requests import PersonRequest, person_action, person_page
from people.models import User
from people.user_lock import with_user_lock
from schedules.changes import editing
from schedules.firing import fire
from schedules.inputs import quick_add
from schedules.inputs.quick_add import Reading
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
    read = partial(quick_add.read, line, zone, needs_title=True, country=request.user.public_holidays)
    reading = read(now=now)
    if reading.error:
        if request.htmx:
            return render(request, "schedules/_understood.html", {"reading": reading})
        return redirect(_form(line))
    made = Schedule.objects.written(request.POST.get("made_as", ""))
    # Sent twice. “In 5 minutes” may have meant the minute before.
    if made and any(_is_of(made, one, request.user) for one in (reading, read(now=now - timedelta(minutes=1)))):
        return _lead(request, _back(request, made))
    made_as = uuid7() if made else request.POST.get("made_as", "")
    empty = ReminderForm(user=request.user, now=now, filled=reading.fields | {"made_as": made_as})
    values = {name: empty.get_initial_for_field(field, name) for name, field in empty.fields.items()}
    form = ReminderForm(values, user=request.user, now=now)
    if not form.is_valid():
        for errors in form.errors.values():
            messages.error(request, " ".join(map(str, errors)))
        return _lead(request, _form(line))
    return _lead(request, _back(request, editing.create(form.as_schedule(), form.ordered(), now)))


def context(request: PersonRequest) -> dict[str, Any]:
    """The context of a page with the line: the id for its next reminder, and the reminder that was just added."""
    added = Schedule.objects.for_user(request.user).written(request.GET.get("added", ""))
    return {"made_as": uuid7(), "added": added}


def _is_of(made: Schedule, reading: Reading, user: User) -> bool:
    """Whether the line that was read has made this reminder of the person, which is still there."""
    if reading.timetable is None or made.user_id != user.pk or made.deleted_at:
        return False
    rule, fields = reading.timetable.rule, reading.fields
    wanted: dict[str, Any] = {"kind": rule.kind, "rule": rule.data(), "time_zone": rule.timezone}
    wanted |= {"title": fields["title"], "body": fields.get("body", "")}
    wanted |= {"starts_at": reading.timetable.starts, "ends_at": reading.timetable.ends}
    wanted |= {"after_done": "after_done" in fields, "early": [*reading.early], "max_count": fields.get("max_count")}
    return all(getattr(made, name) == value for name, value in wanted.items())


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
