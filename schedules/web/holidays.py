"""Holidays: times in which a person's reminders send nothing."""

from collections.abc import Callable, Mapping
from datetime import date
from functools import wraps
from typing import Any, Concatenate
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from people.models import User
from people.requests import PersonRequest
from people.user_lock import with_user_lock
from schedules import holidays, tags
from schedules.firing import fire
from schedules.models import Holiday
from schedules.web.tags_field import TagsField

_PAST_SHOWN = 10
_LAST_DATE = date(8999, 12, 31)
_FIRST_DATE = date(1900, 1, 1)
_DELETED = "deleted-holiday"

View = Callable[Concatenate[PersonRequest, ...], HttpResponse]


def _day(label: Any) -> forms.DateField:
    said = gettext_lazy("Choose a date.")
    wrong = gettext_lazy("Enter a date such as 2026-08-03.")
    widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    errors = {"required": said, "invalid": wrong}
    return forms.DateField(label=label, widget=widget, input_formats=["%Y-%m-%d"], error_messages=errors)


class HolidayForm(forms.Form):
    """The dates are those of the person's clock. `tags` are some that their reminders have; none: all reminders."""

    first = _day(gettext_lazy("Nothing from"))
    last = _day(gettext_lazy("To and including"))
    tags = TagsField(
        label=gettext_lazy("Only reminders with these tags"),
        required=False,
        help_text=gettext_lazy("Separated by commas. Empty: all reminders."),
    )
    urgent_rings = forms.BooleanField(label=gettext_lazy("Urgent reminders still ring"), required=False, initial=True)
    note = forms.CharField(
        label=gettext_lazy("Note"),
        required=False,
        max_length=200,
        error_messages={
            "max_length": gettext_lazy("This note is %(show_value)d characters long; at most %(limit_value)d fit.")
        },
    )

    def __init__(
        self, data: Mapping[str, Any] | None = None, *, user: User, today: date, holiday: Holiday | None = None
    ) -> None:
        self.user, self.today, self.holiday = user, today, holiday
        names = ("first", "last", "tags", "urgent_rings", "note")
        super().__init__(data, initial={} if holiday is None else {name: getattr(holiday, name) for name in names})

    @property
    def own_tags(self) -> list[str]:
        return tags.own(self.user)

    def clean_tags(self) -> list[str]:
        """A tag that no reminder has would silence nothing, unseen."""
        typed: list[str] = self.cleaned_data["tags"]
        kept = [] if self.holiday is None else self.holiday.tags
        known = {tags.key(tag) for tag in [*tags.spellings(self.user), *kept]} if typed else set()
        for tag in typed:
            if tags.key(tag) not in known:
                raise forms.ValidationError(
                    _("None of your reminders has the tag “%(tag)s”. Add it to one first.") % {"tag": tag}
                )
        return typed

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        first, last = cleaned.get("first"), cleaned.get("last")
        if first is not None and last is not None:
            if last < first:
                self.add_error("last", _("This is before the first day. Choose that day or a later one."))
            elif last < self.today:
                self.add_error("last", _("This day has passed. Choose today or a later one."))
            elif first < _FIRST_DATE or last > _LAST_DATE:
                self.add_error("last", _("Choose dates in the years 1900 to 8999."))
        return cleaned

    def save(self) -> Holiday:
        holiday = self.holiday or Holiday(user=self.user)
        for name, value in self.cleaned_data.items():
            setattr(holiday, name, value)
        holiday.ended_at = None
        holiday.save()
        return holiday


def too_many(user: User) -> bool:
    """Whether the person has as many as one may have; those that are over do not count."""
    today = timezone.localdate(timezone=user.zone)
    return Holiday.objects.filter(user=user, last__gte=today).count() >= holidays.MOST


def refused() -> str:
    return _("You have %(most)d holidays to come, as many as one person may have here. Delete one first.") % {
        "most": holidays.MOST
    }


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@with_user_lock
def collection(request: PersonRequest) -> HttpResponse:
    """All that come, the last ones that are over, and the form for another one."""
    now, today = fire.read_clock().now, timezone.localdate(timezone=request.user.zone)
    posted = request.POST if request.method == "POST" else None
    form = HolidayForm(posted, user=request.user, today=today)
    if form.is_valid():
        if not too_many(request.user):
            form.save()
            messages.success(request, _("The holiday is saved."))
            return redirect("schedules:holidays")
        form.add_error(None, refused())
    mine = Holiday.objects.filter(user=request.user)
    zone = request.user.zone
    listed = [(one, holidays.span(one, zone)) for one in mine.filter(last__gte=today)]
    over = list(mine.filter(last__lt=today).order_by("-last", "-id")[:_PAST_SHOWN])
    context = {
        "form": form,
        "coming": [(one, span.begins <= now) for one, span in listed if span.ends > now],
        "over": [one for one, span in listed if span.ends <= now] + over,
        "deleted": request.session.pop(_DELETED, None) if posted is None else None,
    }
    return render(request, "schedules/holidays.html", context)


def _of_own(act: Callable[[PersonRequest, Holiday], HttpResponse | None]) -> View:
    """A view that does `act` to a holiday of the reader's, then leads back to all of them."""

    @wraps(act)
    def view(request: PersonRequest, holiday_id: UUID) -> HttpResponse:
        holiday = get_object_or_404(Holiday, user=request.user, id=holiday_id)
        return act(request, holiday) or redirect("schedules:holidays")

    return with_user_lock(view)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@_of_own
def edit(request: PersonRequest, holiday: Holiday) -> HttpResponse | None:
    today = timezone.localdate(timezone=request.user.zone)
    posted = request.POST if request.method == "POST" else None
    form = HolidayForm(posted, user=request.user, today=today, holiday=holiday)
    if form.is_valid():
        form.save()
        messages.success(request, _("The holiday is saved."))
        return None
    return render(request, "schedules/holiday.html", {"form": form, "holiday": holiday})


@login_required
@require_POST
@_of_own
def end(request: PersonRequest, holiday: Holiday) -> None:
    """Reminders ring again from now on; what was skipped stays skipped."""
    now = fire.read_clock().now
    span = holidays.span(holiday, request.user.zone)
    if span.begins <= now < span.ends:
        holiday.ended_at = now
        holiday.save(update_fields=["ended_at"])
        messages.success(request, _("The holiday has ended. Your reminders ring again."))
    else:
        messages.info(request, _("This holiday is not on now."))


@login_required
@require_POST
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
