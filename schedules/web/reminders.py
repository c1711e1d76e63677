"""Reminders (the users' word for schedules): list and detail."""

from collections.abc import Iterable
from datetime import date, datetime
from itertools import groupby
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from common.times import dates
from common.uuid7 import uuid7
from common.zones import FIRST_ZONE
from jobs.batches import audiences
from jobs.checks import results
from jobs.checks.check_now import Checked
from jobs.checks.results import Check
from notifications.deliveries.history import last_troubles
from notifications.models import Channel, Notification
from notifications.providers import web_push
from people.access.requests import PersonRequest, person_page
from people.models import User
from schedules.explain import history
from schedules.explain.quiet_hours import QuietHours
from schedules.explain.reach import Reach
from schedules.firing import fire
from schedules.firing.holidays import Holidays
from schedules.inputs.differences import fresh_for, on_error
from schedules.models import Schedule
from schedules.rules import civil
from schedules.web import bulk, quick
from schedules.web.explain import with_notifications
from schedules.web.list_filter import ATTENTION, ListFilter

PAGE = 25

_FIRST = 3
"""With so many reminders, a person is asked where else they should ring."""

_SHOWN = 10
_COMING = 5


@person_page
def reminder_list(request: PersonRequest) -> HttpResponse:
    shown = ListFilter.read(request.user, request.GET)
    rows = shown.in_order().select_related("user").prefetch_related("channels")
    counts = shown.rows().aggregate(all=Count("pk"), finished=Count("pk", filter=Q(state=Schedule.State.FINISHED)))
    paginator = Paginator(rows, PAGE)
    paginator.count = counts["all"]
    page = paginator.get_page(request.GET.get("page"))
    holidays = Holidays.of(request.user, timezone.now())
    troubles = last_troubles([schedule.id for schedule in page])
    checks = _last_checks(request.user, page)
    listed = [_row(schedule, troubles.get(schedule.id), checks.get(schedule.id), holidays) for schedule in page]
    context = {
        "page": page,
        "groups": groups(listed, timezone.localdate()) if not shown.sort else [("", listed)],
        "faults": _faults(listed),
        "shown": shown,
        "states": [(ATTENTION, _("needs attention")), *Schedule.State.choices],
        "finished": counts["finished"],
        "holidays": holidays,
        # With a button that restores it.
        "deleted": Schedule.objects.deleted_of(request.user).written(request.GET.get("deleted", "")),
        "first_ring": None if shown.is_narrow or counts["all"] > _FIRST else _first_ring(request.user),
        **bulk.offered(request),
        **quick.context(request),
    }
    return render(request, "schedules/list.html", context)


@person_page
def detail(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    mine = Schedule.objects.select_related("connection", "user").prefetch_related("channels")
    return detail_page(request, mine.own(request.user, id=schedule_id))


def detail_page(request: PersonRequest, schedule: Schedule, checked: Checked | None = None) -> HttpResponse:
    now = fire.read_clock().now
    context = {
        "schedule": schedule,
        "reach": Reach.of(schedule),
        "run_as": uuid7(),
        "checked": checked,
        "on_error": on_error(schedule),
        "fresh_for": fresh_for(schedule),
        "last": last_troubles([schedule.id]).get(schedule.id),
        "last_check": _last_checks(request.user, [schedule]).get(schedule.id),
        "channels": schedule.ordered_channels(),
        "snoozed": is_snoozed(schedule, now),
        **_audience(schedule),
        "coming": history.coming(schedule, now, _COMING),
        "past": with_notifications(
            request.user, history.past(schedule, civil.FIRST_INSTANT, civil.LAST_INSTANT, now, _SHOWN)
        ),
    }
    return render(request, "schedules/detail.html", context)


def _row(schedule: Schedule, last: Notification | None, check: Check | None, holidays: Holidays) -> dict[str, Any]:
    slot = schedule.next_fire_at
    holiday = None if slot is None else holidays.of_slot(schedule, slot)
    return {
        "reminder": schedule,
        "last": last,
        "check": check,
        "reach": Reach.of(schedule),
        "when": schedule.brief(schedule.user.time_zone),
        "snoozed": is_snoozed(schedule, timezone.now()),
        "holiday": holiday and holiday.text,
        "held_until": None if slot is None or holiday else QuietHours.of(schedule).wait(slot),
    }


def groups(rows: Iterable[dict[str, Any]], today: date) -> list[tuple[str, list[dict[str, Any]]]]:
    """Rows in the order of their next times, under the day or span of these."""

    def heading(row: dict[str, Any]) -> str:
        if (slot := row["reminder"].next_fire_at) is None:
            return _("Without a next time")
        day = timezone.localtime(slot, ZoneInfo(FIRST_ZONE) if row["reminder"].local_time else None).date()
        if near := dates.near_day(max(day, today), today):
            return capfirst(near)
        return _("This week") if (day - today).days < 7 - today.weekday() else _("Later")

    return [(name, list(group)) for name, group in groupby(rows, heading)]


def _first_ring(user: User) -> dict[str, Any] | None:
    """The inbox, and what a browser needs to ring; None for who has a channel already that rings."""
    own = list(Channel.objects.for_user(user))
    inbox = next((channel for channel in own if channel.provider == "inbox"), None)
    if inbox is None or {channel.provider for channel in own} - {"inbox", "email"}:
        return None
    return {"inbox": inbox, "push": web_push.offer(own)}


def _faults(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The channels that do not work, each once with its reminders; last those that have none (`channel` is None)."""
    faults: dict[UUID | None, dict[str, Any]] = {}
    for row in rows:
        texts = row["reach"].texts or [(None, "")] * row["reach"].nobody
        for channel, text in texts:
            fault = faults.setdefault(channel and channel.id, {"channel": channel, "text": text, "rows": [], "lost": 0})
            fault["rows"].append(row["reminder"])
            fault["lost"] += row["reach"].nobody
    return sorted(faults.values(), key=lambda fault: fault["channel"] is None)


def is_snoozed(schedule: Schedule, now: datetime) -> bool:
    return schedule.snoozed_until is not None and schedule.snoozed_until > now


def _last_checks(user: User, schedules: Iterable[Schedule]) -> dict[UUID, Check]:
    return results.last(user.pk, [schedule.id for schedule in schedules if schedule.job_kind])


def _audience(schedule: Schedule) -> dict[str, object]:
    if schedule.audience not in audiences.AUDIENCES:
        return {"audience": schedule.audience, "people": 0}
    return {
        "audience": audiences.name_of(audiences.named(schedule.user), schedule.audience, schedule.audience_key),
        "people": audiences.count(schedule.audience, schedule.audience_key, schedule.id),
    }
