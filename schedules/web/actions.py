"""The buttons of a reminder: pause, skip, snooze, run, copy, delete and their opposites."""

from collections.abc import Callable
from datetime import datetime
from functools import wraps
from uuid import UUID
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from common.admin.base import as_uuid
from common.forms.not_possible import shown_in
from common.times import dates, snooze as snoozes
from common.uuid7 import is_recent
from common.zones import FIRST_ZONE
from notifications.models import Notification
from people.access.requests import PersonRequest, View, person_action
from people.user_lock import with_user_lock
from schedules import rules
from schedules.changes import answers, editing
from schedules.changes.bulk import Action
from schedules.firing import fire
from schedules.models import Schedule
from schedules.rules import civil
from schedules.web import bulk, typed
from schedules.web.reminders import is_snoozed


def _action(act: Callable[[PersonRequest, Schedule, datetime], HttpResponseBase | None]) -> View[...]:
    """A view that does `act` to a reminder of the reader's, then leads back to the page with the button."""

    @person_action
    @wraps(act)
    def view(request: PersonRequest, schedule_id: UUID) -> HttpResponseBase:
        schedule = Schedule.objects.own(request.user, id=schedule_id)
        try:
            if (answer := act(request, schedule, fire.read_clock().now)) is not None:
                return answer
        except editing.ScheduleConflict as conflict:
            text = _("Nothing was done: “%(title)s” has changed since you opened this page. This is its current state.")
            messages.error(request, text % {"title": schedule.title})
            if conflict.current.deleted_at is not None:
                return redirect("schedules:list")
        return redirect("schedules:list") if "list" in request.POST else redirect("schedules:detail", schedule_id)

    return view


@_action
def pause(request: PersonRequest, schedule: Schedule, now: datetime) -> None:
    editing.pause(schedule.id, now, request.user)
    messages.success(request, _("“%(title)s” is paused.") % {"title": schedule.title})


@_action
def resume(request: PersonRequest, schedule: Schedule, now: datetime) -> None:
    resumed = editing.resume(schedule.id, now, request.user)
    if resumed.state == Schedule.State.FINISHED:
        text = _("“%(title)s” has no more times. Edit it to choose another time.")
        messages.info(request, text % {"title": schedule.title})
        return
    text = _("“%(title)s” is no longer snoozed.") if is_snoozed(schedule, now) else _("“%(title)s” is resumed.")
    _report(request, resumed, text % {"title": schedule.title})


@_action
def done(request: PersonRequest, schedule: Schedule, now: datetime) -> None:
    if not answers.done(schedule, now, request.user, Notification.AnsweredFrom.PAGE):
        messages.info(request, _("It was already answered. Nothing changed."))
        return
    schedule.refresh_from_db()
    text, shown = _("“%(title)s” is done."), ""
    if schedule.next_fire_at is not None:
        text = _("“%(title)s” is done. It rings again on %(shown)s.")
        shown = _shown(schedule, schedule.next_fire_at)
    _report(request, schedule, text % {"title": schedule.title, "shown": shown})


@_action
def skip(request: PersonRequest, schedule: Schedule, now: datetime) -> None:
    slot = _slot(request)
    skipped = editing.skip_next(schedule.id, slot, now, request.user)
    _report(request, skipped, _("Skipped: %(shown)s.") % {"shown": _shown(schedule, slot)})


@_action
def unskip(request: PersonRequest, schedule: Schedule, now: datetime) -> None:
    slot = _slot(request)
    unskipped = editing.unskip(schedule.id, slot, now, request.user)
    _report(request, unskipped, _("It will be sent on %(shown)s.") % {"shown": _shown(schedule, slot)})


