"""What a person does with the next firing of a reminder, beside its timetable."""

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
from schedules import allowance, editing, rules
from schedules.firing import fire
from schedules.models import Schedule
from schedules.rules import civil

_CHANGED = "Nothing was done: “{}” has changed since this page was made. Here it is as it stands now."


class SnoozeForm(forms.Form):
    """`until` is typed on the clock that the page shows; after `is_valid()` it is an instant."""

    until = forms.CharField(
        max_length=40, error_messages={"required": "Choose a date and a time until which it is to be silent."}
    )

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
    """Skip the slot that the page showed as the next one, and no other."""
    schedule = _own(request, schedule_id)
    try:
        slot = datetime.fromisoformat(request.POST.get("slot", ""))
        schedule = editing.skip_next(schedule.id, slot, fire.read_clock().now, request.user)
    except (ValueError, editing.Conflict):
        messages.error(request, _CHANGED.format(schedule.title))
    else:
        if not _has_broken(request, schedule):
            messages.success(request, f"It skips {timezone.localtime(slot):%a %-d %b, %H:%M}.")
    return redirect("schedules:detail", schedule.id)


@login_required
@require_POST
def unskip(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    """Let a slot that was skipped fire after all."""
    schedule = _own(request, schedule_id)
    try:
        slot = datetime.fromisoformat(request.POST.get("slot", ""))
        schedule = editing.unskip(schedule.id, slot, fire.read_clock().now, request.user)
    except (ValueError, TypeError, editing.Conflict):
        messages.error(request, _CHANGED.format(schedule.title))
    else:
        if not _has_broken(request, schedule):
            messages.success(request, f"It fires on {timezone.localtime(slot):%a %-d %b, %H:%M} after all.")
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
        messages.error(request, f"“{schedule.title}” cannot be run: {error} Edit it to mend it.")
        return redirect("schedules:detail", schedule.id)
    if schedule.channels.filter(removed_at=None).exists():
        messages.success(request, f"“{schedule.title}” is on its way. Its timetable stays as it is.")
    else:
        messages.error(request, f"“{schedule.title}” has no channel to go to. Edit it to choose one.")
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
        said = f"“{schedule.title}” is silent until {timezone.localtime(until):%a %-d %b %Y, %H:%M}."
        nothing_left = " After that, nothing is due any more: resume it to undo this."
        if not _has_broken(request, schedule):
            messages.success(request, said if schedule.next_fire_at else said + nothing_left)
    return redirect("schedules:detail", schedule.id)


@login_required
@require_POST
@with_user_lock
def duplicate(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    if refused := allowance.refusal(request.user):
        messages.error(request, refused)
        return redirect("schedules:list")
    copy = editing.duplicate(_own(request, schedule_id).id, fire.read_clock().now, request.user)
    messages.success(request, "This is the copy. It is paused: change what should differ, then resume it.")
    return redirect("schedules:edit", copy.id)


def _run_as(request: PersonRequest) -> UUID | None:
    """What the button on this very page gave the run: pressed twice, it is the same one. None where there is none.

    Raises ValueError for an id that no page gave within the last day.
    """
    if not (given := request.POST.get("run_as", "")):
        return None
    if not is_recent(run_as := UUID(given), timezone.now()):
        raise ValueError
    return run_as


def _has_broken(request: PersonRequest, schedule: Schedule) -> bool:
    """Whether its rule turned out to be one that cannot be read any more; its page says why."""
    if schedule.state == Schedule.State.BROKEN:
        messages.error(request, f"“{schedule.title}” has stopped: its rule cannot be read any more.")
        return True
    return False


def _own(request: PersonRequest, schedule_id: UUID) -> Schedule:
    return get_object_or_404(Schedule.objects.for_user(request.user), id=schedule_id)
