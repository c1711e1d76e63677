"""Holidays: times in which a person's reminders send nothing."""

from collections.abc import Callable
from functools import wraps
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from people.access.requests import PersonRequest, View, person_action, person_form, posted
from people.user_lock import with_user_lock
from schedules.firing import fire, holidays
from schedules.inputs.holiday_form import HolidayForm
from schedules.models import Holiday

_PAST_SHOWN = 10
_DELETED = "deleted-holiday"


@person_form
@with_user_lock
def collection(request: PersonRequest) -> HttpResponse:
    """All that come, the last ones that are over, and the form for another one."""
    now, today = fire.read_clock().now, timezone.localdate(timezone=request.user.zone)
    form = HolidayForm(posted(request), user=request.user, today=today)
    if form.is_valid():
        form.save()
        messages.success(request, _("The holiday is saved."))
        return redirect("schedules:holidays")
    mine = Holiday.objects.for_user(request.user)
    zone = request.user.zone
    listed = [(one, holidays.span(one, zone)) for one in mine.filter(last__gte=today)]
    over = list(mine.filter(last__lt=today).order_by("-last", "-id")[:_PAST_SHOWN])
    context = {
        "form": form,
        "coming": [(one, span.begins <= now) for one, span in listed if span.ends > now],
        "over": [one for one, span in listed if span.ends <= now] + over,
        "deleted": request.session.pop(_DELETED, None) if request.method != "POST" else None,
    }
    return render(request, "schedules/holidays.html", context)


def _of_own(act: Callable[[PersonRequest, Holiday], HttpResponse | None]) -> View[...]:
    """A view that does `act` to a holiday of the reader's, then leads back to all of them."""

    @wraps(act)
    def view(request: PersonRequest, holiday_id: UUID) -> HttpResponse:
        holiday = Holiday.objects.own(request.user, id=holiday_id)
        return act(request, holiday) or redirect("schedules:holidays")

    return with_user_lock(view)


@person_form
@_of_own
def edit(request: PersonRequest, holiday: Holiday) -> HttpResponse | None:
    today = timezone.localdate(timezone=request.user.zone)
    form = HolidayForm(posted(request), user=request.user, today=today, holiday=holiday)
    if form.is_valid():
        form.save()
        messages.success(request, _("The holiday is saved."))
        return None
    return render(request, "schedules/holiday.html", {"form": form, "holiday": holiday})


@person_action
@_of_own
def end(request: PersonRequest, holiday: Holiday) -> None:
    if holidays.end(holiday, request.user.zone, fire.read_clock().now):
        messages.success(request, _("The holiday has ended. Your reminders ring again."))
    else:
        messages.info(request, _("This holiday is not on now."))


@person_action
@_of_own
def delete(request: PersonRequest, holiday: Holiday) -> None:
    """The page that follows offers to plan the same one again."""
    request.session[_DELETED] = {
        "first": holiday.first.isoformat(),
        "last": holiday.last.isoformat(),
        "tags": ", ".join(holiday.tags),
        "urgent_rings": "on" if holiday.urgent_rings else "",
        "note": holiday.note,
    }
    holiday.delete()