@_action
def snooze(request: PersonRequest, schedule: Schedule, now: datetime) -> None:
    choice, picked = request.POST.get("answer", ""), request.POST.get("until", "")
    try:
        until = snoozes.until(choice, picked, timezone.now(), request.user.zone)
        snoozed = editing.snooze(schedule.id, until, now, request.user)
    except snoozes.InvalidSnooze as error:
        messages.error(request, str(error))
        return
    if snoozed.next_fire_at:
        text = _("“%(title)s” is snoozed until %(until)s.")
    else:
        text = _("“%(title)s” is snoozed until %(until)s. It has no times after that. Resume it to undo this.")
    shown = dates.short(timezone.localtime(until), year=True)
    _report(request, snoozed, text % {"title": schedule.title, "until": shown})


@_action
def run(request: PersonRequest, schedule: Schedule, now: datetime) -> None:
    # The id that the page gave to this run: pressed twice, it runs once.
    run_as = as_uuid(given) if (given := request.POST.get("run_as", "")) else None
    if given and (run_as is None or not is_recent(run_as, timezone.now())):
        messages.error(request, _("Nothing was sent: this page was open for more than a day. Press “Run now” again."))
        return
    values = {"title": schedule.title}
    try:
        editing.run_now(schedule.id, now, request.user, run_as)
    except rules.InvalidRule as error:
        text = _("“%(title)s” cannot be run: %(error)s Edit it to fix it.")
        messages.error(request, text % {**values, "error": error})
        return
    if schedule.audience or not schedule.speaks or schedule.channels.filter(removed_at=None).exists():
        messages.success(request, _("“%(title)s” is on its way. Its schedule does not change.") % values)
    else:
        messages.error(request, _("“%(title)s” has no channel. Edit it to choose one.") % values)


@_action
@with_user_lock
def duplicate(request: PersonRequest, schedule: Schedule, now: datetime) -> HttpResponse:
    with shown_in(request):
        editing.require_room(request.user)
        copy = editing.duplicate(schedule.id, now, request.user)
        messages.success(request, _("This is the copy. It is paused. Edit it, then resume it."))
        return redirect("schedules:edit", copy.id)
    return redirect("schedules:list")


@_action
def archive(request: PersonRequest, schedule: Schedule, now: datetime) -> HttpResponse:
    editing.archive(schedule.id, now, request.user)
    return redirect(bulk.list_with_undo(Action.ARCHIVE, now))


@_action
def unarchive(request: PersonRequest, schedule: Schedule, now: datetime) -> None:
    back = editing.unarchive(schedule.id, now, request.user)
    _report(request, back, _("“%(title)s” is back from the archive.") % {"title": schedule.title})


@_action
def delete(request: PersonRequest, schedule: Schedule, now: datetime) -> HttpResponse:
    editing.delete(schedule.id, now, request.user)
    return redirect(f"{reverse('schedules:list')}?deleted={schedule.id}")


@person_action
@with_user_lock
def restore(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    deleted = get_object_or_404(Schedule.objects.deleted_of(request.user), id=schedule_id)
    with shown_in(request):
        editing.require_room(request.user)
        schedule = editing.restore(deleted.id, fire.read_clock().now, request.user)
        messages.success(request, _("“%(title)s” is restored.") % {"title": schedule.title})
    return redirect("schedules:list")


def _shown(schedule: Schedule, slot: datetime) -> str:
    time = dates.short(timezone.localtime(slot, ZoneInfo(FIRST_ZONE) if schedule.local_time else None))
    return _("%(time)s on each reader’s clock") % {"time": time} if schedule.local_time else time


def _slot(request: PersonRequest) -> datetime:
    """The slot that the page showed; for an unreadable one, an instant that is not a slot."""
    return typed.instant(request.POST.get("slot", "")) or civil.FIRST_INSTANT


def _report(request: PersonRequest, schedule: Schedule, text: str) -> None:
    """Say what was done, or that the rule turned out to be invalid."""
    if schedule.state == Schedule.State.BROKEN:
        messages.error(request, _("“%(title)s” has stopped because its rule is invalid.") % {"title": schedule.title})
    else:
        messages.success(request, text)
