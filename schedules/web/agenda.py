"""The reminders of a day, of seven days or of a month, by days; and moving one to another day."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db.models import prefetch_related_objects
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy

from notifications.models import Channel, Delivery
from notifications.reasons import DeliveryCode
from people.access.requests import PersonRequest, person_action, person_page
from people.models import User
from schedules.agenda import moving
from schedules.agenda.coming import coming
from schedules.agenda.entry import Days, Entry
from schedules.agenda.sent import sent, skipped
from schedules.changes import editing
from schedules.explain.quiet_hours import QuietHours
from schedules.firing import fire
from schedules.firing.holidays import Holidays
from schedules.models import Schedule
from schedules.parts import words
from schedules.rules import civil
from schedules.web import quick, typed
from schedules.web.reminders import is_snoozed

# How many entries of a day each page shows; it links to the day for the others.
_SHOWN = {"day": 200, "week": 10, "month": 3}
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Row:
    """An entry with what the page says of it. `channels` are those of what is to come."""

    entry: Entry
    state: str
    channels: Sequence[Channel] = ()
    holiday: str = ""
    held: str = ""
    is_snoozed: bool = False
    is_movable: bool = False


@dataclass(frozen=True, slots=True)
class DayRows:
    """A date, its rows, and how many entries more it has. `is_other`: of another month than the page."""

    date: date
    rows: list[Row]
    more: int
    is_today: bool
    is_past: bool
    is_other: bool


class MoveForm(forms.Form):
    """The new place of a moved entry, and the version of its reminder."""

    date = forms.DateField(
        error_messages=dict.fromkeys(("required", "invalid"), gettext_lazy("Choose a day, such as 2026-12-24."))
    )
    version = forms.IntegerField(
        min_value=1,
        error_messages=dict.fromkeys(
            ("required", "invalid", "min_value"), gettext_lazy("This page is incomplete. Reload it, and try again.")
        ),
    )


@person_action
def move(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    """Move what comes once, then show the page from which it was moved, or that of its new day."""
    own = Schedule.objects.for_user(request.user).select_related("user", "connection").prefetch_related("channels")
    schedule = get_object_or_404(own, id=schedule_id)
    now, zone = fire.read_clock().now, request.user.zone
    if (view := request.POST.get("view", "")) not in _SHOWN:
        view = "month"
    on = typed.day(request.POST.get("on", "")) or civil.local(zone, now).date()
    query: dict[str, object] = {"date": on}
    form = MoveForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
    elif _try_to_move(request, schedule, form.cleaned_data, now):
        to, (first, last) = form.cleaned_data["date"], _bounds(view, on)
        query = {"date": on if first <= to <= last else to, "moved": schedule.id}
        if schedule.next_fire_at is not None:
            query["from"] = civil.local(zone, schedule.next_fire_at).date()
    return redirect(f"{reverse(f'schedules:{view}')}?{urlencode(query)}")


def _try_to_move(request: PersonRequest, schedule: Schedule, to: dict[str, Any], now: datetime) -> bool:
    try:
        moving.move(schedule, to["date"], to["version"], now, request.user)
    except moving.MoveRefused as refusal:
        messages.error(request, str(refusal))
        return False
    except editing.ScheduleConflict:
        text = _("Nothing was moved: “%(title)s” has changed since you opened this page. This is its current state.")
        messages.error(request, text % {"title": schedule.title})
        return False
    return True


@person_page
def page(request: PersonRequest, view: str) -> HttpResponse:
    """The days of `view`: "day", "week" or "month"."""
    user, now = request.user, fire.read_clock().now
    today = civil.local(user.zone, now).date()
    chosen = typed.day(request.GET.get("date", "")) or today
    days = Days(*_bounds(view, chosen), user.zone)
    read = _SHOWN[view] + 2
    ahead = coming(user, days, now, read)
    was_sent, more = sent(user, days, now, read)
    by_day = defaultdict(list)
    for entry in sorted([*was_sent, *skipped(user, days, now), *ahead.entries], key=_order):
        by_day[entry.day].append(entry)
    shown = {day: _most_wanted(by_day[day], _SHOWN[view], day == today) for day in days}
    rows = _rows([entry for entries in shown.values() for entry in entries], user, now)
    context = {
        "view": view,
        "chosen": chosen,
        "first": days.first,
        "last": days.last,
        "today": today,
        "new_on": max(today, chosen),
        "previous": _beside(view, chosen, -1),
        "next": _beside(view, chosen, 1),
        "days": [
            DayRows(
                day,
                [rows[id(entry)] for entry in shown[day]],
                len(by_day[day]) - len(shown[day]) + more.get(day, 0) + ahead.more.get(day, 0),
                day == today,
                day < today,
                view == "month" and day.month != chosen.month,
            )
            for day in days
        ],
        "is_empty": not any(by_day.values()),
        "reminders": ahead.reminders,
        "is_cut": ahead.is_cut,
        **_moved(request, today),
        **quick.context(request),
    }
    return render(request, "schedules/agenda.html", context)


def _most_wanted(entries: list[Entry], most: int, is_today: bool) -> list[Entry]:
    """The first ones; today those that are still to come, then the last that were sent."""
    if len(entries) <= most + 1:
        return entries  # “1 more” takes as much room
    if not is_today:
        return entries[:most]
    behind = [entry for entry in entries if entry.schedule is None]
    ahead = [entry for entry in entries if entry.schedule is not None][:most]
    return sorted([*ahead, *behind[len(behind) - most + len(ahead) :]], key=_order)


def _order(entry: Entry) -> tuple[bool, datetime]:
    """Those that come many times a day last."""
    return entry.count > 1, entry.at


def _rows(entries: list[Entry], user: User, now: datetime) -> dict[int, Row]:
    """By the identity of the entry. Three statements."""
    schedules = {entry.schedule.id: entry.schedule for entry in entries if entry.schedule is not None}
    prefetch_related_objects(list(schedules.values()), "channels")
    arrived = _arrived(entry.notification_id for entry in entries if entry.state == "fired" and entry.notification_id)
    holidays = Holidays.of(user, now)
    return {id(entry): _row(entry, now, arrived, holidays) for entry in entries}


def _row(entry: Entry, now: datetime, arrived: set[UUID], holidays: Holidays) -> Row:
    if (schedule := entry.schedule) is None:
        state = "saved" if entry.state == "fired" and entry.notification_id not in arrived else entry.state
        return Row(entry, state)
    channels = schedule.ordered_channels()
    if entry.state:
        return Row(entry, entry.state, channels)
    holiday = holidays.of_slot(schedule, entry.at)
    wait = QuietHours.of(schedule).wait(entry.at) if holiday is None and entry.count == 1 else None
    return Row(
        entry,
        "",
        channels,
        "" if holiday is None else words.holiday(holiday.first, holiday.last),
        "" if wait is None else wait.shown,
        entry.at == schedule.next_fire_at and is_snoozed(schedule, now),
        moving.is_movable(schedule),
    )


def _arrived(notifications: Iterable[UUID]) -> set[UUID]:
    """Those that went out on a channel; what was only written to a folder did not."""
    delivered = Delivery.objects.filter(notification_id__in=list(notifications), state=Delivery.State.DELIVERED)
    return set(delivered.exclude(reason_code=DeliveryCode.SAVED).values_list("notification_id", flat=True))


def _moved(request: PersonRequest, today: date) -> dict[str, object]:
    """The notice of `?moved=<id>&from=<date>`, with the day to which it can be moved back."""
    moved = Schedule.objects.for_user(request.user).written(request.GET.get("moved", ""))
    if moved is None or moved.next_fire_at is None:
        return {}
    back_to = typed.day(request.GET.get("from", ""))
    return {
        "moved": moved,
        "moved_to": civil.local(request.user.zone, moved.next_fire_at),
        "back_to": back_to if back_to is not None and back_to >= today else None,
    }


def _bounds(view: str, chosen: date) -> tuple[date, date]:
    """The first and the last day of the page; a month has whole weeks, from Monday on."""
    if view != "month":
        return chosen, chosen if view == "day" else chosen + 6 * _DAY
    first, last = chosen.replace(day=1), _beside("month", chosen, 1) - _DAY
    return first - first.weekday() * _DAY, last + (6 - last.weekday()) * _DAY


def _beside(view: str, chosen: date, step: int) -> date:
    """A day of the previous (-1) or of the next (1) page."""
    if view == "month":
        first = chosen.replace(day=1)
        return (first + 31 * _DAY if step > 0 else first - _DAY).replace(day=1)
    return chosen + step * (_DAY if view == "day" else 7 * _DAY)
