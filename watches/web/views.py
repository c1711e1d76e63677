"""Watches: the list, one with its last pings, its form, its buttons, and the import of an export of Healthchecks."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models.functions import Left, Length
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from common.forms import json_file
from common.forms.json_file import MOST, FileRefused
from common.forms.not_possible import NotPossible, shown_in
from common.parsing.budget import OverBudget
from common.redis.request_slots import one_import
from common.texts.numbers import grouped
from events.models import Event
from events.runs import incidents
from notifications.inputs.channels_form import ChannelsForm
from people.access.requests import PersonRequest, made_once, person_action, person_form, person_page, posted
from people.models import User
from people.user_lock import with_user_lock
from schedules.firing.fire import read_clock
from watches import changes, healthchecks, timing
from watches.inputs import WatchForm
from watches.models import Badge, Ping, PingKey, Watch
from watches.models.badge import new_token
from watches.pings import LARGEST_OUTPUT

_PAGE, _TIMELINE = 25, 20
_SHOWN = 2_000  # characters of an output


@person_page
def watch_list(request: PersonRequest) -> HttpResponse:
    rows = Watch.objects.for_user(request.user).with_channels()
    page, now = Paginator(rows, _PAGE).get_page(request.GET.get("page")), read_clock().now
    context = {
        "page": page,
        "rows": [(watch, watch.shown_state(now), timing.when(watch)) for watch in page],
        "has_incidents": incidents.is_on(request.user),
        # With a button that restores it.
        "deleted": Watch.objects.deleted_of(request.user).written(request.GET.get("deleted", "")),
    }
    return render(request, "watches/list.html", context)


@person_page
def detail(request: PersonRequest, watch_id: UUID) -> HttpResponse:
    watch = Watch.objects.own(request.user, id=watch_id)
    pings = watch.pings.defer("output").annotate(shown=Left("output", _SHOWN), length=Length("output"))
    changes = Event.objects.for_user(request.user).filter(correlation_id=watch.id, type__startswith="watch.")
    context = {
        "watch": watch,
        "state": watch.shown_state(read_clock().now),
        "when": timing.when(watch),
        "grace": timing.length(watch.grace),
        "longest_run": timing.length(watch.longest_run),
        "channels": watch.ordered_channels(),
        "has_incidents": incidents.is_on(request.user),
        "pings": [(ping, timing.length(ping.seconds)) for ping in pings],
        "badge": Badge.objects.filter(watch=watch).first(),
        "largest": LARGEST_OUTPUT,
        "limit": _SHOWN,
        "timeline": changes.order_by("-occurred_at")[:_TIMELINE],
    }
    return render(request, "watches/detail.html", context)


@person_page
def output(request: PersonRequest, watch_id: UUID, ping_id: UUID) -> HttpResponse:
    """All of a ping's output that is stored, as text."""
    ping = get_object_or_404(Ping, watch=Watch.objects.own(request.user, id=watch_id), id=ping_id)
    return HttpResponse(ping.output, content_type="text/plain; charset=utf-8")


@person_form
@with_user_lock
@made_once(lambda request: redirect("watches:detail", Watch.objects.own(request.user, id=request.made_as).id))
def new(request: PersonRequest) -> HttpResponse:
    form = WatchForm(posted(request), user=request.user, now=read_clock().now)
    if form.is_valid():
        watch = changes.create(form.as_watch(), form.ordered())
        messages.success(request, _("“%(name)s” waits for its first ping.") % {"name": watch.name})
        return redirect("watches:detail", watch.id)
    return render(request, "watches/form.html", {"form": form})


@person_form
@with_user_lock
def edit(request: PersonRequest, watch_id: UUID) -> HttpResponse:
    watch = Watch.objects.own(request.user, id=watch_id)
    form = WatchForm(posted(request), user=request.user, now=read_clock().now, watch=watch)
    differences = None
    if form.is_valid() and (differences := form.change()) is None:
        messages.success(request, _("“%(name)s” is saved.") % {"name": form.cleaned_data["name"]})
        return redirect("watches:detail", watch.id)
    context: dict[str, Any] = {"form": form, "watch": watch, "differences": differences}
    return render(request, "watches/form.html", context, status=409 if differences else 200)


