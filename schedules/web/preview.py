"""Preview a reminder before it is saved: next times, changes, text."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from common.redis.request_limiter import limit_page
from jobs import kinds
from notifications.channels import text_preview
from notifications.channels.text_preview import Reading
from notifications.messages import text
from notifications.models import Channel
from people.access.requests import PersonRequest, person_action
from schedules.explain.quiet_hours import QuietHours
from schedules.firing import fire, forecast
from schedules.firing.forecast import Coming, Silent
from schedules.firing.holidays import Holidays
from schedules.inputs.audience_form import AudienceForm
from schedules.models import Schedule
from schedules.parts import tags
from schedules.rules import InvalidRule

_SHOWN = 5
_COMPARED = 60


@person_action
def preview(request: PersonRequest) -> HttpResponse:
    """Show the next times; with `?of=<id>`, also those that the edit adds and removes. Empty fields are not errors."""
    return limit_page(f"preview:{request.user.pk}", lambda: _preview(request))


def _preview(request: PersonRequest) -> HttpResponse:
    schedule = edited(request)
    fired = 0 if schedule is None else schedule.fired_count
    form = AudienceForm(request.POST, now=fire.read_clock().now, fired=fired)
    form.offer_audiences(request.user, schedule)
    form.is_valid()
    coming: list[Coming] = []
    changes: dict[str, Any] | None = None
    try:
        typed = {name: form.data.get(name, "") for name in ("audience", "job_kind")}
        typed |= {"tags": tags.without_repeats(form.data.get("tags", "").split(",")), "urgent": "urgent" in form.data}
        silent = partial(Holidays.of(request.user, form.now).of_slot, Schedule(**typed))
        coming = form.upcoming(_SHOWN, silent, schedule)
        changes = None if schedule is None else _changes(schedule, form, silent)
    except InvalidRule as error:
        form.refuse(error)
    notes = _notes(request, form, coming)
    context = {
        "form": form,
        "upcoming": [{"slot": slot, "note": notes[slot]} for slot, _ in coming],
        "changes": changes,
        "people": form.people(),
        "fields": _errors_to_show(form),
        "reading": _reading(request, form, coming),
    }
    return render(request, "schedules/_preview.html", context)


def _notes(request: PersonRequest, form: AudienceForm, coming: list[Coming]) -> dict[datetime, str]:
    """Return the effect of clock changes, and of the person's holidays and quiet hours, on each slot."""
    if (timetable := form.timetable) is None:
        return {}
    fires = [slot for slot, holiday in coming if holiday is None]
    quiet = QuietHours(request.user, "urgent" in request.POST, _chosen(request)).notes(fires)
    return {one.slot: one.note(timetable, form.work, quiet.get(one.slot, "")) for one in coming}


def _reading(request: PersonRequest, form: AudienceForm, coming: list[Coming]) -> Reading | None:
    """The text of the next time on the chosen channels; None without a title."""
    typed = request.POST
    if not typed.get("title", "").strip():
        return None
    zone = form.timetable.rule.timezone if form.timetable and coming else request.user.zone.key
    slot = coming[0].slot if coming else form.now
    # What is longer than a reminder may be is left off.
    title, body = typed["title"][: text.MAX_SUBJECT], typed.get("body", "")[: text.MAX_BODY]
    job = kinds.find(typed.get("job_kind", ""))
    more = {} if job is None else job.examples()
    message = text.compose(title, body, name=request.user.get_short_name(), slot=slot, time_zone=zone, more=more)
    return text_preview.read(request.user, message, _chosen(request), slot)


def _chosen(request: PersonRequest) -> list[Channel]:
    chosen = set(request.POST.getlist("channels"))
    return [channel for channel in Channel.objects.for_user(request.user) if str(channel.id) in chosen]


def edited(request: PersonRequest) -> Schedule | None:
    """The reminder that `?of=<id>` names, if it is the reader's."""
    return Schedule.objects.for_user(request.user).written(request.GET.get("of", ""))


def _changes(schedule: Schedule, form: AudienceForm, silent: Silent) -> dict[str, Any] | None:
    """None if the reminder is paused or the form is invalid."""
    if schedule.state == Schedule.State.PAUSED or form.timetable is None:
        return None
    after = form.upcoming(_COMPARED, silent, schedule)
    return compare(_saved(schedule, form), [slot for slot, _ in after], _COMPARED)


def _saved(schedule: Schedule, form: AudienceForm) -> list[datetime]:
    if schedule.next_fire_at is None:
        return []
    try:
        ahead = forecast.of(schedule, form.now, Holidays.of(schedule.user, form.now))
    except InvalidRule:
        return []
    return [slot for slot, _ in ahead.upcoming(form.now, _COMPARED, form.work)]


def _errors_to_show(form: AudienceForm) -> dict[str, str]:
    """The error, or "", of each timing field with a value; an empty one keeps what the page shows.

    Except for the time zone: no form begins without one. While an audience waits to be confirmed, its field keeps
    the request for that.
    """
    shown = [name for name in form.fields if name != "confirmed" and (form.data.get(name) or name == "time_zone")]
    errors = {name: " ".join(map(str, form.errors.get(name, []))) for name in shown}
    if form.data.get("confirmed") == form.data.get("audience") and not errors.get("audience"):
        errors.pop("audience", None)
    return errors


def compare(before: Sequence[datetime], after: Sequence[datetime], most: int) -> dict[str, Any]:
    """The slots that an edit has `added` and `removed`, in order, up to `until` (None: all of them).

    `before` and `after` are the next slots under the old and the new rule: all of them, or the first `most`.
    """
    until = min([slots[most - 1] for slots in (before, after) if len(slots) >= most], default=None)
    old, new = ({slot for slot in slots if until is None or slot <= until} for slots in (before, after))
    return {"added": sorted(new - old), "removed": sorted(old - new), "until": until}
