"""The next slots to fire, with their people."""

from datetime import timedelta

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.http import require_safe

from common.admin import columns, rights
from common.admin.pages import page
from notifications.admin import cells
from people.admin.user import to_person
from schedules.explain.upcoming import Upcoming, upcoming
from schedules.firing import fire
from schedules.parts import words

MOST = 200
_HOURS = {"1": gettext_lazy("The next hour"), "6": gettext_lazy("6 hours"), "24": gettext_lazy("24 hours")}


may_see = rights.may_see("schedules.schedule")


@require_safe
def screen(request: HttpRequest) -> HttpResponse:
    """The slots of the next `?hours=`, at most `MOST`."""
    if not may_see(request):
        raise PermissionDenied
    if (hours := request.GET.get("hours", "1")) not in _HOURS:
        hours = "1"
    now = fire.read_clock().now
    slots, more = upcoming(now, now + timedelta(hours=int(hours)), MOST)
    table = {"headers": [_("Slot"), _("Schedule"), _("Person"), _("Channels")], "rows": [_row(one) for one in slots]}
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


def _row(one: Upcoming) -> list[object]:
    schedule = one.schedule
    return [
        columns.instant(one.slot),
        cells.schedule(schedule),
        to_person(schedule.user),
        cells.channels(schedule) if one.holiday is None else words.holiday(one.holiday.first, one.holiday.last),
    ]