@person_action
def renew_key(request: PersonRequest) -> HttpResponse:
    PingKey.objects.filter(user=request.user).update(key=new_token())
    messages.success(request, _("Your ping key is new. Addresses with the old one have ended."))
    return redirect("watches:list")


@person_action
def pause(request: PersonRequest, watch_id: UUID) -> HttpResponse:
    own, stays_paused = Watch.objects.own(request.user, id=watch_id), "until_ping" not in request.POST
    watch = changes.pause(own.id, stays_paused=stays_paused)
    if watch.stays_paused:
        text = _("“%(name)s” is paused until you resume it.")
    else:
        text = _("“%(name)s” is paused until its next ping.")
    messages.success(request, text % {"name": watch.name})
    return redirect("watches:detail", watch.id)


@person_action
def resume(request: PersonRequest, watch_id: UUID) -> HttpResponse:
    watch = changes.resume(Watch.objects.own(request.user, id=watch_id).id)
    messages.success(request, _("“%(name)s” is resumed.") % {"name": watch.name})
    return redirect("watches:detail", watch.id)


@person_action
def delete(request: PersonRequest, watch_id: UUID) -> HttpResponse:
    watch = changes.delete(Watch.objects.own(request.user, id=watch_id).id)
    return redirect(f"{reverse('watches:list')}?deleted={watch.id}")


@person_action
@with_user_lock
def restore(request: PersonRequest, watch_id: UUID) -> HttpResponse:
    deleted = get_object_or_404(Watch.objects.deleted_of(request.user), id=watch_id)
    with shown_in(request):
        changes.require_room(request.user)
        watch = changes.restore(deleted.id)
        messages.success(request, _("“%(name)s” is restored.") % {"name": watch.name})
    return redirect("watches:list")


class ImportForm(ChannelsForm):
    content = forms.CharField(widget=forms.HiddenInput, strip=False)

    def __init__(self, data: Any, user: User) -> None:
        super().__init__(data)
        self.offer_channels(user, "watches_watch")

    def sent(self) -> dict[str, Any]:
        """The channels of a valid form and their order, for the form of each watch."""
        names = ("one_by_one", "escalate_after", "urgent")
        return {name: self.cleaned_data[name] for name in names} | {"channels": [one.id for one in self.ordered()]}


@person_form
def upload(request: PersonRequest) -> HttpResponse:
    """An uploaded file is shown; the form of that page imports it, and shows the address of each watch."""
    if request.method != "POST":
        return _ask(request)
    try:
        content, value = json_file.read(request, _("Choose a file that ends in .json."))
        checks = _checks(value)
        form = ImportForm(None if "file" in request.FILES else request.POST, request.user)
        form.initial["content"] = content
        with one_import(request.user.pk):
            if form.is_valid():
                made = healthchecks.load(request.user, checks, form.sent())
                return render(request, "watches/imported.html", {"made": made})
            planned = healthchecks.plan(request.user, checks, {})
    except (FileRefused, OverBudget) as problem:
        return _ask(request, str(problem))
    except NotPossible as refusal:
        return _ask(request, str(refusal), 429)
    context = {
        "form": form,
        "new": [(one, timing.when(one.watch)) for one in planned if one.form is not None and one.watch is not None],
        "existing": [one.name for one in planned if one.form is None and one.watch is not None],
        "troubles": [(one, *trouble) for one in planned for trouble in one.troubles],
    }
    return render(request, "watches/import_preview.html", context)


def _checks(value: Any) -> list[Any]:
    checks = value.get("checks") if isinstance(value, dict) else value
    if not isinstance(checks, list):
        raise FileRefused(_("There is no list of checks in this file. Export it with GET /api/v3/checks/."))
    if len(checks) > MOST:
        raise FileRefused(_("There are more than %(most)s entries in this file. Split it.") % {"most": grouped(MOST)})
    return checks


def _ask(request: PersonRequest, problem: str = "", status: int = 422) -> HttpResponse:
    return render(request, "watches/import.html", {"problem": problem}, status=status if problem else 200)
