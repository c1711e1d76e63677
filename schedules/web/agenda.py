"""The reminders of a day, of seven days with their hours, or of a month, by days."""

from calendar import Calendar
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import pairwise
from uuid import UUID

from dateutil.relativedelta import relativedelta
from django.db.models import prefetch_related_objects
from django.http import HttpResponse
from django.shortcuts import render

from notifications.models import Delivery
from notifications.reasons import DeliveryCode
from people.access.requests import PersonRequest, person_page
from people.models import User
from people.teams import on_call
from schedules.agenda import moving
from schedules.agenda.coming import coming
from schedules.agenda.entry import Days, Entry
from schedules.agenda.sent import sent, skipped
from schedules.explain.quiet_hours import QuietHours
from schedules.firing import fire
from schedules.firing.holidays import Holidays
from schedules.models import Schedule
from schedules.rules import civil
from schedules.web import quick, typed
from schedules.web.reminders import is_snoozed

# How many entries of a day each page shows; it links to the day for the others.
_SHOWN = {"day": 200, "week": 10, "month": 3}
VIEWS = tuple(_SHOWN)
# Of the reminders that do not fit, so many are named.
_NAMED = 5
_DAY = timedelta(days=1)
_AWAITING = 5


@dataclass(frozen=True, slots=True)
class DayRows:
    """A date, its entries, and how many more it has. `is_other`: of another month than the page."""

    date: date
    rows: list[Entry]
    more: int
    is_today: bool
    is_past: bool
    is_other: bool
    on_call: Sequence[tuple[str, str]] = ()
    """Of a team: from when on its clock ("": the begin of the day) who is on call ("": nobody)."""

    @property
    def hours(self) -> list[tuple[str, list[Entry]]]:
        """For each hour its time and its entries; first, without a time, those that come several times."""
        hours: list[tuple[str, list[Entry]]] = [("", []), *((f"{hour:02}:00", []) for hour in range(24))]
        for row in self.rows:
            hours[row.clock.hour + 1 if row.count == 1 else 0][1].append(row)
        return hours


@person_page
def page(request: PersonRequest, view: str) -> HttpResponse:
    """The days of `view`: "day", "week" or "month"."""
    user, now = request.user, fire.read_clock().now
    today = civil.local(user.zone, now).date()
    chosen = typed.day(request.GET.get("date", "")) or today
    days = Days(*bounds(view, chosen), user.zone)
    read = _SHOWN[view] + 2
    ahead = coming(user, days, now, read)
    was_sent, more = sent(user, days, now, read)
    by_day = defaultdict(list)
    for entry in sorted([*was_sent, *skipped(user, days, now), *ahead.entries], key=_order):
        by_day[entry.day].append(entry)
    shown = {day: _most_wanted(by_day[day], _SHOWN[view], day == today) for day in days}
    on_call = _on_call(user, days, today)
    rows = _rows([entry for entries in shown.values() for entry in entries], user, now)
    undone = Schedule.objects.for_user(user).filter(next_fire_at=None, state=Schedule.State.AWAITING)
    awaiting = list(undone.order_by("-id")[: _AWAITING + 1])
    context = {
        "view": view,
        "chosen": chosen,
        "on": chosen.isoformat(),
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
                on_call.get(day, ()),
            )
            for day in days
        ],
        "is_empty": not any(by_day.values()) and not on_call,
        "left_out": [(one, civil.local(user.zone, one.next_fire_at or now)) for one in ahead.left_out[:_NAMED]],
        "others": max(0, len(ahead.left_out) - _NAMED) + ahead.unread,
        "awaiting": awaiting[:_AWAITING],
        "awaiting_more": len(awaiting) > _AWAITING,
        **_moved(request),
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


def _rows(entries: list[Entry], user: User, now: datetime) -> dict[int, Entry]:
    """The entries with what the page says of them, by their identity. Three statements."""
    schedules = {entry.schedule.id: entry.schedule for entry in entries if entry.schedule is not None}
    prefetch_related_objects(list(schedules.values()), "channels")
    arrived = _arrived(entry.notification_id for entry in entries if entry.state == "fired" and entry.notification_id)
    holidays = Holidays.of(user, now)
    return {id(entry): _row(entry, now, arrived, holidays) for entry in entries}


def _row(entry: Entry, now: datetime, arrived: set[UUID], holidays: Holidays) -> Entry:
    if (schedule := entry.schedule) is None:
        is_saved = entry.state == "fired" and entry.notification_id not in arrived
        return replace(entry, state="saved") if is_saved else entry
    entry = replace(entry, channels=schedule.ordered_channels())
    if entry.state:
        return entry
    holiday = holidays.of_slot(schedule, entry.at)
    wait = QuietHours.of(schedule).wait(entry.at) if holiday is None and entry.count == 1 else None
    return replace(
        entry,
        holiday="" if holiday is None else holiday.text,
        held_until="" if wait is None else wait.shown,
        is_snoozed=entry.at == schedule.next_fire_at and is_snoozed(schedule, now),
        slot=f"{entry.at:%Y-%m-%dT%H:%M:%S.%fZ}" if entry.count == 1 and moving.is_movable(schedule) else "",
    )


def _arrived(notifications: Iterable[UUID]) -> set[UUID]:
    """Those that went out on a channel; what was only written to a folder did not."""
    delivered = Delivery.objects.filter(notification_id__in=list(notifications), state=Delivery.State.DELIVERED)
    return set(delivered.exclude(reason_code=DeliveryCode.SAVED).values_list("notification_id", flat=True))


def _moved(request: PersonRequest) -> dict[str, object]:
    """The notice of `?moved=<id>&undo=<version>`; the version can be undone while it is the last."""
    moved = Schedule.objects.for_user(request.user).written(request.GET.get("moved", ""))
    if moved is None or moved.next_fire_at is None:
        return {}
    return {
        "moved": moved,
        "moved_to": civil.local(request.user.zone, moved.next_fire_at),
        "can_undo": request.GET.get("undo") == str(moved.version),
    }


def _on_call(user: User, days: Days, today: date) -> dict[date, list[tuple[str, str]]]:
    """From today on: nobody knows how the order was before."""
    shifts = on_call.shifts(user, days.begin, days.end) if user.is_team else []
    spans = zip(days, pairwise(days.edges()), strict=True) if shifts else ()
    return {
        day: [
            ("" if one.begins <= begin else f"{civil.local(days.zone, one.begins):%H:%M}", one.name)
            for one in shifts
            if one.begins < end and one.ends > begin
        ]
        for day, (begin, end) in spans
        if day >= today
    }


def bounds(view: str, chosen: date) -> tuple[date, date]:
    """The first and the last day of the page; a month has whole weeks, from Monday on."""
    if view != "month":
        return chosen, chosen if view == "day" else chosen + 6 * _DAY
    weeks = Calendar().monthdatescalendar(chosen.year, chosen.month)
    return weeks[0][0], weeks[-1][-1]


def _beside(view: str, chosen: date, step: int) -> date:
    """A day of the previous (-1) or of the next (1) page."""
    if view == "month":
        return chosen.replace(day=1) + relativedelta(months=step)
    return chosen + step * (_DAY if view == "day" else 7 * _DAY)
