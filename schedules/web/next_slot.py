"""Skip, unskip, run now, snooze and duplicate a reminder."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.timezone import get_current_timezone_name
from django.views.decorators.http import require_POST

from common.uuid7 import is_recent
from people.requests import PersonRequest
from people.user_lock import with_user_lock
from schedules import editing, rules, words
from schedules.firing import fire
from schedules.models import Schedule
from schedules.rules import civil

_CHANGED = "Nothing was done: “{}” has changed since you opened this page. This is its current state."


class SnoozeForm(forms.Form):
    """`until` is typed in the reader's zone and cleaned to an instant."""

    until = forms.CharField(max_length=40, error_messages={"required": "Choose a date and a time."})

    def clean_until(self) -> object:
        try:
            once = rules.parse("once", {"at": self.cleaned_data["until"]}, get_current_timezone_name())
        except rules.InvalidRule as error:
            raise forms.ValidationError(str(error)) from None
        until = once.next_after(civil.FIRST_INSTANT)
        if until is None or until <= timezone.now():
            raise forms.ValidationError("This time has passed. Choose a later one.")
        return until


@login_required
@require_POST
def skip(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    """Skip the slot that the page showed as the next one."""
    schedule = _own(request, schedule_id)
    try:
        slot = datetime.fromisoformat(request.POST.get("slot", ""))
        schedule = editing.skip_next(schedule.id, slot, fire.read_clock().now, request.user)
    except (ValueError, editing.Conflict):
        messages.error(request, _CHANGED.format(schedule.title))
    else:
        if not _has_broken(request, schedule):
            messages.success(request, f"Skipped: {timezone.localtime(slot):%a %-d %b, %H:%M}.")
    return redirect("schedules:detail", schedule.id)


@login_required
@require_POST
def unskip(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    """Undo skipping a slot."""
    schedule = _own(request, schedule_id)
    try:
        slot = datetime.fromisoformat(request.POST.get("slot", ""))
        schedule = editing.unskip(schedule.id, slot, fire.read_clock().now, request.user)
    except (ValueError, TypeError, editing.Conflict):
        messages.error(request, _CHANGED.format(schedule.title))
    else:
        if not _has_broken(request, schedule):
            messages.success(request, f"It will fire on {timezone.localtime(slot):%a %-d %b, %H:%M}.")
    return redirect("schedules:detail", schedule.id)


@login_required
@require_POST
def run(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    schedule = _own(request, schedule_id)
    try:
        run_as = _run_as(request)
    except ValueError:
        messages.error(request, "Nothing was sent: this page was open for more than a day. Press “Run now” again.")
        return redirect("schedules:detail", schedule.id)
    try:
        editing.run_now(schedule.id, fire.read_clock().now, request.user, run_as)
    except editing.Conflict as conflict:
        raise Http404 from conflict  # deleted just now
    except rules.InvalidRule as error:
        messages.error(request, f"“{schedule.title}” cannot be run: {error} Edit it to fix it.")
        return redirect("schedules:detail", schedule.id)
    if schedule.channels.filter(removed_at=None).exists():
        messages.success(request, f"“{schedule.title}” is on its way. Its schedule does not change.")
    else:
        messages.error(request, f"“{schedule.title}” has no channel. Edit it to choose one.")
    return redirect("schedules:detail", schedule.id)


@login_required
@require_POST
def snooze(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    schedule = _own(request, schedule_id)
    form = SnoozeForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(map(str, form.errors["until"])))
        return redirect("schedules:detail", schedule.id)
    until = form.cleaned_data["until"]
    try:
        schedule = editing.snooze(schedule.id, until, fire.read_clock().now, request.user)
    except editing.Conflict:
        messages.error(request, _CHANGED.format(schedule.title))
    else:
        text = f"“{schedule.title}” is snoozed until {timezone.localtime(until):%a %-d %b %Y, %H:%M}."
        no_more = " It has no firings after that. Resume it to undo this."
        if not _has_broken(request, schedule):
            messages.success(request, text if schedule.next_fire_at else text + no_more)
    return redirect("schedules:detail", schedule.id)


@login_required
@require_POST
@with_user_lock
def duplicate(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    if editing.limit_reached(request.user):
        messages.error(request, words.limit_reached())
        return redirect("schedules:list")
    copy = editing.duplicate(_own(request, schedule_id).id, fire.read_clock().now, request.user)
    messages.success(request, "This is the copy. It is paused. Edit it, then resume it.")
    return redirect("schedules:edit", copy.id)


def _run_as(request: PersonRequest) -> UUID | None:
    """The id that the page gave to this run, so that pressing twice runs once; None without one.

    Raises ValueError if the id is older than a day.
    """
    if not (given := request.POST.get("run_as", "")):
        return None
    if not is_recent(run_as := UUID(given), timezone.now()):
        raise ValueError
    return run_as


def _has_broken(request: PersonRequest, schedule: Schedule) -> bool:
    """Show an error if the rule turned out to be invalid; return whether it did."""
    if schedule.state == Schedule.State.BROKEN:
        messages.error(request, f"“{schedule.title}” has stopped because its rule is invalid.")
        return True
    return False


def _own(request: PersonRequest, schedule_id: UUID) -> Schedule:
    return get_object_or_404(Schedule.objects.for_user(request.user), id=schedule_id)
