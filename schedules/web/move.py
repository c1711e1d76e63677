"""Move a reminder to another day or time: the form, which dragging in the calendar fills and sends."""

from datetime import date, datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy

from common.forms.not_possible import NotPossible
from common.times import dates
from people.access.requests import PersonRequest, person_action, person_form, posted
from people.user_lock import with_user_lock
from schedules.agenda import moving
from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Schedule
from schedules.rules import civil
from schedules.web import typed
from schedules.web.agenda import VIEWS, bounds

_INCOMPLETE = gettext_lazy("This page is incomplete. Reload it, and try again.")


class MoveForm(forms.Form):
    """The new place, on the clock of the person, and the version of the reminder. Without a time, it stays."""

    date = forms.DateField(
        label=gettext_lazy("Day"),
        widget=forms.DateInput(attrs={"type": "date", "autocomplete": "off", "autofocus": True}, format="%Y-%m-%d"),
        error_messages=dict.fromkeys(("required", "invalid"), gettext_lazy("Choose a day, such as 2026-12-24.")),
    )
    time = forms.TimeField(
        label=gettext_lazy("Time"),
        required=False,
        widget=forms.TimeInput(attrs={"type": "time", "autocomplete": "off"}, format="%H:%M"),
        error_messages={"invalid": gettext_lazy("Enter a time, such as 09:00.")},
    )
    version = forms.IntegerField(
        min_value=1,
        widget=forms.HiddenInput,
        error_messages=dict.fromkeys(("required", "invalid", "min_value"), _INCOMPLETE),
    )


@person_form
@with_user_lock
def move(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    """Ask where to; then show the page from which it was moved, or that of its new day."""
    whole = Schedule.objects.select_related("user", "connection").prefetch_related("channels")
    schedule = whole.own(request.user, id=schedule_id)
    now, zone = fire.read_clock().now, request.user.zone
    query = request.POST or request.GET
    view, on = _page(query, civil.local(zone, now).date())
    slot = typed.instant(query.get("slot", "")) or schedule.next_fire_at
    shown = None if slot is None else civil.local(zone, slot)
    filled = {"date": typed.day(request.GET.get("date", "")) or shown, "time": request.GET.get("time", shown)}
    form = MoveForm(posted(request), initial=filled | {"version": schedule.version})
    back = f"{reverse(f'schedules:{view}')}?"
    try:
        if form.is_valid() and slot is not None:
            moved = _move(request, schedule, slot, form.cleaned_data, now)
            is_other = (moved.id, moved.version) != (schedule_id, form.cleaned_data["version"])
            notice = {"moved": moved.id} | ({"undo": moved.version} if is_other else {})
            return redirect(back + urlencode({"date": _day(view, on, form.cleaned_data["date"]), **notice}))
    except NotPossible as refusal:
        form.add_error(None, str(refusal))
    except editing.ScheduleConflict:
        text = _("Nothing was moved: “%(title)s” has changed since you opened this page. This is its current state.")
        messages.error(request, text % {"title": schedule.title})
        return redirect(back + urlencode({"date": on}))
    context = {
        "schedule": schedule,
        "form": form,
        "slot": slot,
        "shown": shown,
        "view": view,
        "on": on,
        "back": back + urlencode({"date": on}),
        "is_movable": moving.is_movable(schedule),
        "moves_one": moving.moves_one(schedule),
        "moves_all": moving.moves_all(schedule),
    }
    return render(request, "schedules/move.html", context)


@person_action
@with_user_lock
def undo(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    """Take a move back."""
    schedule = Schedule.objects.own(request.user, id=schedule_id)
    now, zone, version = fire.read_clock().now, request.user.zone, request.POST.get("version", "")
    view, on = _page(request.POST, civil.local(zone, now).date())
    try:
        slot = moving.undo(schedule, int(version) if version == str(schedule.version) else 0, now, request.user)
        back_at = civil.local(zone, slot or now)
        on = _day(view, on, back_at.date())
        text = _("“%(title)s” is back on %(time)s.")
        messages.success(request, text % {"title": schedule.title, "time": dates.short(back_at)})
    except NotPossible as refusal:
        messages.error(request, str(refusal))
    except editing.ScheduleConflict:
        text = _("Nothing was undone: “%(title)s” has rung or changed since.")
        messages.error(request, text % {"title": schedule.title})
    return redirect(f"{reverse(f'schedules:{view}')}?{urlencode({'date': on})}")


def _page(query: QueryDict, today: date) -> tuple[str, date]:
    """The view of the calendar from which it is moved, and the day that it shows."""
    view = query.get("view", "")
    return view if view in VIEWS else "month", typed.day(query.get("on", "")) or today


def _day(view: str, on: date, to: date) -> date:
    """The day of the page to show: that from which it was moved, if its new one is on it."""
    first, last = bounds(view, on)
    return on if first <= to <= last else to


def _move(request: PersonRequest, schedule: Schedule, slot: datetime, to: dict[str, Any], now: datetime) -> Schedule:
    """Raises NotPossible and ScheduleConflict."""
    if schedule.kind == "once" or "all" in request.POST:
        return moving.move(schedule, to["date"], to["version"], now, request.user, to["time"], slot)
    editing.require_room(request.user)
    return moving.move_one(schedule, to["date"], to["version"], now, request.user, to["time"], slot)
