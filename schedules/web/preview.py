"""Preview a reminder before it is saved: next firings, changes, text."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from notifications.models import Channel
from people.requests import PersonRequest
from schedules.explain import clock_notes
from schedules.firing import fire
from schedules.models import Schedule
from schedules.rules import InvalidRule, Work
from schedules.web import compare, text_preview
from schedules.web.compare import Changes
from schedules.web.text_preview import Reading
from schedules.web.timing_form import TimingForm

_SHOWN = 5
_LOOK = 60


@login_required
@require_POST
def preview(request: PersonRequest) -> HttpResponse:
    """Show the next firings; with `?of=<id>`, also those that the edit adds and removes. Empty fields are no errors."""
    schedule = _edited(request)
    fired = 0 if schedule is None else schedule.fired_count
    form = TimingForm(request.POST, now=fire.read_clock().now, fired=fired)
    form.is_valid()
    slots: list[datetime] = []
    changes: Changes | None = None
    try:
        slots = _upcoming(schedule, form)
        changes = None if schedule is None else _changes(schedule, form)
    except InvalidRule as error:
        form.refuse(error)
    context = {
        "form": form,
        "upcoming": [{"slot": slot, "note": _note(form, slot)} for slot in slots],
        "changes": changes,
        "fields": _errors_to_show(form),
        "reading": _reading(request, form, slots),
    }
    return render(request, "schedules/_preview.html", context)


def _reading(request: PersonRequest, form: TimingForm, slots: list[datetime]) -> Reading | None:
    """The text of the next firing on the chosen channels; None without a title."""
    typed = request.POST
    if not typed.get("title", "").strip():
        return None
    chosen = set(typed.getlist("channels"))
    there = [channel for channel in Channel.objects.for_user(request.user) if str(channel.id) in chosen]
    escalates = bool(typed.get("one_by_one") and typed.get("escalate_after", "").strip())
    zone = form.timetable.rule.timezone if form.timetable and slots else request.user.time_zone or "UTC"
    slot = slots[0] if slots else form.now
    return text_preview.read(request.user, typed["title"], typed.get("body", ""), slot, zone, there, escalates)


def _edited(request: PersonRequest) -> Schedule | None:
    try:
        return Schedule.objects.for_user(request.user).filter(id=UUID(request.GET.get("of", ""))).first()
    except ValueError:
        return None


def _is_right(form: TimingForm) -> bool:
    return form.timetable is not None and not form.errors.keys() & TimingForm.base_fields.keys()


def _upcoming(schedule: Schedule | None, form: TimingForm) -> list[datetime]:
    if not _is_right(form):
        return []
    return form.upcoming(_SHOWN) if schedule is None else _typed(schedule, form, _SHOWN)


def _note(form: TimingForm, slot: datetime) -> str:
    return "" if form.timetable is None else clock_notes.note(form.timetable, slot, form.work)


def _typed(schedule: Schedule, form: TimingForm, count: int) -> list[datetime]:
    """The next firings after saving: a snooze and skipped slots stay."""
    return form.upcoming(count, schedule.snoozed_until, _settled(schedule, form.now))


def _settled(schedule: Schedule, now: datetime) -> set[datetime]:
    return set(schedule.occurrences.filter(scheduled_for__gt=now).values_list("scheduled_for", flat=True))


def _changes(schedule: Schedule, form: TimingForm) -> Changes | None:
    """None if the reminder is paused or the form is invalid."""
    if schedule.state == Schedule.State.PAUSED or not _is_right(form):
        return None
    after = _typed(schedule, form, _LOOK)
    return compare.compare(_next(schedule, form.now, form.work), after, _LOOK)


def _next(schedule: Schedule, now: datetime, work: Work) -> list[datetime]:
    if schedule.next_fire_at is None:
        return []
    left = _LOOK if schedule.max_count is None else min(_LOOK, schedule.max_count - schedule.fired_count)
    settled = _settled(schedule, now)
    try:
        timetable = schedule.timetable()
    except InvalidRule:
        return []
    slots = timetable.upcoming(schedule.next_fire_at - timedelta(microseconds=1), left + len(settled), work)
    return [slot for slot in slots if slot not in settled][:left]


def _errors_to_show(form: TimingForm) -> dict[str, str]:
    """The error, or "", of each timing field with a value; an empty field keeps the error that the page shows."""
    return {name: " ".join(map(str, form.errors.get(name, []))) for name in form.fields if form.data.get(name)}
