"""Counters: the list with the form of a new one, one with its chart, and its deletion."""

from datetime import UTC, datetime
from typing import NamedTuple

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.formats import time_format
from django.utils.translation import gettext as _, gettext_lazy

from common.forms.not_possible import shown_in
from common.times import dates
from counters import totals
from counters.models import Shard
from people.access.requests import PersonRequest, person_form, person_page, posted

_PAGE = 50
_MINUTES, _DAYS = 60, 30
_HEIGHT = 1_000  # of the drawing


class CounterForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=Shard._meta.get_field("name").max_length,
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "nightly-builds"}),
        validators=[totals.check_name],
        help_text=gettext_lazy("Letters, digits, “-” and “_”."),
        error_messages={"required": gettext_lazy("Enter a name, such as nightly-builds.")},
    )


class Bar(NamedTuple):
    """The sum of a minute or a day; `height` is in units of the drawing."""

    label: str
    value: int
    height: int


@person_form
def counter_list(request: PersonRequest) -> HttpResponse:
    form = CounterForm(posted(request))
    if form.is_valid():
        name = form.cleaned_data["name"]
        if totals.values(request.user, name):
            form.add_error("name", _("You have this counter already. Choose another name."))
        else:
            with shown_in(form):
                totals.add(request.user, name, 0)
                messages.success(request, _("“%(name)s” counts from 0.") % {"name": name})
                return redirect("counters:detail", name)
    page = Paginator([*totals.values(request.user).items()], _PAGE).get_page(request.GET.get("page"))
    return render(request, "counters/list.html", {"page": page, "form": form})


@person_page
def detail(request: PersonRequest, name: str) -> HttpResponse:
    value, is_by_day = _value(request, name), request.GET.get("by") == "day"
    span, count = (totals.DAY, _DAYS) if is_by_day else (totals.MINUTE, _MINUTES)
    history = totals.history(request.user, name, span, count)
    highest = max(map(abs, history.values()))
    context = {
        "name": name,
        "value": value,
        "is_by_day": is_by_day,
        # What is not 0 is at least high enough to be seen.
        "bars": [
            Bar(_label(start, is_by_day), added, added and max(round(_HEIGHT * abs(added) / highest), 20))
            for start, added in sorted(history.items())
        ],
        "highest": highest,
        "added": sum(history.values()),
        "base_url": settings.BASE_URL,
    }
    return render(request, "counters/detail.html", context)


@person_form
def delete(request: PersonRequest, name: str) -> HttpResponse:
    value = _value(request, name)
    if request.method != "POST":
        return render(request, "counters/delete.html", {"name": name, "value": value})
    totals.delete(request.user, name)
    messages.success(request, _("“%(name)s” is deleted.") % {"name": name})
    return redirect("counters:list")


def _value(request: PersonRequest, name: str) -> int:
    """Raises Http404 for one that the person does not have."""
    for value in totals.values(request.user, name).values():
        return value
    raise Http404


def _label(start: datetime, is_day: bool) -> str:
    """Days are those of UTC."""
    return dates.short_day(start.astimezone(UTC).date()) if is_day else time_format(timezone.localtime(start), "H:i")
