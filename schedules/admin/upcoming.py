"""The next slots to fire: for whom, and which a holiday keeps silent."""

import heapq
from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice, takewhile

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.http import require_safe

from common.admin import columns, rights
from common.admin.pages import page
from notifications.admin import cells
from people.admin.user import to_person
from schedules.firing import fire, forecast, holidays
from schedules.firing.forecast import Coming
from schedules.firing.holidays import Holidays
from schedules.models import Schedule
from schedules.parts import slots
from schedules.rules import InvalidRule, Work
from schedules.rules.invalid import BUDGET

MOST = 200
_HOURS = {"1": gettext_lazy("The next hour"), "6": gettext_lazy("6 hours"), "24": gettext_lazy("24 hours")}
# For all rules together; the slots of those that cost more are left out, but for the next one.
_WORK = 10 * BUDGET


may_see = rights.may_see("schedules.schedule")


@require_safe
def screen(request: HttpRequest) -> HttpResponse:
    """The slots of the next `?hours=`, at most `MOST`."""
    if not may_see(request):
        raise PermissionDenied
    if (hours := request.GET.get("hours", "1")) not in _HOURS:
        hours = "1"
    now = fire.read_clock().now
    listed, more = upcoming(now, now + timedelta(hours=int(hours)), MOST)
    table = {"headers": [_("Slot"), _("Schedule"), _("Person"), _("Channels")], "rows": [_row(*one) for one in listed]}
    return page(
        request,
        "admin/schedules/upcoming.html",
        _("Upcoming"),
        table=table,
        more=more,
        most=MOST,
        hours=hours,
        spans=_HOURS.items(),
    )


def _row(one: Coming, schedule: Schedule) -> list[object]:
    return [
        columns.instant(one.slot),
        cells.schedule(schedule),
        to_person(schedule.user),
        cells.channels(schedule) if one.holiday is None else one.holiday.text,
    ]


def upcoming(now: datetime, until: datetime, most: int) -> tuple[list[tuple[Coming, Schedule]], bool]:
    """The first `most` slots before `until`, and whether there are more. Takes four statements.

    Of a schedule that is overdue: the slot that is due, and those after `now`. Reads at most `most` schedules, by the
    index of what is due; the slots of later ones cannot be among the first `most`.
    """
    due = Schedule.objects.filter(next_fire_at__lt=until, deleted_at=None).order_by("next_fire_at")
    schedules = list(due.select_related("user").prefetch_related("channels")[: most + 1])
    taken = slots.settled([schedule.id for schedule in schedules], now)
    work = Work(_WORK)
    people = {(schedule.user_id, schedule.user.time_zone) for schedule in schedules}
    first = min((schedule.next_fire_at or now for schedule in schedules), default=now)
    silent = holidays.of_people(people, first, until)
    each = [_slots(schedule, now, until, taken[schedule.id], silent[schedule.user_id], work) for schedule in schedules]
    listed = list(islice(heapq.merge(*each, key=lambda one: one[0].slot), most + 1))
    return listed[:most], len(listed) > most


def _slots(
    schedule: Schedule, now: datetime, until: datetime, taken: Collection[datetime], silent: Holidays, work: Work
) -> Iterator[tuple[Coming, Schedule]]:
    assert schedule.next_fire_at is not None  # noqa: S101 - it was selected by it
    try:
        ahead = forecast.of(schedule, now, silent, taken).after(work=work, now=now)
    except InvalidRule:  # its owner and the list of schedules say so
        ahead = iter([Coming(schedule.next_fire_at, silent.of_slot(schedule, schedule.next_fire_at))])
    with suppress(InvalidRule):
        for one in takewhile(lambda one: one.slot < until, ahead):
            yield one, schedule
